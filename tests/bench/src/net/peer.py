"""Computes rows of `nnx-bench net` with the real NNx, on two threads.

A line on standard input is `output WORK MODEL ROW`, `time WORK MODEL ROW COUNT` or `memory WORK MODEL ROW COUNT`; each
is answered with a line: the path of a file with the results, seconds, or the largest resident size in bytes.
"""

import resource
import sys
import time

import torch
from nnx.nn.nn_model import NNModel
from nnx.nn.params.nn_checkpoint import NNCheckpoint
from safetensors.torch import load_file, save_file

torch.set_num_threads(2)
folder = sys.argv[1]
PREFILLED = 128
nets = {}


def net(name):
    if name not in nets:
        nets[name] = NNModel.from_checkpoint(NNCheckpoint.from_file(f"{folder}/{name}.pt")).net
    return nets[name]


def inputs(row):
    tensors = load_file(f"{folder}/{row}.safetensors")
    targets = tensors.pop("targets", None)
    return [tensors[str(at)] for at in range(len(tensors))], targets


def fastest(count, steps):
    """The outputs of the last round, and the mean over the steps of the fastest time of each."""
    best = [float("inf")] * len(steps)
    for _ in range(count):
        state, outputs = None, []
        for at, step in enumerate(steps):
            begin = time.perf_counter()
            output, state = step(state)
            best[at] = min(best[at], time.perf_counter() - begin)
            outputs.append(output)
    return outputs, sum(best) / len(best)


@torch.inference_mode()
def forward(net, inputs, _, count):
    net.eval()
    outputs, took = fastest(count, [lambda _: (net(*inputs), None)])
    return {"output": outputs[0]}, took


@torch.inference_mode()
def prefill(net, inputs, _, count):
    net.eval()
    tokens = inputs[0][:, :PREFILLED]
    outputs, took = fastest(count, [lambda _: net.forward_with_cache(tokens, None)])
    return {"output": outputs[0]}, took


@torch.inference_mode()
def decode(net, inputs, _, count):
    net.eval()
    _, prefilled = net.forward_with_cache(inputs[0][:, :PREFILLED], None)
    rest = inputs[0][:, PREFILLED:].split(1, dim=1)
    steps = [lambda cache, token=token: net.forward_with_cache(token, cache or prefilled) for token in rest]
    outputs, took = fastest(count, steps)
    return {"output": torch.cat(outputs, dim=1)}, took


def step(net, inputs, targets, count):
    """Forward pass, cross-entropy and backward pass of one batch."""
    net.train()

    def once(_):
        for parameter in net.parameters():
            parameter.grad = None
        logits = net(*inputs)
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))
        loss.backward()
        return None, None

    _, took = fastest(count, [once])
    return {name: parameter.grad for name, parameter in net.named_parameters() if parameter.grad is not None}, took


WORKS = {"forward": forward, "prefill": prefill, "decode": decode, "step": step}
print(torch.__version__, flush=True)
for line in sys.stdin:
    what, work, model, row, *count = line.split()
    outputs, took = WORKS[work](net(model), *inputs(row), int(count[0]) if count else 1)
    if what == "time":
        print(took, flush=True)
    elif what == "memory":
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, flush=True)
    else:
        path = f"{folder}/{row}.out.safetensors"
        save_file({name: tensor.detach().contiguous() for name, tensor in outputs.items()}, path)
        print(path, flush=True)
