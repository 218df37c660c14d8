"""Files that `nnx convert` writes, opened by the loaders of the tools that will read them.

Usage: loaders.py NNX FIXTURES FOLDER

Small models with random weights are saved by each tool in all of its own forms, converted, loaded
by the same tool, and compared tensor for tensor with what it loads from its own files. Prints a line
that begins with FAIL for each check that does not hold, and at the end how many there were.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["DIFFUSERS_VERBOSITY"] = "error"
os.environ["TQDM_DISABLE"] = "1"

import torch

NNX, FIXTURES, FOLDER = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
SHARD = "8KB"
HELD, ALL = Counter(), Counter()


def check(tool, what, function):
    """Counts a check: it holds unless the function raises or returns what is wrong."""
    ALL[tool] += 1
    try:
        wrong = function()
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    if wrong:
        print(f"FAIL {tool}: {what}: {' '.join(str(wrong).split())[:400]}")
    else:
        HELD[tool] += 1


def nnx(*arguments):
    done = subprocess.run(
        [NNX, "convert", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"nnx convert {arguments}: {done.stderr}")


def different(expected, found):
    """The first difference between two state dicts, if there is one."""
    if set(expected) != set(found):
        return f"names: {sorted(set(expected) ^ set(found))[:6]}"
    for name, tensor in expected.items():
        other = found[name]
        if (tensor.dtype, tensor.shape) != (other.dtype, other.shape):
            return f"{name}: {other.dtype} {tuple(other.shape)}"
        a, b = (t.detach().contiguous().flatten().view(torch.uint8) for t in (tensor, other))
        if not torch.equal(a, b):
            return f"{name}: other values"
    return None


def is_weights(name):
    return name.endswith((".safetensors", ".bin")) or ".index." in name


def beside(own, out):
    """Copies what is no weights."""
    out.mkdir(parents=True, exist_ok=True)
    for path in own.iterdir():
        if path.is_file() and not is_weights(path.name):
            shutil.copy(path, out / path.name)


def whole_or_index(folder, variant):
    """The file to be given to a conversion of one model."""
    names = [name for name in os.listdir(folder) if is_weights(name)]
    index = [name for name in names if name.endswith(".json")]
    (name,) = index or names
    assert variant is None or variant in name, name
    return folder / name


def conversions(own, variant):
    """Each way to convert a folder of a model: its name, the new folder, whether it has
    safetensors files."""
    source = whole_or_index(own, variant)
    for is_safe in (True, False):
        to = "safetensors" if is_safe else "torch"
        for way, arguments in (
            ("folder", [own, "--out"]),
            ("shards", [source, "--max-shard-size", SHARD]),
            ("compact", [source, "--compact"] if not is_safe else None),
        ):
            if arguments is None:
                continue
            out = own.with_name(f"{own.name}-{to}-{way}")
            beside(own, out)
            if way == "folder":
                nnx(*arguments, out, "--to", to)
            else:
                nnx(arguments[0], out, *arguments[1:], "--to", to)
            yield f"{to} {way}", out, is_safe


def each_conversion(tool, what, own, variant, load):
    """Converts a model in every way, and compares what is loaded with what the tool loads from its
    own files."""
    is_safe = any(name.endswith(".safetensors") for name in os.listdir(own))
    try:
        expected = load(own, is_safe)
    except Exception as error:
        print(f"NOTE {tool}: {what}: the tool does not load its own files: {error}")
        return
    made = []
    check(tool, f"{what}: conversion", lambda: made.extend(conversions(own, variant)))
    for way, out, is_safe in made:
        check(
            tool,
            f"{what} as {way}: {sorted(filter(is_weights, os.listdir(out)))}",
            lambda: different(expected, load(out, is_safe)),
        )


# --- transformers and accelerate


def text_models():
    from transformers import (
        BertConfig,
        BertForMaskedLM,
        GPT2Config,
        GPT2LMHeadModel,
        LlamaConfig,
        LlamaForCausalLM,
    )

    torch.manual_seed(0)
    yield (
        "bert (tied)",
        BertForMaskedLM(
            BertConfig(
                hidden_size=16,
                num_hidden_layers=2,
                num_attention_heads=2,
                intermediate_size=32,
                vocab_size=60,
                max_position_embeddings=20,
            )
        ),
    )
    yield (
        "gpt2 (tied)",
        GPT2LMHeadModel(GPT2Config(n_embd=16, n_layer=2, n_head=2, vocab_size=60, n_positions=20)),
    )
    yield (
        "llama",
        LlamaForCausalLM(
            LlamaConfig(
                hidden_size=16,
                intermediate_size=32,
                num_hidden_layers=2,
                num_attention_heads=2,
                num_key_value_heads=1,
                vocab_size=60,
                max_position_embeddings=20,
                tie_word_embeddings=False,
                pad_token_id=0,
            )
        ),
    )


def save_text_model(model, folder, is_safe, variant, shard):
    """In the tool's own form. transformers 5 writes no pickles any more: its `.bin` files are those
    of torch, under the names that it reads."""
    options = {"variant": variant} if variant else {}
    if shard:
        options["max_shard_size"] = shard
    if is_safe:
        model.save_pretrained(folder, **options)
        return
    if int(version("transformers").split(".")[0]) < 5:
        model.save_pretrained(folder, safe_serialization=False, **options)
        return
    from huggingface_hub import split_torch_state_dict_into_shards

    model.config.save_pretrained(folder)
    state = model.state_dict()
    middle = f".{variant}" if variant else ""
    split = split_torch_state_dict_into_shards(
        state,
        max_shard_size=shard or "1GB",
        filename_pattern=f"pytorch_model{middle}{{suffix}}.bin",
    )
    for name, tensors in split.filename_to_tensors.items():
        torch.save({tensor: state[tensor] for tensor in tensors}, folder / name)
    if split.is_sharded:
        index = {"metadata": split.metadata, "weight_map": split.tensor_to_filename}
        (folder / f"pytorch_model.bin.index{middle}.json").write_text(json.dumps(index))


def transformers_models():
    for title, model in text_models():
        for is_safe in (True, False):
            for variant in (None, "fp16"):
                for shard in (None, SHARD):
                    what = " ".join(
                        [title, "safetensors" if is_safe else "bin", variant or "", shard or ""]
                    )
                    own = FOLDER / "-".join(["text", *what.replace("(", "").replace(")", "").split()])
                    own.mkdir(parents=True)
                    saved = model.half() if variant else model.float()
                    save_text_model(saved, own, is_safe, variant, shard)

                    def load(folder, is_safe):
                        loaded, info = type(model).from_pretrained(
                            folder,
                            variant=variant,
                            use_safetensors=is_safe,
                            output_loading_info=True,
                            torch_dtype="auto",
                        )
                        if info["missing_keys"] or info["unexpected_keys"]:
                            raise RuntimeError(f"{info}")
                        return loaded.state_dict()

                    each_conversion("transformers", what, own, variant, load)
                    if variant is None:
                        accelerate_model(what, own, model)


def accelerate_model(what, own, model):
    from accelerate import init_empty_weights, load_checkpoint_and_dispatch
    from accelerate.utils import load_checkpoint_in_model

    def in_model(folder, _):
        fresh = type(model)(model.config)
        load_checkpoint_in_model(fresh, str(folder), strict=False)
        fresh.tie_weights()
        return fresh.state_dict()

    def dispatched(folder, _):
        with init_empty_weights():
            fresh = type(model)(model.config)
        fresh.tie_weights()
        fresh = load_checkpoint_and_dispatch(fresh, str(folder), device_map={"": "cpu"})
        return fresh.state_dict()

    for name, load in (("load_checkpoint_in_model", in_model), ("dispatch", dispatched)):
        copy = own.with_name(f"{own.name}-{name}")
        shutil.copytree(own, copy)
        each_conversion("accelerate", f"{name}: {what}", copy, None, load)


def accelerate_files():
    """Files of weights, one by one: the loader of accelerate refuses metadata without a format."""
    from accelerate.utils.modeling import load_state_dict
    from safetensors.torch import save_file

    torch.manual_seed(1)
    state = {"a.weight": torch.randn(3, 2), "a.bias": torch.randn(3)}
    bare = FOLDER / "bare.safetensors"
    save_file(state, bare)
    for what, arguments in (
        ("as it is", []),
        ("--metadata", ["--metadata", "note=hello"]),
        ("--rename", ["--rename", "a=b"]),
    ):
        out = FOLDER / f"accelerate{what}.safetensors"
        names = {name.replace("a.", "b.") if what == "--rename" else name: t for name, t in state.items()}
        check("accelerate", f"a file without metadata, {what}", lambda: (
            nnx(bare, out, *arguments),
            different(names, load_state_dict(str(out))),
        )[1])
    readers = {"accelerate": lambda path: load_state_dict(str(path))}
    from transformers.modeling_utils import load_state_dict as load_of_transformers

    readers["transformers"] = lambda path: load_of_transformers(str(path))
    for source in sorted((FIXTURES / "nnx-0.4.1/checkpoints").glob("*.pt")):
        if source.stem == "export_state_dict" or ".legacy" in source.name:
            continue
        out = FOLDER / "nnx" / f"{source.stem}.safetensors"
        out.parent.mkdir(exist_ok=True)
        try:
            nnx(source, out)
        except RuntimeError as error:
            if "no place" in str(error) or "safetensors" in str(error):
                continue
            raise
        from safetensors.torch import load_file

        for tool, read in readers.items():
            check(tool, f"NNx checkpoint {source.stem}", lambda: different(load_file(out), read(out)))


# --- diffusers


def image_models():
    from diffusers import AutoencoderKL, UNet2DModel

    torch.manual_seed(2)
    yield (
        "unet",
        UNet2DModel(
            sample_size=8,
            in_channels=1,
            out_channels=1,
            layers_per_block=1,
            block_out_channels=(8, 8),
            norm_num_groups=4,
            down_block_types=("DownBlock2D", "AttnDownBlock2D"),
            up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        ),
    )
    yield (
        "vae",
        AutoencoderKL(
            in_channels=1,
            out_channels=1,
            block_out_channels=(8,),
            latent_channels=2,
            norm_num_groups=4,
        ),
    )


def diffusers_models():
    for title, model in image_models():
        for is_safe in (True, False):
            for variant in (None, "fp16"):
                for shard in (None, SHARD):
                    form = "safetensors" if is_safe else "bin"
                    what = " ".join([title, form, variant or "", shard or ""])
                    own = FOLDER / "-".join(["image", *what.split()])
                    options = {"max_shard_size": shard} if shard else {}
                    saved = model.half() if variant else model.float()
                    saved.save_pretrained(own, safe_serialization=is_safe, variant=variant, **options)

                    def load(folder, is_safe):
                        loaded = type(model).from_pretrained(
                            folder,
                            variant=variant,
                            use_safetensors=is_safe,
                            low_cpu_mem_usage=False,
                            torch_dtype=torch.float16 if variant else torch.float32,
                        )
                        return loaded.state_dict()

                    each_conversion("diffusers", what, own, variant, load)


# --- peft


def peft_models():
    from peft import LoraConfig, PeftModel, get_peft_model
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_embd=16, n_layer=2, n_head=2, vocab_size=60, n_positions=20)

    def base():
        torch.manual_seed(3)
        return GPT2LMHeadModel(config)

    adapted = get_peft_model(
        base(), LoraConfig(target_modules=["c_attn"], r=2, init_lora_weights=False, fan_in_fan_out=True)
    )
    for is_safe in (True, False):
        form = "safetensors" if is_safe else "bin"
        own = str(FOLDER / f"adapter-{form}")
        adapted.save_pretrained(own, safe_serialization=is_safe)
        expected = PeftModel.from_pretrained(base(), own).state_dict()
        for to in ("safetensors", "torch"):
            out = str(FOLDER / f"adapter-{form}-{to}")
            beside(Path(own), Path(out))
            check("peft", f"adapter {form} as {to}", lambda: (
                nnx(own, "--out", out, "--to", to),
                different(expected, PeftModel.from_pretrained(base(), out).state_dict()),
            )[1])


# --- safetensors


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.norm = torch.nn.BatchNorm1d(4)


def safetensors_models():
    from safetensors import safe_open
    from safetensors.torch import load_file, load_model, save_model

    torch.manual_seed(4)
    model = Tied()
    expected = model.state_dict()
    source = FOLDER / "tied.pt"
    torch.save(expected, source)
    own = FOLDER / "tied-own.safetensors"
    save_model(model, own)

    def loaded(path, is_aliased):
        # `load_model` refuses a file that has both names of a tied tensor.
        if not is_aliased:
            return different(expected, load_file(path))
        fresh = Tied()
        load_model(fresh, path)
        return different(expected, fresh.state_dict())

    def format_of(path):
        with safe_open(path, "pt") as file:
            said = (file.metadata() or {"format": "pt"}).get("format")
        return None if said == "pt" else f"format {said}"

    for what, arguments in (
        ("as they are", [source]),
        ("aliased", [source, "--alias"]),
        ("of save_model", [own]),
        ("of save_model, aliased", [own, "--alias"]),
    ):
        out = FOLDER / f"tied {what}.safetensors"
        check("safetensors", f"tied tensors {what}", lambda: (
            nnx(arguments[0], out, *arguments[1:]),
            loaded(out, "--alias" in arguments),
        )[1])
        check("safetensors", f"the format of tied tensors {what}", lambda: format_of(out))

    for dtype in ("float16", "bfloat16", "float64"):
        out = FOLDER / f"tied {dtype}.safetensors"
        cast = {
            name: t.to(getattr(torch, dtype)) if t.is_floating_point() else t
            for name, t in expected.items()
        }
        check("safetensors", f"load_file of {dtype}", lambda: (
            nnx(source, out, "--dtype", dtype),
            different(cast, load_file(out)),
        )[1])


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    safetensors_models()
    transformers_models()
    accelerate_files()
    for package, run in (("diffusers", diffusers_models), ("peft", peft_models)):
        if importlib.util.find_spec(package):
            run()
    for tool in sorted(ALL):
        print(f"{tool} {version(tool)}: {HELD[tool]} of {ALL[tool]} hold")


main()
