"""The official client's half of `cargo xtask roundtrip --hub`; it judges nothing.

Takes any number of jobs, three words each, and prints a line of JSON for each: null, or what went wrong.

push FOLDER REPO    loads the model of a folder and pushes it
pull REPO FOLDER    loads the model of a repository and saves it in a folder
raw REPO FOLDER     the snapshot of a repository, as huggingface_hub puts it in its cache
"""

import json
import shutil
import sys

from huggingface_hub import snapshot_download
from nnx import NNModel


def work(verb, first, second):
    if verb == "push":
        NNModel.from_pretrained(first).push_to_hub(second)
    elif verb == "pull":
        NNModel.from_pretrained(first).save_pretrained(second)
    elif verb == "raw":
        shutil.copytree(snapshot_download(first), second)
    else:
        raise SystemExit(f"unknown verb {verb}")


words = iter(sys.argv[1:])
for job in zip(words, words, words):
    try:
        work(*job)
        print(json.dumps(None), flush=True)
    except Exception as error:
        print(json.dumps(f"{type(error).__name__}: {error}"), flush=True)
