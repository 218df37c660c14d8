"""Checkpoints of several processes, made anew, joined by PyTorch and by nnx, and compared.

    distributed.py NNX FOLDER SEED ROUNDS KILLS

Each round starts one to four processes over gloo, which save tensors of random shapes and dtypes that they split at
random with `torch.distributed.checkpoint`, and writes a save of ZeRO of the same tensors. The tensors before
the split are the expected values. PyTorch joins the saves of `torch.distributed.checkpoint` too; the layout of ZeRO is
the one that this script knows, and DeepSpeed itself wrote the saves in tests/fixtures/distributed/zero. A conversion is
then killed at KILLS moments: the target is old or new each time.
"""
import hashlib
import json
import math
import random
import shutil
import subprocess
import sys
import time
import warnings
from collections import OrderedDict
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

warnings.filterwarnings("ignore")
DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.int8, torch.uint8, torch.bool]


def random_tensor(rng, dtype, shape):
    generator = torch.Generator().manual_seed(rng.getrandbits(40))
    values = torch.randint(-1000, 1000, shape, generator=generator)
    return (values % 2 == 0) if dtype is torch.bool else values.to(dtype)


def state_of(seed):
    """Names with whole tensors, and how each is split."""
    rng = random.Random(seed)
    state = {}
    for number in range(rng.randint(3, 12)):
        shape = [rng.choice([1, 2, 3, 5, 7, 8, 13, 64]) for _ in range(rng.randint(0, 3))]
        tensor = random_tensor(rng, rng.choice(DTYPES), shape)
        split = rng.choice([None, *range(len(shape))])
        state[f"layer.{number}.weight"] = (tensor, split)
    return state


