//! Files of many small tensors.

use std::path::Path;
use std::time::Duration;

use candle_core::pickle::{read_all, read_pth_tensor_info};
use nnx_checkpoint::CheckpointReader;

use crate::row::Row;
use crate::{Bench, Result, file, resident};

const TENSORS: usize = 20_000;
const ELEMENTS: usize = 1_024;
/// Numbers of tensors at which the cost of one is measured.
const STEPS: [usize; 5] = [1_000, 2_000, 4_000, 8_000, 16_000];
/// Tensors that candle is given to load at most.
const MOST_OF_CANDLE: usize = 4_000;

pub(crate) fn run(bench: &Bench) -> Result<()> {
    let path = file::state_dict(bench.disk.path(), TENSORS, ELEMENTS)?;
    let expected = TENSORS as u64;
    let row = Row::new("list 20,000 tensors", expected, || {
        Ok(CheckpointReader::open(&path)?.tensors().len() as u64)
    })
    .beside("candle's read_pth_tensor_info", Some(0.12), || {
        Ok(read_pth_tensor_info(&path, false, None)?.len() as u64)
    });
    #[cfg(feature = "peers")]
    let row = crate::peers::listing(row, &path);
    row.run()?;
    let checkpoint = CheckpointReader::open(&path)?;
    if let Some(touched) = resident::bytes(&path)? {
        eprint_line(&format!(
            "bytes of the file in memory after listing: {touched} of {}",
            std::fs::metadata(&path)?.len()
        ));
    }
    drop(checkpoint);
    std::fs::remove_file(&path)?;

    let mut ours = Vec::new();
    for count in STEPS {
        let path = file::state_dict(bench.disk.path(), count, ELEMENTS)?;
        let what = format!("load {count} tensors");
        let row = Row::new(&what, count as u64, || load(&path));
        #[cfg(feature = "peers")]
        let row = crate::peers::loading(row, &path);
        // Its time grows with the square of the number.
        let row = if count <= MOST_OF_CANDLE {
            row.beside("candle's read_all", None, || {
                Ok(read_all(&path)?.len() as u64)
            })
        } else {
            row
        };
        let took = row.run()?;
        ours.push(each(took, count));
        std::fs::remove_file(&path)?;
    }
    let least = ours.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ours.iter().copied().fold(0.0, f64::max);
    let shown: Vec<String> = ours.iter().map(|each| format!("{each:.2}")).collect();
    let ratio = most / least;
    println!(
        "| cost of a tensor at {STEPS:?} | {} µs | the least of them | {ratio:.2} | ≤ 1.2: {} |",
        shown.join(", "),
        if ratio <= 1.2 { "met" } else { "missed" }
    );
    Ok(())
}

/// A line beside the table.
#[expect(clippy::print_stderr, reason = "standard output has the table alone")]
fn eprint_line(text: &str) {
    eprintln!("{text}");
}

/// Microseconds a tensor.
fn each(took: Duration, count: usize) -> f64 {
    took.as_secs_f64() * 1e6 / count as f64
}

fn load(path: &Path) -> Result<u64> {
    let checkpoint = CheckpointReader::open(path)?;
    let mut tensors = Vec::new();
    for entry in checkpoint.tensors() {
        let tensor = checkpoint.tensor(entry.name())?;
        tensors.push(candle_core::Tensor::try_from(&tensor)?);
    }
    Ok(tensors.len() as u64)
}
