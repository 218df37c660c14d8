//! Opening a file of many tensors: names, dtypes and shapes, no elements.

use std::path::Path;

use candle_core::pickle::read_pth_tensor_info;
use nnx_checkpoint::CheckpointReader;

use crate::table::Table;
use crate::{Result, file, resident};

const TENSORS: usize = 20_000;
const ELEMENTS: usize = 1_024;

pub(crate) fn run(folder: &Path) -> Result<()> {
    let path = file::state_dict(folder, TENSORS, ELEMENTS)?;
    let path = path.as_path();
    let bytes = std::fs::metadata(path)?.len();
    let title = format!("opening a file of {TENSORS} tensors, {bytes} bytes");
    let expected = TENSORS as u64;
    let mut table = Table::new(title, None);
    table.row("nnx-checkpoint: CheckpointReader::open", expected, || {
        Ok(CheckpointReader::open(path)?.tensors().len() as u64)
    })?;
    table.row("candle-core: read_pth_tensor_info", expected, || {
        Ok(read_pth_tensor_info(path, false, None)?.len() as u64)
    })?;
    #[cfg(feature = "peers")]
    crate::peers::opening(&mut table, path, expected)?;
    let checkpoint = CheckpointReader::open(path)?;
    match resident::bytes(path)? {
        Some(touched) => println!(
            "  bytes of the file in memory after opening: {touched} of {bytes}; tensors take {}",
            TENSORS * ELEMENTS * 4
        ),
        None => println!("  this system does not say which bytes of a map were touched"),
    }
    drop(checkpoint);
    Ok(())
}
