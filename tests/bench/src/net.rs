//! Networks beside PyTorch: `cargo xtask bench net`.
//!
//! The nets are made here and loaded by the real NNx from their checkpoints, so that both compute
//! the same; their outputs, or the gradients of a step, are compared first. The fastest computation
//! counts, as the others were disturbed. The memory of a row is that of a process that does nothing else.

mod computation;
mod models;
mod rows;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use candle_core::Tensor;
use nnx_checkpoint::{CheckpointFormat, NNCheckpoint, safetensors};
use nnx_net::NNModel;
use nnx_params::{NNEvaluationDataPoint, NNIterationDataPoint, NNModelParams};

use self::computation::Outputs;
use self::rows::Row;
use crate::Result;
use crate::peer::Peer;
use crate::resident;

/// The program that runs in Python.
const SCRIPT: &str = include_str!("net/peer.py");
/// How often each is measured, in turns.
const TURNS: usize = 7;
/// How long one measurement takes, about.
const TURN: Duration = Duration::from_millis(300);
/// The largest difference of outputs and gradients that rounding explains.
const TOLERANCE: f32 = 1e-4;

/// Measures the rows whose names begin with one of the words; all rows if there are none.
///
/// # Errors
/// When Python fails, or computes something else.
pub(crate) fn run(python: &Path, words: &[String]) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut peer = Peer::start(python, SCRIPT, [folder.path()])?;
    println!(
        "| what | nnx-net | PyTorch {} | ratio | target | largest difference | peak memory |",
        peer.torch
    );
    println!("|---|---|---|---|---|---|---|");
    let is_wanted =
        |row: &Row| words.is_empty() || words.iter().any(|word| row.name.starts_with(word));
    let rows: Vec<Row> = rows::all().into_iter().filter(is_wanted).collect();
    if rows.is_empty() {
        return Err("no row has such a name".into());
    }
    for row in rows {
        measure(&row, python, &mut peer, folder.path())?;
    }
    Ok(())
}

/// Computes a row a few times in this process, and prints the most memory that it took.
///
/// # Errors
/// When there is no such row, or its model is not in the folder.
pub(crate) fn memory(folder: &Path, name: &str) -> Result<()> {
    let row = rows::all().into_iter().find(|row| row.name == name);
    let row = row.ok_or("no row has that name")?;
    let checkpoint = NNCheckpoint::from_file(model_file(folder, &row))?;
    let model = NNModel::from_checkpoint(&checkpoint)?;
    drop(checkpoint);
    computation::run(&row, &model, 3)?;
    println!("{}", resident::largest()?);
    Ok(())
}

/// Measures one row in turns and prints its line.
fn measure(row: &Row, python: &Path, peer: &mut Peer, folder: &Path) -> Result<()> {
    let model = prepared(row, folder)?;
    let name = &row.name;
    let question = format!("{} {} {name}", row.work.name(), row.model);
    let ours = computation::run(row, &model, 1)?.0;
    let theirs = peer.ask(&format!("output {question}"))?;
    let difference = difference(&ours, Path::new(&theirs))?;
    if difference.is_nan() || difference > TOLERANCE {
        return Err(format!("{name}: results differ by {difference}").into());
    }
    let counts = [
        computation::run(row, &model, 2)?.1,
        peer.time(&format!("time {question} 2"))?,
    ]
    .map(|one| count(one * row.steps(), TURN));
    let [mut ours, mut theirs] = [Duration::MAX; 2];
    for _ in 0..TURNS {
        ours = ours.min(computation::run(row, &model, counts[0])?.1);
        theirs = theirs.min(peer.time(&format!("time {question} {}", counts[1]))?);
    }
    let memory = [own_memory(row, folder)?, {
        let mut peer = Peer::start(python, SCRIPT, [folder])?;
        peer.ask(&format!("memory {question} 3"))?.parse()?
    }];
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!(
        "| {} (`{name}`) | {:.3} ms | {:.3} ms | {ratio:.2} | ≤ {}: {} | {difference:.1e} | {} and {} MB |",
        row.title,
        ours.as_secs_f64() * 1e3,
        theirs.as_secs_f64() * 1e3,
        row.target,
        if ratio <= row.target { "met" } else { "missed" },
        memory[0] / 1_000_000,
        memory[1] / 1_000_000,
    );
    Ok(())
}

/// How often something is computed in a time, where once takes `one`.
fn count(one: Duration, time: Duration) -> u32 {
    let count = time.as_nanos() / one.as_nanos().max(1);
    u32::try_from(count).unwrap_or(u32::MAX).max(1)
}

/// The most memory of a process of this program that computes the row.
fn own_memory(row: &Row, folder: &Path) -> Result<u64> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([
        OsStr::new("net-memory"),
        folder.as_os_str(),
        row.name.as_ref(),
    ]);
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// The largest difference of tensors that have the same names on both sides.
fn difference(ours: &Outputs, theirs: &Path) -> Result<f32> {
    let file = nnx_checkpoint::Source::read(theirs)?;
    let file = safetensors::SafeTensors::parse(file.bytes(), &nnx_checkpoint::Limits::default())?;
    if ours.is_empty() || file.tensors().len() != ours.len() {
        let count = file.tensors().len();
        return Err(format!("{} tensors here, {count} in Python", ours.len()).into());
    }
    let mut largest = 0.0_f32;
    for (name, ours) in ours {
        let theirs = file
            .get(name)
            .ok_or_else(|| format!("Python has no `{name}`"))?;
        let theirs = Tensor::try_from(theirs)?;
        if ours.dims() != theirs.dims() {
            return Err(format!("{name}: {:?} and {:?}", ours.dims(), theirs.dims()).into());
        }
        let difference: f32 = (ours - theirs)?.abs()?.flatten_all()?.max(0)?.to_scalar()?;
        // A maximum would lose NaN.
        if difference.is_nan() || difference > largest {
            largest = difference;
        }
        if largest.is_nan() {
            break;
        }
    }
    Ok(largest)
}

fn model_file(folder: &Path, row: &Row) -> std::path::PathBuf {
    folder.join(format!("{}.pt", row.model))
}

/// The model of a row, whose checkpoint and inputs are in the folder for the other side.
fn prepared(row: &Row, folder: &Path) -> Result<NNModel> {
    let (net, params) = models::params(&row.model)?;
    let model = NNModel::new(params, NNModelParams::builder(net).build()?, 0)?;
    let point = NNEvaluationDataPoint::builder().loss(1.0).build()?;
    let point = NNIterationDataPoint::new(0.1, 0, 0, 0, point);
    model
        .checkpoint(point)?
        .to_file(model_file(folder, row), CheckpointFormat::Pickle)?;
    let named = row.inputs()?.into_iter().enumerate();
    let named = named.map(|(at, tensor)| (at.to_string(), tensor));
    let targets = row.targets()?.map(|tensor| ("targets".to_owned(), tensor));
    let tensors: Vec<(String, nnx_checkpoint::Tensor)> = named
        .chain(targets)
        .map(|(name, tensor)| Ok((name, nnx_checkpoint::Tensor::try_from(&tensor)?)))
        .collect::<Result<_>>()?;
    let tensors: Vec<_> = tensors
        .iter()
        .map(|(name, tensor)| (name.as_str(), tensor))
        .collect();
    let path = folder.join(format!("{}.safetensors", row.name));
    safetensors::write(&mut std::fs::File::create(path)?, &tensors, None)?;
    Ok(model)
}
