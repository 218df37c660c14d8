//! Reading every byte of a large file through its map.

use std::path::Path;

use nnx_checkpoint::{CheckpointReader, OpenOptions, Source};

use crate::row::{Row, line};
use crate::sum::sum;
use crate::{Bench, Result, file};

pub(crate) fn run(bench: &Bench) -> Result<()> {
    let path = file::large(bench.disk.path())?;
    let expected = ours(&path, true)?;
    let whole = sum(&std::fs::read(&path)?);
    // The floor finds the sum of the whole file, headers included.
    let floor = || Ok(sum(Source::open(&path)?.bytes()) - whole + expected);
    let row = Row::new("open and read 1 GiB, 64 tensors", expected, || {
        ours(&path, false)
    });
    let row = row.beside("the map of the file, read", Some(1.15), floor);
    #[cfg(feature = "peers")]
    let row = crate::peers::touching(row, &path);
    let took = row.run()?;
    if let Some(python) = &bench.python {
        let theirs = python.time("torch.load, mmap", &path, Path::new(""))?;
        line(
            "open and read 1 GiB, 64 tensors",
            took,
            "torch.load, mmap, a byte a page",
            theirs,
            None,
        );
    }
    Row::new("the same, checksums compared", expected, || {
        ours(&path, true)
    })
    .beside("the map of the file, read", None, floor)
    .run()?;
    Ok(())
}

fn ours(path: &Path, verify: bool) -> Result<u64> {
    let options = OpenOptions::default().verify(verify);
    let checkpoint = CheckpointReader::open_with(path, &options)?;
    let mut total = 0u64;
    for entry in checkpoint.tensors() {
        let tensor = checkpoint.tensor(entry.name())?;
        total = total.wrapping_add(sum(&tensor.to_bytes()?));
    }
    Ok(total)
}
