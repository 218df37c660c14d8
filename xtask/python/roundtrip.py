"""The real NNx's half of `cargo xtask roundtrip`; it judges nothing, it says what NNx sees.

    roundtrip.py describe MANIFEST REPORT   what NNx finds in each file that the manifest lists
    roundtrip.py write FOLDER SEED REPORT   fresh random models in both formats, and what they hold

Both reports are lists of facts in one form, which the Rust side has too and compares:

    name, file       the case and its file
    error            the exception in place of everything below
    net_params, model_params, idp, transforms
                     the JSON text of the `state()`s
    training_state_id, training_state_present
    tensors          name, dtype, shape, stride, storage_offset, storage (equal numbers are one
                     storage), parameter (it is an nn.Parameter), requires_grad, sha256 and hex of
                     the row-major little-endian bytes, in order; or name and `object`, the JSON
                     text of an entry that is no tensor
    forward          input, output and output_f64 (the same network in float64), or its error

Works with NNx 0.2.3 and 0.4.1.
"""

import copy
import hashlib
import json
import os
import random
import sys

import torch
from nnx.nn.enum.activations import Activations
from nnx.nn.enum.devices import Devices
from nnx.nn.enum.losses import Losses
from nnx.nn.enum.nets import Nets
from nnx.nn.nn_model import NNModel
from nnx.nn.params.nn_checkpoint import NNCheckpoint
from nnx.nn.params.nn_evaluation_data_point import NNEvaluationDataPoint
from nnx.nn.params.nn_iteration_data_point import NNIterationDataPoint
from nnx.nn.params.nn_model_params import NNModelParams
from nnx.nn.params.nn_params import NNParams

RANDOM_MODELS = 24


def raw_bytes(tensor):
    dense = tensor.detach().cpu().contiguous().clone()
    return bytes(dense.reshape(-1).view(torch.uint8).numpy())


def tensor_facts(net_state):
    facts, storages = [], {}
    for name, value in net_state.items():
        if not isinstance(value, torch.Tensor):
            facts.append({"name": name, "object": json.dumps(value)})
            continue
        raw = raw_bytes(value)
        storage = value.untyped_storage()._cdata
        facts.append(
            {
                "name": name,
                "dtype": str(value.dtype).replace("torch.", ""),
                "shape": list(value.shape),
                "stride": list(value.stride()),
                "storage_offset": value.storage_offset(),
                "storage": storages.setdefault(storage, len(storages)),
                "parameter": isinstance(value, torch.nn.Parameter),
                "requires_grad": value.requires_grad,
                "sha256": hashlib.sha256(raw).hexdigest(),
                "hex": raw.hex(),
            }
        )
    return facts


def forward_facts(net, inputs):
    net.eval()
    batch = torch.tensor(inputs["data"], dtype=torch.float32).reshape(inputs["shape"])
    with torch.no_grad():
        output = net(batch)
        reference = copy.deepcopy(net).double()(batch.double())
    return {
        "input": inputs,
        "output": {"shape": list(output.shape), "data": output.double().reshape(-1).tolist()},
        "output_f64": reference.reshape(-1).tolist(),
    }


def checkpoint_facts(checkpoint):
    return {
        "net_params": json.dumps(None if checkpoint.net_params is None else checkpoint.net_params.state()),
        "model_params": json.dumps(checkpoint.model_params.state()),
        "idp": json.dumps(checkpoint.idp.state()),
        "transforms": json.dumps([transform.state() for transform in checkpoint.transforms]),
        "training_state_id": checkpoint.training_state_id,
        "training_state_present": checkpoint.training_state_present,
        "tensors": tensor_facts(checkpoint.net_state),
    }


def describe_one(case):
    facts = {"name": case["name"], "file": case["file"]}
    try:
        checkpoint = NNCheckpoint.from_file(case["file"])
        if checkpoint is None:
            return facts | {"error": "NNCheckpoint.from_file gave None"}
        facts |= checkpoint_facts(checkpoint)
    except Exception as error:  # any exception is the answer for this file
        return facts | {"error": f"{type(error).__name__}: {error}"}
    if case["input"] is not None:
        try:
            model = NNModel.from_checkpoint(checkpoint, device=Devices.CPU)
            facts["forward"] = forward_facts(model.net, case["input"])
        except Exception as error:
            facts["forward"] = {"error": f"{type(error).__name__}: {error}"}
    return facts


