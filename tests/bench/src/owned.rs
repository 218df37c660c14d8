//! Loading a large file into memory of its own.

use std::path::Path;

use candle_core::pickle::read_all;
use nnx_checkpoint::{CheckpointReader, OpenOptions};

use crate::row::{Row, line};
use crate::{Bench, Result, file};

pub(crate) fn run(bench: &Bench) -> Result<()> {
    let path = file::large(bench.disk.path())?;
    let what = "load 1 GiB into tensors of candle's";
    let expected = file::LARGE_TENSORS as u64;
    let row = Row::new(what, expected, || candle(&path, false)).beside(
        "candle's read_all",
        Some(0.6),
        || Ok(read_all(&path)?.len() as u64),
    );
    #[cfg(feature = "peers")]
    let row = crate::peers::loading(row, &path);
    let took = row.run()?;
    if let Some(python) = &bench.python {
        let new = "torch.load, in new memory";
        line(
            what,
            took,
            new,
            python.time(new, &path, Path::new(""))?,
            Some(1.0),
        );
        let theirs = python.time("torch.load", &path, Path::new(""))?;
        line(what, took, "torch.load", theirs, None);
    }
    Row::new("the same, checksums compared", expected, || {
        candle(&path, true)
    })
    .beside("candle's read_all", None, || {
        Ok(read_all(&path)?.len() as u64)
    })
    .run()?;
    Ok(())
}

fn candle(path: &Path, verify: bool) -> Result<u64> {
    let options = OpenOptions::default().verify(verify);
    let checkpoint = CheckpointReader::open_with(path, &options)?;
    let mut tensors = Vec::new();
    for entry in checkpoint.tensors() {
        let tensor = checkpoint.tensor(entry.name())?;
        tensors.push(candle_core::Tensor::try_from(&tensor)?);
    }
    Ok(tensors.len() as u64)
}
