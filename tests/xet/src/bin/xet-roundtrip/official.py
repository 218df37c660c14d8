"""The official client's half of `cargo xtask roundtrip --hub --xet`; it judges nothing.

push FOLDER REPO    uploads a folder in one commit
pull REPO FOLDER    copies the snapshot of a repository
"""

import shutil
import sys

from huggingface_hub import HfApi, snapshot_download

verb, first, second = sys.argv[1:]
if verb == "push":
    HfApi().create_repo(second, exist_ok=True)
    HfApi().upload_folder(folder_path=first, repo_id=second)
else:
    shutil.copytree(snapshot_download(first), second)
