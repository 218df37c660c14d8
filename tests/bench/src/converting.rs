//! Converting a large file, on a memory file system and on the disk.

use std::fs;
use std::path::Path;
use std::process::Command;

use nnx_checkpoint::{ConvertOptions, convert};

use crate::row::Row;
use crate::{Bench, Result, file};

pub(crate) fn run(bench: &Bench) -> Result<()> {
    if let Some(memory) = &bench.memory {
        on(memory.path(), "on a memory file system", Some(1.15))?;
    }
    on(bench.disk.path(), "on the disk", None)
}

fn on(folder: &Path, place: &str, target: Option<f64>) -> Result<()> {
    let source = file::large(folder)?;
    let (out, copy) = (folder.join("out.safetensors"), folder.join("copy"));
    let expected = file::LARGE_TENSORS as u64;
    let converted = |verify: bool, out: &Path| -> Result<u64> {
        let options = ConvertOptions::default().verify(verify);
        let done = convert(&source, out, &options)?;
        fs::remove_file(out)?;
        Ok(done.tensors as u64)
    };
    let copied = || {
        fs::copy(&source, &copy)?;
        // A conversion is on the disk when it is done.
        fs::File::open(&copy)?.sync_all()?;
        fs::remove_file(&copy)?;
        Ok(expected)
    };
    let cp = || {
        let status = Command::new("cp").args([&source, &copy]).status()?;
        fs::remove_file(&copy)?;
        Ok(if status.success() { expected } else { 0 })
    };
    let plain = format!("convert 1 GiB to safetensors {place}, not verified");
    Row::new(&plain, expected, || converted(false, &out))
        .beside("copy_file_range of the file, fsync", target, copied)
        .beside("`cp`, which does not wait for the disk", None, cp)
        .run()?;
    let verified = format!("convert 1 GiB to safetensors {place}, verified");
    Row::new(&verified, expected, || converted(true, &out))
        .beside("copy_file_range of the file, fsync", None, copied)
        .run()?;
    fs::remove_file(&source)?;
    Ok(())
}