def random_metric(dice):
    return dice.choice([None, 0.0, -0.0, 1, dice.random(), 1e-7 * dice.random(), 1e22, float("nan"), float("inf"), float("-inf")])


def random_record(dice):
    names = ["f1", "recall", "accuracy", "precision", "loss", "error"]
    extra = {name: dice.uniform(-3, 3) for name in dice.sample(["bleu", "é\U0001f600", 'a "quoted"\n name', "zeta"], dice.randrange(3))}
    return NNEvaluationDataPoint(**{name: random_metric(dice) for name in names}, extra=extra)


def random_net_params(dice):
    activations = list(Activations)
    layers = [dice.randint(1, 40) for _ in range(dice.randint(1, 5))]
    hidden = dice.choice([None, [], layers, layers, layers, layers])
    per_layer = {}
    if hidden and dice.random() < 0.4:
        per_layer["activations"] = [dice.choice(activations) for _ in hidden]
    if hidden and dice.random() < 0.4:
        per_layer["dropout_probs"] = [dice.choice([0, 0.0, 0.25, dice.random()]) for _ in hidden]
    if dice.random() < 0.2:
        per_layer["n_heads"] = dice.randint(1, 9)
    return NNParams(
        input_dim=dice.randint(1, 20),
        output_dim=dice.randint(1, 12),
        hidden_dims=hidden,
        dropout_prob=dice.choice([0, 0.0, 0.1, dice.random(), 1.0]),
        activation=dice.choice(activations),
        **per_layer,
    )


def random_checkpoint(dice):
    net_params = random_net_params(dice)
    model = NNModel(net_params=net_params, params=NNModelParams(net=Nets.FEED_FWD, device=Devices.CPU, loss=dice.choice(list(Losses))))
    model.net.to(dice.choice([torch.float32] * 5 + [torch.float64, torch.float16, torch.bfloat16]))
    idp = NNIterationDataPoint(
        lr=dice.choice([1e-3, 1e-5, 0.1, 1e16, dice.random()]),
        iter_idx=dice.randrange(10**6),
        epoch_idx=dice.randrange(1000),
        batch_idx=dice.randrange(1000),
        train_edp=random_record(dice),
        val_edp=random_record(dice) if dice.random() < 0.5 else None,
    )
    return NNCheckpoint(
        net_params=net_params,
        net_state=model.net.state_dict(),
        model_params=model.params,
        idp=idp,
        training_state_id=dice.choice([None, f"{dice.getrandbits(128):032x}"]),
        training_state_present=dice.choice([None, True, False]),
    )


def write(folder, seed):
    dice = random.Random(seed)
    torch.manual_seed(seed)
    report = []
    for number in range(RANDOM_MODELS):
        checkpoint = random_checkpoint(dice)
        rows = dice.randint(1, 6)
        width = checkpoint.net_params.input_dim
        inputs = {"shape": [rows, width], "data": [dice.randint(-192, 192) / 64 for _ in range(rows * width)]}
        for form, suffix in (("pickle", "pt"), ("safetensors", "safetensors")):
            path = os.path.join(folder, f"random_{number:02}.{suffix}")
            checkpoint.to_file(path, format=form)
            report.append(describe_one({"name": f"random_{number:02}", "file": path, "input": inputs}))
    return report


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "describe":
        with open(arguments[1], encoding="utf-8") as file:
            report = [describe_one(case) for case in json.load(file)]
    elif len(arguments) == 4 and arguments[0] == "write":
        report = write(arguments[1], int(arguments[2]))
    else:
        sys.exit(__doc__)
    with open(arguments[-1], "w", encoding="utf-8") as file:
        json.dump(report, file)


if __name__ == "__main__":
    main(sys.argv[1:])
