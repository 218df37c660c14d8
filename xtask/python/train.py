"""Trains with the real NNx what a JSON file asks for.

The argument is a JSON file: a list of trainings, done in order, each with

    config          path of a YAML file with the keys of `run.yaml`
    train, val      paths of safetensors files with `inputs` and `targets`; `val` may be null
    root            the folder in which `runs/` is
    init_seed       what the generator is seeded with before the model is built
    batch_size, shuffle, drop_last, generator_seed
                    how the training data is loaded
    resume          null, or the run to go on from, at its checkpoint `last`
    epochs          null, or the number of epochs in place of the configuration's

Prints a JSON list: for each training `{id}`, or `{error}`.
"""

import contextlib
import dataclasses
import io
import json
import os
import sys
import traceback

os.environ["NNX_TQDM_DISABLE"] = "1"

import torch
import yaml
from safetensors.torch import load_file
from torch.utils.data import DataLoader, TensorDataset

from nnx.nn.nn_model import NNModel
from nnx.nn.params.nn_model_params import NNModelParams
from nnx.nn.params.nn_params import NNParams
from nnx.nn.params.nn_train_params import NNTrainParams


def loader(path, batch_size, shuffle, drop_last, generator_seed):
    arrays = load_file(path)
    data = TensorDataset(arrays["inputs"], arrays["targets"])
    generator = None
    if generator_seed is not None:
        generator = torch.Generator().manual_seed(generator_seed)
    return DataLoader(
        data, batch_size=batch_size, shuffle=shuffle, drop_last=drop_last, generator=generator
    )


def train(job):
    os.makedirs(job["root"], exist_ok=True)
    os.chdir(job["root"])
    with open(job["config"]) as file:
        config = yaml.safe_load(file)
    torch.manual_seed(job["init_seed"])
    model = NNModel(
        net_params=NNParams.resolve_from_state(config["net"]),
        params=NNModelParams.from_state(config["model"]),
    )
    shared = job["batch_size"], job["shuffle"], job["drop_last"], job["generator_seed"]
    changes = {"train_loader": loader(job["train"], *shared)}
    if job["val"] is not None:
        changes["val_loader"] = loader(job["val"], job["batch_size"], False, False, None)
    if job["epochs"] is not None:
        changes["n_epochs"] = job["epochs"]
    if job["resume"] is not None:
        changes["resume_from_run_id"] = job["resume"]
    params = dataclasses.replace(NNTrainParams.from_state(config["train"]), **changes)
    return {"id": model.train(params).id}


def main():
    with open(sys.argv[1]) as file:
        jobs = json.load(file)
    torch.set_num_threads(1)
    answers = []
    for job in jobs:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                answers.append(train(job))
        except Exception:
            answers.append({"error": traceback.format_exc()})
    json.dump(answers, sys.stdout)


main()
