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
    asked            the inputs of the network
    forward          output and output_f64 (the same network in float64), or its error; absent where
                     NNx lacks the package that builds the network

Works with NNx 0.2.3 and 0.4.1.
"""

import copy
import hashlib
import importlib.util
import json
import math
import os
import random
import sys

import torch
from nnx.nn.enum.activations import Activations
from nnx.nn.enum.devices import Devices
from nnx.nn.enum.losses import Losses
from nnx.nn.enum.nets import Nets
from nnx.nn.net import transformer_layers
from nnx.nn.nn_model import NNModel
from nnx.nn.params.nn_checkpoint import NNCheckpoint
from nnx.nn.params.nn_conv_params import NNConvParams
from nnx.nn.params.nn_evaluation_data_point import NNEvaluationDataPoint
from nnx.nn.params.nn_iteration_data_point import NNIterationDataPoint
from nnx.nn.params.nn_model_params import NNModelParams
from nnx.nn.params.nn_moe_params import NNMoEParams
from nnx.nn.params.nn_params import NNParams
from nnx.nn.params.nn_transformer_params import NNTransformerParams

# Of each net.
RANDOM_MODELS = 12


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


def argument(value):
    return torch.tensor(value["data"], dtype=getattr(torch, value["dtype"])).reshape(value["shape"])


def is_right_in_float64(net):
    """NNx 0.2.3 masks the attention of its float64 transformers wrongly; a later release says so."""
    return type(net).__name__ != "TransformerNN" or hasattr(transformer_layers, "_accumulation_dtype")


def forward_facts(net, inputs):
    net.eval()
    arguments = [argument(value) for value in inputs]
    wide = [value.double() if value.is_floating_point() else value for value in arguments]
    with torch.no_grad():
        output = net(*arguments)
        reference = copy.deepcopy(net).double()(*wide) if is_right_in_float64(net) else output.double()
    return {
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
    facts["asked"] = {"inputs": case["inputs"]}
    if can_build(checkpoint.model_params.net):
        try:
            model = NNModel.from_checkpoint(checkpoint, device=Devices.CPU)
            facts["forward"] = forward_facts(model.net, case["inputs"])
        except Exception as error:
            facts["forward"] = {"error": f"{type(error).__name__}: {error}"}
    return facts


def random_metric(dice):
    return dice.choice([None, 0.0, -0.0, 1, dice.random(), 1e-7 * dice.random(), 1e22, float("nan"), float("inf"), float("-inf")])


def random_record(dice):
    names = ["f1", "recall", "accuracy", "precision", "loss", "error"]
    extra = {name: dice.uniform(-3, 3) for name in dice.sample(["bleu", "é\U0001f600", 'a "quoted"\n name', "zeta"], dice.randrange(3))}
    return NNEvaluationDataPoint(**{name: random_metric(dice) for name in names}, extra=extra)


def can_build(net):
    """The nets on graphs need an extra package."""
    if not isinstance(net, Nets) or not net.value.startswith("graph"):
        return True
    return importlib.util.find_spec("torch_geometric") is not None


def random_per_layer(dice, hidden):
    per_layer = {}
    if hidden and dice.random() < 0.4:
        per_layer["activations"] = [dice.choice(list(Activations)) for _ in hidden]
    if hidden and dice.random() < 0.4:
        per_layer["dropout_probs"] = [dice.choice([0, 0.0, 0.25, dice.random()]) for _ in hidden]
    return per_layer


def random_net_params(dice, net):
    layers = [dice.randint(1, 40) for _ in range(dice.randint(1, 5))]
    hidden = dice.choice([None, [], layers, layers, layers, layers])
    if net == Nets.FEED_FWD_MOE:
        hidden = layers
    common = {
        "hidden_dims": hidden,
        "dropout_prob": dice.choice([0, 0.0, 0.1, dice.random(), 1.0]),
        "activation": dice.choice(list(Activations)),
    }
    dims = {"input_dim": dice.randint(1, 20), "output_dim": dice.randint(1, 12)}
    if net == Nets.TRANSFORMER:
        heads = dice.randint(1, 4)
        return NNTransformerParams(
            input_dim=9,
            output_dim=9,
            dropout_prob=0.0,
            vocab_size=dice.randint(1, 60),
            d_model=2 * heads * dice.randint(2, 9),
            n_heads=heads,
            n_layers=dice.randint(1, 3),
            max_seq_len=dice.randint(1, 40),
            ffn_mult=dice.randint(1, 5),
            rope_base=dice.choice([10000.0, 500, 10 ** dice.uniform(0.5, 6)]),
            tie_embeddings=dice.random() < 0.5,
            attn_dropout=dice.choice([0.0, 0.5]),
            resid_dropout=dice.choice([0.0, 0.5]),
        )
    if net == getattr(Nets, "VIT", None):
        from nnx.nn.params.nn_vit_params import NNViTParams

        heads, patch, channels = dice.randint(1, 4), dice.randint(1, 5), dice.randint(1, 4)
        width, image = heads * dice.randint(4, 9), patch * dice.randint(1, 5)
        return NNViTParams(
            input_dim=channels * image * image,
            output_dim=width,
            dropout_prob=0.0,
            n_heads=heads,
            image_size=image,
            patch_size=patch,
            in_channels=channels,
            d_model=width,
            n_layers=dice.randint(1, 3),
            ffn_mult=dice.randint(1, 5),
        )
    per_layer = random_per_layer(dice, hidden)
    if net == Nets.FEED_FWD_MOE:
        experts = dice.randint(2, 7)
        return NNMoEParams(**dims, **common, **per_layer, num_experts=experts, top_k=dice.randint(1, experts))
    if net == Nets.CONV:
        while True:
            channels, side = dice.randint(1, 4), dice.randint(3, 20)
            try:
                return NNConvParams(
                    **common,
                    **per_layer,
                    input_dim=channels * side * side,
                    output_dim=dims["output_dim"],
                    conv_channels=[dice.randint(1, 9) for _ in range(dice.randint(1, 3))],
                    in_channels=channels,
                    kernel_size=dice.randint(1, 5),
                    stride=dice.randint(1, 2),
                    padding=dice.randint(0, 2),
                    pool_size=dice.randint(1, 3),
                )
            except ValueError:
                continue  # an image too small for its blocks
    if net == Nets.GRAPH_ATT or dice.random() < 0.2:
        per_layer["n_heads"] = dice.randint(1, 5)
    return NNParams(**dims, **common, **per_layer)


def floats(dice, *shape):
    data = [dice.randint(-192, 192) / 64 for _ in range(math.prod(shape))]
    return {"dtype": "float32", "shape": list(shape), "data": data}


def wholes(dice, end, *shape):
    return {"dtype": "int64", "shape": list(shape), "data": [dice.randrange(end) for _ in range(math.prod(shape))]}


def random_inputs(dice, net, params):
    rows = dice.randint(1, 6)
    if net == Nets.TRANSFORMER:
        return [wholes(dice, params.vocab_size, rows, dice.randint(1, params.max_seq_len))]
    if net == getattr(Nets, "VIT", None):
        images = floats(dice, rows, params.in_channels, params.image_size, params.image_size)
        patches = (params.image_size // params.patch_size) ** 2
        kept = dice.randint(0, patches)
        mask = [place in row for row in [dice.sample(range(patches), kept) for _ in range(rows)] for place in range(patches)]
        mask = {"dtype": "bool", "shape": [rows, patches], "data": [int(keep) for keep in mask]}
        return dice.choice([[images], [images, mask]])
    if net.value.startswith("graph"):
        return [floats(dice, rows, params.input_dim), wholes(dice, rows, 2, dice.randint(0, 12))]
    return [floats(dice, rows, params.input_dim)]


def with_random_transforms(dice, model):
    """Recipes of LoRA and low rank, where this release records them."""
    try:
        from nnx.transforms import TransformRecipe, lora, low_rank
    except ImportError:
        return
    linears = [(path, module) for path, module in model.net.named_modules() if isinstance(module, torch.nn.Linear)]
    operations = []
    for path, module in dice.sample(linears, min(len(linears), dice.randint(0, 3))):
        if dice.random() < 0.5:
            operations.append(lora(path, r=dice.randint(1, 4), alpha=dice.choice([1.0, 16.0]), dropout=dice.choice([0.0, 0.25])))
        else:
            operations.append(low_rank(path, rank=dice.randint(1, min(module.in_features, module.out_features))))
    if operations:
        TransformRecipe(tuple(operations)).materialize(model)
        with torch.no_grad():
            for name, value in model.net.named_parameters():
                if name.endswith("lora_B"):
                    value.normal_(0.0, 0.1)


def random_checkpoint(dice, net):
    net_params = random_net_params(dice, net)
    model = NNModel(net_params=net_params, params=NNModelParams(net=net, device=Devices.CPU, loss=dice.choice(list(Losses))))
    if dice.random() < 0.3:
        with_random_transforms(dice, model)
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
        transforms=list(getattr(model, "_topology_transforms", ())),
        training_state_id=dice.choice([None, f"{dice.getrandbits(128):032x}"]),
        training_state_present=dice.choice([None, True, False]),
    )


def write(folder, seed):
    dice = random.Random(seed)
    torch.manual_seed(seed)
    report = []
    for net in filter(can_build, Nets):
        for number in range(RANDOM_MODELS):
            checkpoint = random_checkpoint(dice, net)
            inputs = random_inputs(dice, net, checkpoint.net_params)
            name = f"random_{net.value}_{number:02}"
            for form, suffix in (("pickle", "pt"), ("safetensors", "safetensors")):
                path = os.path.join(folder, f"{name}.{suffix}")
                checkpoint.to_file(path, format=form)
                report.append(describe_one({"name": name, "file": path, "inputs": inputs}))
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
