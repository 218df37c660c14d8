"""Times what `nnx-bench net` asks for with the real NNx, on two threads.

A line on standard input is `time CASE COUNT` or `output CASE`; each is answered with a line.
"""

import sys
import time

import torch
from nnx.nn.nn_model import NNModel
from nnx.nn.params.nn_checkpoint import NNCheckpoint
from safetensors.torch import load_file, save_file

torch.set_num_threads(2)
folder = sys.argv[1]
PREFILLED = 128


def net(name):
    net = NNModel.from_checkpoint(NNCheckpoint.from_file(f"{folder}/{name}.pt")).net
    return net.eval()


inputs = load_file(f"{folder}/inputs.safetensors")
nets = {name: net(name) for name in ("ff", "conv", "transformer")}
transformer = nets["transformer"]


def fastest(count, steps):
    """What the steps of the last round gave, and the mean over the steps of the fastest time of each."""
    best = [float("inf")] * len(steps)
    for _ in range(count):
        state, outputs = None, []
        for at, step in enumerate(steps):
            begin = time.perf_counter()
            output, state = step(state)
            best[at] = min(best[at], time.perf_counter() - begin)
            outputs.append(output)
    return outputs, sum(best) / len(best)


def forward(name):
    made, x = nets[name.split("_")[0]], inputs[name]

    def run(count):
        outputs, took = fastest(count, [lambda _: (made(x), None)])
        return outputs[0], took

    return run


def prefill(count):
    tokens = inputs["tokens"][:, :PREFILLED]
    outputs, took = fastest(count, [lambda _: transformer.forward_with_cache(tokens, None)])
    return outputs[0], took


def decode(count):
    _, prefilled = transformer.forward_with_cache(inputs["tokens"][:, :PREFILLED], None)
    rest = inputs["tokens"][:, PREFILLED:].split(1, dim=1)
    steps = [lambda cache, token=token: transformer.forward_with_cache(token, cache or prefilled) for token in rest]
    outputs, took = fastest(count, steps)
    return torch.cat(outputs, dim=1), took


cases = {name: forward(name) for name in ("ff_1", "ff_32", "ff_1024", "conv_32")}
cases |= {"prefill": prefill, "decode": decode}
print(torch.__version__, flush=True)
with torch.inference_mode():
    for line in sys.stdin:
        what, case, *count = line.split()
        if what == "time":
            print(cases[case](int(count[0]))[1], flush=True)
        else:
            path = f"{folder}/{case}.out.safetensors"
            save_file({"output": cases[case](1)[0].contiguous()}, path)
            print(path, flush=True)
