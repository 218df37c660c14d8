"""Judges converted files with torch, safetensors, huggingface_hub and NNx.

The argument is a JSON file: a list of questions, each with its kind and paths.
Prints a JSON list: for each question null, or what is wrong.
"""

import io
import json
import os
import struct
import sys
import tempfile

import torch
import torch.utils.serialization
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch._subclasses.fake_tensor import FakeTensorMode


def header_and_data(path):
    with open(path, "rb") as file:
        raw = file.read()
    (length,) = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def bits(tensor):
    tensor = tensor.detach().contiguous().resolve_conj().resolve_neg()
    return tensor.dtype, tuple(tensor.shape), bytes(tensor.flatten().view(torch.uint8).numpy())


def leaves(value, path=(), seen=()):
    if id(value) in seen:
        return
    if isinstance(value, torch.Tensor) and value.is_nested:
        # A nested tensor has no sizes of its own; its parts have.
        yield from leaves(list(value.unbind()), path, seen)
    elif isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, path + (key,), seen + (id(value),))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from leaves(item, path + (index,), seen + (id(value),))
    elif isinstance(value, torch.nn.Module):
        yield from leaves(dict(value.state_dict()), path, seen + (id(value),))


def same(a, b):
    a, b = dict(leaves(a)), dict(leaves(b))
    if a.keys() != b.keys():
        return f"{sorted(map(str, a))} became {sorted(map(str, b))}"
    for key in a:
        if a[key].layout != torch.strided or a[key].is_quantized or a[key].is_meta:
            continue
        if bits(a[key]) != bits(b[key]):
            return f"{key} differs"
    return None


def unsaveable(state):
    """Whether torch.save refuses: to it all empty tensors of `load_file` are one storage."""
    return len({t.dtype for t in state.values() if t.data_ptr() == 0}) > 1


def safetensors_file(question):
    """Python reads it, and would write the same data in the same order."""
    target = question["target"]
    state = load_file(target)
    with tempfile.TemporaryDirectory() as folder:
        again = os.path.join(folder, "again.safetensors")
        save_file(state, again)
        ours, data = header_and_data(target)
        theirs, expected = header_and_data(again)
    ours.pop("__metadata__", None)
    if data != expected:
        return "the data differs"
    if list(ours.items()) != list(theirs.items()):
        return f"{ours} instead of {theirs}"
    return None


def torch_file(question):
    """Python reads it in every way, and writes the same bytes for the same dict."""
    source, target = question["source"], question["target"]
    state = load_file(source)
    # The order of the file, which `load_file` does not keep.
    with safe_open(source, "pt") as file:
        names = file.offset_keys() if hasattr(file, "offset_keys") else list(file.keys())
    state = {name: state[name] for name in names}
    for kwargs in ({"weights_only": True}, {"weights_only": True, "mmap": True}):
        wrong = same(state, torch.load(target, **kwargs))
        if wrong:
            return f"{kwargs}: {wrong}"
    if unsaveable(state):
        return None
    with tempfile.TemporaryDirectory() as folder:
        again = os.path.join(folder, os.path.basename(target))
        torch.save(state, again)
        with open(again, "rb") as a, open(target, "rb") as b:
            if a.read() != b.read():
                return "torch.save writes other bytes"
    return None


def whole_file(question):
    """Python finds the same tensors in both."""
    sys.path.insert(0, question["types"])
    return same(
        torch.load(question["source"], weights_only=False),
        torch.load(question["target"], weights_only=False),
    )


def computed(path):
    """Loads from a map, without looking up where the records begin."""
    with torch.utils.serialization.config.patch({"load.calculate_storage_offsets": True}):
        return torch.load(path, weights_only=False, mmap=True)


def fake(path):
    with FakeTensorMode():
        return torch.load(path, weights_only=False)


WAYS = {
    "mmap": lambda path: torch.load(path, weights_only=False, mmap=True),
    "computed offsets": computed,
    "meta": lambda path: torch.load(path, weights_only=False, map_location="meta"),
    "fake": fake,
}


def difference(way, plain, other, raw):
    """The first difference between one way of loading and the plain one."""
    if way in ("mmap", "computed offsets"):
        return same(plain, other)
    plain, other = dict(leaves(plain)), dict(leaves(other))
    if plain.keys() != other.keys():
        return f"{sorted(map(str, plain))} became {sorted(map(str, other))}"
    for key, tensor in plain.items():
        found = other[key]
        if (found.dtype, found.shape) != (tensor.dtype, tensor.shape):
            return f"{key}: {found.dtype} {found.shape}"
        if way != "fake" or tensor.layout != torch.strided or tensor.is_meta:
            continue
        stored = tensor.untyped_storage()
        start = getattr(found.untyped_storage(), "_checkpoint_offset", None)
        if stored.nbytes() and start is not None:
            here = raw[start : start + stored.nbytes()]
            if here != bytes(torch.tensor([], dtype=torch.uint8).set_(stored).numpy()):
                return f"{key}: other bytes at offset {start}"
            OFFSETS.append(start)
    return None


