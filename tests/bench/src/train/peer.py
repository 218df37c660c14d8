"""Trains what `nnx-bench train` asks for with the real NNx, or with PyTorch alone.

A line on standard input is `loop CASE` or `bare CASE`; each is answered with the seconds that the case's steps
took. `memory` is answered with the largest resident size so far, in bytes.
"""

import contextlib
import dataclasses
import io
import os
import resource
import sys
import tempfile
import time

os.environ["NNX_TQDM_DISABLE"] = "1"

import torch
import yaml
from nnx.nn.nn_model import NNModel
from nnx.nn.params.nn_model_params import NNModelParams
from nnx.nn.params.nn_params import NNParams
from nnx.nn.params.nn_train_params import NNTrainParams
from safetensors.torch import load_file
from torch.utils.data import DataLoader, TensorDataset

folder, threads, batch_size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(threads)


def made(case):
    with open(f"{folder}/{case}.yaml") as file:
        config = yaml.safe_load(file)
    torch.manual_seed(0)
    model = NNModel(
        net_params=NNParams.resolve_from_state(config["net"]),
        params=NNModelParams.from_state(config["model"]),
    )
    data = load_file(f"{folder}/{case}.safetensors")
    return model, NNTrainParams.from_state(config["train"]), data


def loop(case):
    """A training of one epoch as NNx does it, records, metrics and files included."""
    model, params, data = made(case)
    loader = DataLoader(TensorDataset(data["inputs"], data["targets"]), batch_size=batch_size, shuffle=True)
    params = dataclasses.replace(params, train_loader=loader)
    with tempfile.TemporaryDirectory(dir=folder) as root:
        os.chdir(root)
        begin = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            model.train(params)
        took = time.perf_counter() - begin
        os.chdir(folder)
    return took


def bare(case):
    """Forward, backward and update of the same batches, and nothing else."""
    model, params, data = made(case)
    net = model.net.train()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2, weight_decay=5e-5)
    inputs, targets = data["inputs"].split(batch_size), data["targets"].split(batch_size)
    begin = time.perf_counter()
    for x, y in zip(inputs, targets):
        optimizer.zero_grad()
        output = net(x)
        loss = torch.nn.functional.cross_entropy(output.reshape(-1, output.shape[-1]), y.reshape(-1))
        loss.backward()
        optimizer.step()
    return time.perf_counter() - begin


print(torch.__version__, flush=True)
for line in sys.stdin:
    what, *case = line.split()
    if what == "memory":
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, flush=True)
    else:
        print({"loop": loop, "bare": bare}[what](*case), flush=True)
