//! Reading every byte of a large file. Each row adds up all elements, so that none is left unread.

use std::path::Path;

use candle_core::pickle::read_all;
use nnx_checkpoint::CheckpointReader;

use crate::table::Table;
use crate::{Result, file};

const TENSORS: usize = 64;
/// 16 MB a tensor, 1 GB in all.
const ELEMENTS: usize = 1 << 22;

pub(crate) fn run(folder: &Path) -> Result<()> {
    let path = file::state_dict(folder, TENSORS, ELEMENTS)?;
    let path = path.as_path();
    let bytes = std::fs::metadata(path)?.len();
    let expected = ours(path)?;
    let mut table = Table::new(
        format!("reading all of a file of {bytes} bytes"),
        Some(bytes),
    );
    table.row(
        "nnx-checkpoint: mapped, checksums verified",
        expected,
        || ours(path),
    )?;
    let whole = sum(&std::fs::read(path)?);
    table.row("std::fs::read, crc32fast: no checkpoint", whole, || {
        let file = std::fs::read(path)?;
        std::hint::black_box(crc32fast::hash(&file));
        Ok(sum(&file))
    })?;
    table.row("candle-core: read_all", expected, || {
        let mut total = 0u64;
        for (_, tensor) in read_all(path)? {
            for number in tensor.to_vec1::<f32>()? {
                total = total.wrapping_add(u64::from(number.to_bits()));
            }
        }
        Ok(total)
    })?;
    #[cfg(feature = "peers")]
    crate::peers::reading(&mut table, path, expected)?;
    Ok(())
}

fn ours(path: &Path) -> Result<u64> {
    let checkpoint = CheckpointReader::open(path)?;
    let mut total = 0u64;
    for entry in checkpoint.tensors() {
        let tensor = checkpoint.tensor(entry.name())?;
        total = total.wrapping_add(sum(&tensor.to_bytes()?));
    }
    Ok(total)
}

/// The sum of the numbers that the bytes are.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers.iter().fold(0, |total, number| {
        total.wrapping_add(u64::from(u32::from_le_bytes(*number)))
    })
}
