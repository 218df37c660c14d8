//! Data to train on.

use std::fs::File;
use std::path::{Path, PathBuf};

use nnx_checkpoint::{Dtype, Tensor, safetensors};

use super::random::Random;
use crate::Result;

/// The kind of a sample.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A row of floats, with a class.
    Class { width: usize, classes: usize },
    /// A row of floats, with independent labels.
    Labels { width: usize, labels: usize },
    /// A row of tokens, with the token that follows each.
    Tokens { length: usize, vocabulary: usize },
}

/// Writes a safetensors file of `inputs` and `targets`; its path.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write(
    folder: &Path,
    name: &str,
    kind: Kind,
    rows: usize,
    random: &mut Random,
) -> Result<PathBuf> {
    let (inputs, targets) = match kind {
        Kind::Class { width, classes } => {
            let rows: Vec<Vec<f32>> = rows_of(rows, width, random);
            let targets: Vec<i64> = rows.iter().map(|row| class(row, classes)).collect();
            (floats(&rows)?, integers(&[targets.len()], &targets)?)
        }
        Kind::Labels { width, labels } => {
            let rows: Vec<Vec<f32>> = rows_of(rows, width, random);
            let label = |row: &Vec<f32>| {
                let labels = row.iter().cycle().take(labels);
                labels
                    .map(|value| f32::from(u8::from(*value > 0.0)))
                    .collect()
            };
            let targets: Vec<Vec<f32>> = rows.iter().map(label).collect();
            (floats(&rows)?, floats(&targets)?)
        }
        Kind::Tokens { length, vocabulary } => {
            let (mut inputs, mut targets) = (Vec::new(), Vec::new());
            for _ in 0..rows {
                let mut token = random.below(vocabulary);
                for _ in 0..length {
                    inputs.push(i64::try_from(token)?);
                    // Mostly what the token before decides, so that there is something to learn.
                    let step = if random.below(8) == 0 { 2 } else { 1 };
                    token = (token * 3 + step) % vocabulary;
                    targets.push(i64::try_from(token)?);
                }
            }
            let shape = [rows, length];
            (integers(&shape, &inputs)?, integers(&shape, &targets)?)
        }
    };
    let path = folder.join(name);
    let tensors = [("inputs", &inputs), ("targets", &targets)];
    safetensors::write(&mut File::create(&path)?, &tensors, None)?;
    Ok(path)
}

fn rows_of(rows: usize, width: usize, random: &mut Random) -> Vec<Vec<f32>> {
    let row = |random: &mut Random| (0..width).map(|_| random.unit() * 2.0).collect();
    (0..rows).map(|_| row(random)).collect()
}

/// The class whose share of the row has the largest sum.
fn class(row: &[f32], classes: usize) -> i64 {
    let sum = |class: usize| -> f32 { row.iter().skip(class).step_by(classes).sum() };
    let largest = (0..classes).max_by(|a, b| sum(*a).total_cmp(&sum(*b)));
    largest
        .and_then(|class| i64::try_from(class).ok())
        .unwrap_or_default()
}

fn floats(rows: &[Vec<f32>]) -> Result<Tensor> {
    let shape = [rows.len(), rows.first().map_or(0, Vec::len)];
    let bytes: Vec<u8> = rows
        .iter()
        .flatten()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    Ok(Tensor::from_bytes(Dtype::Float32, &shape, bytes)?)
}

fn integers(shape: &[usize], values: &[i64]) -> Result<Tensor> {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    Ok(Tensor::from_bytes(Dtype::Int64, shape, bytes)?)
}
