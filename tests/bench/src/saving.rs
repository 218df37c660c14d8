//! Saving what is in memory.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use nnx_checkpoint::{Tensor, safetensors, save_atomic};

use crate::row::{Row, line};
use crate::{Bench, Result, file};

pub(crate) fn run(bench: &Bench) -> Result<()> {
    // On a memory file system where there is one: a disk would be all that is measured.
    let folder = bench.memory.as_ref().unwrap_or(&bench.disk).path();
    let tensors = file::large_tensors()?;
    let object = file::object(&tensors)?;
    let (target, floor) = (folder.join("saved"), folder.join("floor"));
    let bytes: u64 = tensors
        .iter()
        .map(|(_, tensor)| tensor.byte_len() as u64)
        .sum();
    let write = || {
        let mut file = File::create(&floor)?;
        for (_, tensor) in &tensors {
            file.write_all(&tensor.to_bytes()?)?;
        }
        file.sync_all()?;
        fs::remove_file(&floor)?;
        Ok(bytes)
    };
    let torch = "save 1 GiB as torch.save does";
    let took = Row::new(torch, bytes, || {
        object.save(&target)?;
        fs::remove_file(&target)?;
        Ok(bytes)
    })
    .beside("writing the same bytes", Some(1.15), write)
    .run()?;
    python(bench, folder, torch, took, "torch.save")?;

    let named: Vec<(&str, &Tensor)> = tensors
        .iter()
        .map(|(name, tensor)| (name.as_str(), tensor))
        .collect();
    let plain = "save 1 GiB as safetensors";
    let took = Row::new(plain, bytes, || {
        save_atomic(&target, |w| safetensors::write(w, &named, None))?;
        fs::remove_file(&target)?;
        Ok(bytes)
    })
    .beside("writing the same bytes", Some(1.15), write)
    .run()?;
    python(bench, folder, plain, took, "safetensors save_file")
}

fn python(
    bench: &Bench,
    folder: &Path,
    what: &str,
    took: std::time::Duration,
    how: &str,
) -> Result<()> {
    let Some(python) = &bench.python else {
        return Ok(());
    };
    let source = file::large(bench.disk.path())?;
    let target = folder.join("python");
    let theirs = python.time(how, &source, &target)?;
    line(what, took, how, theirs, None);
    Ok(())
}
