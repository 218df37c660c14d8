//! Files beyond 4 GiB, and the memory that a conversion takes.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use nnx_checkpoint::{ConvertOptions, convert};
use serde_json::{Value, json};

use crate::Result;

/// The sizes of two tensors in bytes: one that fits 32 bits, and one that does not.
const TENSORS: [u64; 2] = [1 << 30, (1 << 32) + 4_096];
/// The largest difference in bytes between the peak memory of the two conversions.
const ALLOWANCE_KIB: u64 = 16 << 10;

/// Converts a file of 1 GiB and one of 4 GiB, in which the size of an entry and of the file exceed
/// 32 bits, both ways, and lists what is to be judged of each.
pub(super) fn questions(folder: &Path) -> Result<Vec<Value>> {
    let mut questions = Vec::new();
    let (mut peaks, mut copies) = (Vec::new(), Vec::new());
    let options = ConvertOptions::default();
    for bytes in TENSORS {
        let source = model(folder, bytes)?;
        let torch = folder.join(format!("{bytes}.pt"));
        let back = folder.join(format!("{bytes}.back.safetensors"));
        convert(&source, &torch, &options)?;
        convert(&torch, &back, &options)?;
        let peak = peak_kib()?;
        println!("converting {bytes} bytes both ways: {peak} KiB of memory at most so far");
        peaks.push(peak);
        copies.push([source, back]);
        questions.push(json!({
            "kind": "large_file", "target": torch,
            "ends": {"large": [1, 2, bytes], "small": [7, 9, 3]},
        }));
    }
    // This comes last, because it reads the files through their maps.
    for [source, back] in &copies {
        same_tensors(source, back)?;
        fs::remove_file(source)?;
        fs::remove_file(back)?;
    }
    match peaks[..] {
        [small, large] if large <= small + ALLOWANCE_KIB => Ok(questions),
        _ => Err(format!("memory grows with the file: {peaks:?} KiB").into()),
    }
}

/// A safetensors file with a tensor of that many bytes, of which the first is 1 and the last 2,
/// followed by a small one.
fn model(folder: &Path, bytes: u64) -> Result<PathBuf> {
    let path = folder.join(format!("{bytes}.safetensors"));
    let end = bytes + 3;
    let header = format!(
        "{{\"large\":{{\"dtype\":\"U8\",\"shape\":[{bytes}],\"data_offsets\":[0,{bytes}]}},\
         \"small\":{{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[{bytes},{end}]}}}}"
    );
    let mut file = File::create(&path)?;
    file.write_all(&(header.len() as u64).to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    let chunk = vec![5; 1 << 20];
    file.write_all(&[1])?;
    let mut left = bytes - 2;
    while left > 0 {
        let now = left.min(1 << 20);
        file.write_all(chunk.get(..usize::try_from(now)?).unwrap_or_default())?;
        left -= now;
    }
    file.write_all(&[2, 7, 8, 9])?;
    Ok(path)
}

/// Checks that the data of two safetensors files with the same layout are equal.
fn same_tensors(a: &Path, b: &Path) -> Result<()> {
    let [a, b] = [a, b].map(nnx_checkpoint::CheckpointReader::open);
    let (a, b) = (a?, b?);
    for entry in a.tensors() {
        let (one, other) = (a.tensor(entry.name())?, b.tensor(entry.name())?);
        if *one.to_bytes()? != *other.to_bytes()? {
            return Err(format!("`{}` came back otherwise", entry.name()).into());
        }
    }
    Ok(())
}

/// The peak memory of this process.
fn peak_kib() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    kib.ok_or_else(|| "this system does not say how much memory was used".into())
}