def save(rank, world, folder, seed):
    dist.init_process_group("gloo", init_method=f"file://{folder}.init", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", (world,))
    state = {}
    for name, (tensor, split) in state_of(seed).items():
        placement = Replicate() if split is None else Shard(split)
        state[name] = distribute_tensor(tensor, mesh, [placement])
    dcp.save({"model": state, "step": seed}, checkpoint_id=folder)
    dist.barrier()
    dist.destroy_process_group()


def described(tensor):
    raw = tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    name = str(tensor.dtype).removeprefix("torch.")
    return [name, list(tensor.shape), hashlib.sha256(raw).hexdigest()]


def shown(nnx, folder):
    said = subprocess.run([nnx, "inspect", folder, "--json", "--hash"], capture_output=True, text=True, check=True)
    tensors = json.loads(said.stdout)["tensors"]
    return {tensor["name"]: [tensor["dtype"], tensor["shape"], tensor["sha256"]] for tensor in tensors}


def write_zero(folder, seed, world, stage):
    """A save of ZeRO, as DeepSpeed lays it out; returns the expected tensors."""
    rng = random.Random(seed)
    shapes = OrderedDict()
    for number in range(rng.randint(1, 6)):
        shapes[f"fc{number}.weight"] = torch.Size(rng.choice([1, 3, 4, 7, 11]) for _ in range(rng.randint(1, 2)))
    values = {name: random_tensor(rng, torch.float32, list(shape)) for name, shape in shapes.items()}
    save = Path(folder) / "global_step1"
    save.mkdir(parents=True)
    (Path(folder) / "latest").write_text("global_step1")
    module = {name: value.to(torch.bfloat16) for name, value in values.items()}
    states = {"buffer_names": [], "param_shapes": [shapes], "shared_params": {}, "frozen_param_shapes": None,
              "frozen_param_fragments": None, "module": module, "ds_version": "0.19.8"}
    if stage == 3:
        groups = [[] for _ in range(world)]
        for value in values.values():
            part = math.ceil(value.numel() / world)
            padded = torch.cat([value.reshape(-1), torch.full((part * world - value.numel(),), 7.0)])
            for rank in range(world):
                groups[rank].append(padded[rank * part:(rank + 1) * part])
        flat = [torch.cat(group) for group in groups]
    else:
        whole = torch.cat([value.reshape(-1) for value in values.values()])
        part = math.ceil(whole.numel() / world)
        flat = [whole[rank * part:(rank + 1) * part].clone() for rank in range(world)]
    key = "fp32_flat_groups" if stage == 3 else "single_partition_of_fp32_groups"
    for rank in range(world):
        count = world if stage == 3 else [world]
        state = {"zero_stage": stage, "partition_count": count, key: [flat[rank]]}
        torch.save({"optimizer_state_dict": state}, save / f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt")
        if stage == 3:
            placeholders = {name: torch.empty(0) for name in values}
            file = save / f"zero_pp_rank_{rank}_mp_rank_00_model_states.pt"
            torch.save({**states, "module": placeholders}, file)
    if stage != 3:
        torch.save(states, save / "mp_rank_00_model_states.pt")
    return {name: described(value) for name, value in values.items()}


def judge(nnx, folder, expected, faults, what):
    target = Path(folder).with_suffix(".safetensors")
    found = shown(nnx, folder)
    verified = subprocess.run([nnx, "verify", folder], capture_output=True, text=True)
    converted = subprocess.run([nnx, "convert", folder, target, "--drop-non-tensors"], capture_output=True, text=True)
    if converted.returncode:
        faults.append(f"{what}: {converted.stderr.strip()}")
    elif shown(nnx, target) != expected:
        faults.append(f"{what}: converted to other tensors")
    if found != expected:
        faults.append(f"{what}: {sorted(set(found) ^ set(expected)) or 'other values'}")
    if verified.returncode:
        faults.append(f"{what}: verify says {verified.stdout.strip()}")


def kill(nnx, scratch, kills, faults):
    """Kills conversions at moments that are spread over the time that one takes."""
    folder = scratch / "killed"
    tensors = {f"w{number}": torch.randn(1 << 20) for number in range(16)}
    dcp.save(tensors, checkpoint_id=str(folder), no_dist=True)
    target = scratch / "killed.safetensors"
    old = scratch / "old.safetensors"
    dcp.save({"old": torch.ones(3)}, checkpoint_id=str(scratch / "old"), no_dist=True)
    subprocess.run([nnx, "convert", scratch / "old", old], check=True, capture_output=True)
    command = [nnx, "convert", folder, target, "--overwrite"]
    start = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    takes = time.monotonic() - start
    new = target.read_bytes()
    killed = 0
    for number in range(kills):
        shutil.copyfile(old, target)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(takes * number / max(kills, 1))
        except subprocess.TimeoutExpired:
            process.kill()
            killed += 1
        process.wait()
        if target.read_bytes() not in (old.read_bytes(), new):
            faults.append(f"kill {number}: the target is neither old nor new")
    subprocess.run(command, check=True, capture_output=True)
    left = [path.name for path in scratch.iterdir() if "killed.safetensors" in path.name]
    if target.read_bytes() != new or left != ["killed.safetensors"]:
        faults.append(f"after the kills: {left}")
    return killed


def main():
    nnx, scratch, seed, rounds, kills = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:6])
    scratch.mkdir(parents=True, exist_ok=True)
    faults, tensors, folders = [], 0, 0
    for number in range(rounds):
        this = seed + number
        rng = random.Random(this)
        world = rng.randint(1, 4)
        folder = scratch / f"dcp{number}"
        mp.spawn(save, (world, str(folder), this), nprocs=world)
        expected = {f"model.{name}": described(tensor) for name, (tensor, _) in state_of(this).items()}
        judge(nnx, folder, expected, faults, f"seed {this}, DCP of {world} ranks")
        joined = scratch / "joined.pt"
        dcp_to_torch_save(str(folder), str(joined))
        python = torch.load(joined, weights_only=False)["model"]
        if {f"model.{name}": described(tensor) for name, tensor in python.items()} != expected:
            faults.append(f"seed {this}: PyTorch joins other tensors")
        folders, tensors = folders + 1, tensors + len(expected)
        for stage in (1, 2, 3):
            folder = scratch / f"zero{number}-{stage}"
            expected = write_zero(folder, this, world, stage)
            judge(nnx, folder, expected, faults, f"seed {this}, ZeRO {stage} of {world} ranks")
            folders, tensors = folders + 1, tensors + len(expected)
    killed = kill(nnx, scratch, kills, faults)
    if kills and not killed:
        faults.append("no conversion was killed in time")
    for fault in faults:
        print("FAIL", fault)
    print(f"seed {seed}: {folders} folders, {tensors} tensors compared, {killed} of {kills} conversions killed on the way, "
          f"{len(faults)} differences")
    sys.exit(bool(faults) or not tensors)


if __name__ == "__main__":
    main()
