//! The reference: Python's own functions, timed in its process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::Result;

/// The script that is run there; it prints the fastest of five turns, in seconds. As in our rows, a
/// file that was saved is removed again. Python keeps memory that was freed, so that `torch.load`
/// needs no new one in later turns; where it says so, the memory goes back to the system first.
const SCRIPT: &str = r#"
import ctypes, gc, os, sys, time
import torch
from safetensors.torch import load_file, save_file
how, path, target = sys.argv[1:4]
def touch(state):
    return sum(int(t.view(torch.uint8)[::4096].sum()) for t in state.values())
ways = {
    "torch.load": lambda: torch.load(path, weights_only=True),
    "torch.load, in new memory": lambda: torch.load(path, weights_only=True),
    "torch.load, mmap": lambda: touch(torch.load(path, weights_only=True, mmap=True)),
    "safetensors load_file": lambda: touch(load_file(path)),
    "torch.save": lambda: (torch.save(state, target), os.remove(target)),
    "safetensors save_file": lambda: (save_file(state, target), os.remove(target)),
}
state = torch.load(path, weights_only=True) if "save" in how else None
best = float("inf")
for _ in range(5):
    begin = time.perf_counter()
    kept = ways[how]()
    best = min(best, time.perf_counter() - begin)
    del kept
    gc.collect()
    if "new memory" in how:
        ctypes.CDLL(None).malloc_trim(0)
print(best)
"#;

/// A Python with torch and safetensors.
pub(crate) struct Python(PathBuf);

impl Python {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// The time of one of the script's ways.
    ///
    /// # Errors
    /// When Python fails.
    pub(crate) fn time(&self, how: &str, path: &Path, target: &Path) -> Result<Duration> {
        let output = Command::new(&self.0)
            .args(["-c", SCRIPT, how])
            .args([path, target])
            .output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        let seconds: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
        Ok(Duration::from_secs_f64(seconds))
    }
}