# Offsets under `FakeTensorMode` that were compared.
OFFSETS = []


def every_way(question):
    """Python finds the same tensors however it looks for them."""
    target, source = question["target"], question["source"]
    sys.path.insert(0, question["types"])
    try:
        plain = torch.load(target, weights_only=False)
    except Exception as error:
        if source.endswith(".pt"):
            try:
                torch.load(source, weights_only=False)
            except Exception:
                return {"unjudged": "torch does not load the source"}
        return f"{type(error).__name__}: {error}"
    with open(target, "rb") as file:
        raw = file.read()
    unjudged = []
    for way, load in WAYS.items():
        try:
            other = load(target)
        except Exception as error:
            with tempfile.TemporaryDirectory() as folder:
                again = os.path.join(folder, "again.pt")
                try:
                    torch.save(plain, again)
                    load(again)
                except Exception:
                    unjudged.append(way)
                    continue
            return f"{way}: {type(error).__name__}: {error}"
        wrong = difference(way, plain, other, raw)
        if wrong:
            return f"{way}: {wrong}"
    if unjudged:
        return {"unjudged": f"torch does not load its own file so: {', '.join(unjudged)}"}
    return None


def nnx_file(question):
    """NNx finds the same checkpoint in both."""
    from nnx.nn.params.nn_checkpoint import NNCheckpoint

    a = NNCheckpoint.from_file(question["source"])
    b = NNCheckpoint.from_file(question["target"])
    if a is None or b is None:
        return "no checkpoint"
    for field in ("net_params", "model_params", "idp"):
        a_state, b_state = (
            getattr(x, field) and getattr(x, field).state() for x in (a, b)
        )
        # Texts: a NaN is no other NaN.
        if repr(a_state) != repr(b_state):
            return f"{field}: {a_state} became {b_state}"
    return same(dict(a.net_state), dict(b.net_state))


def shards(question):
    """huggingface_hub writes the same files."""
    from huggingface_hub import save_torch_state_dict

    state = load_file(question["source"])
    with safe_open(question["source"], "pt") as file:
        names = file.offset_keys() if hasattr(file, "offset_keys") else list(file.keys())
    state = {name: state[name] for name in names}
    if not question["safe"] and unsaveable(state):
        return None
    with tempfile.TemporaryDirectory() as folder:
        save_torch_state_dict(
            state,
            folder,
            max_shard_size=question["max_shard_size"],
            safe_serialization=question["safe"],
        )
        theirs = sorted(os.listdir(folder))
        ours = sorted(os.listdir(question["target"]))
        if theirs != ours:
            return f"{ours} instead of {theirs}"
        for name in theirs:
            with open(os.path.join(folder, name), "rb") as a:
                with open(os.path.join(question["target"], name), "rb") as b:
                    if a.read() != b.read():
                        return f"{name} differs"
    return None


def aliases(question):
    """`save_model` writes the same names and the same metadata."""
    from safetensors.torch import save_model

    class Tied(torch.nn.Module):
        def __init__(self, state):
            super().__init__()
            self.state = state

        def state_dict(self):
            return dict(self.state)

    state = torch.load(question["source"], weights_only=True)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        save_model(Tied(state), path)
        theirs, expected = header_and_data(path)
    ours, data = header_and_data(question["target"])
    # A conversion says whose tensors these are.
    if ours["__metadata__"].pop("format", None) != "pt":
        return "no format"
    if (ours, data) != (theirs, expected):
        return f"{ours} instead of {theirs}"
    return None


def large_file(question):
    """Python reads it, mapped, up to its ends."""
    target = question["target"]
    state = torch.load(target, weights_only=True, mmap=True)
    for name, (first, last, length) in question["ends"].items():
        tensor = state[name]
        if (tensor.numel(), int(tensor[0]), int(tensor[-1])) != (length, first, last):
            return f"{name}: {tensor.numel()} {int(tensor[0])} {int(tensor[-1])}"
    return None


def main():
    with open(sys.argv[1]) as file:
        questions = json.load(file)
    answers = []
    for question in questions:
        try:
            answers.append(globals()[question["kind"]](question))
        except Exception as error:
            answers.append(f"{type(error).__name__}: {error}")
    if any(question["kind"] == "every_way" for question in questions) and not OFFSETS:
        sys.exit("no offset under FakeTensorMode was compared")
    out = io.StringIO()
    json.dump(answers, out)
    print(out.getvalue())


main()
