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


def forward(name):
    made, x = nets[name.split("_")[0]], inputs[name]

    def run(count):
        begin = time.perf_counter()
        for _ in range(count):
            output = made(x)
        return output, (time.perf_counter() - begin) / count

    return run


def prefill(count):
    tokens = inputs["tokens"][:, :PREFILLED]
    begin = time.perf_counter()
    for _ in range(count):
        output, _ = transformer.forward_with_cache(tokens, None)
    return output, (time.perf_counter() - begin) / count


def decode(count):
    _, prefilled = transformer.forward_with_cache(inputs["tokens"][:, :PREFILLED], None)
    rest = inputs["tokens"][:, PREFILLED:].split(1, dim=1)
    begin = time.perf_counter()
    for _ in range(count):
        cache, outputs = prefilled, []
        for token in rest:
            output, cache = transformer.forward_with_cache(token, cache)
            outputs.append(output)
    took = time.perf_counter() - begin
    return torch.cat(outputs, dim=1), took / count / len(rest)


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
