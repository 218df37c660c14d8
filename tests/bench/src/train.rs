//! Training beside the real NNx, and beside PyTorch alone: `cargo xtask bench train`.
//!
//! Both sides train the same net on the same data from the same configuration, one epoch, in turns.
//! The fastest turn counts, as the others were disturbed.

mod case;

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use crate::Result;
use crate::peer::Peer;
use crate::resident;
use case::{BATCH, Case};

/// The program that runs in Python.
const SCRIPT: &str = include_str!("train/peer.py");
/// How often each is measured, in turns.
const TURNS: usize = 3;

/// # Errors
/// When Python fails, or a training does.
pub(crate) fn run(python: &Path, threads: usize) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let cases = case::all(folder.path())?;
    let sizes = [threads.to_string(), BATCH.to_string()].map(OsString::from);
    let arguments = [folder.path().into()].into_iter().chain(sizes);
    let mut peer = Peer::start(python, SCRIPT, arguments)?;
    println!("{threads} threads, steps a second; PyTorch {}", peer.torch);
    println!();
    println!(
        "| what | nnx-train | NNx | ratio | forward, backward, update alone | PyTorch alone | ratio | \
         what the loop costs |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for case in &cases {
        row(case, &mut peer)?;
    }
    println!();
    println!(
        "Largest resident size: nnx-train {} MB, Python {} MB",
        resident::largest()? / 1_000_000,
        peer.ask("memory")?.parse::<u64>()? / 1_000_000
    );
    Ok(())
}

/// Measures one case in turns and prints its line.
fn row(case: &Case, peer: &mut Peer) -> Result<()> {
    let [mut ours, mut theirs, mut bare, mut torch] = [Duration::MAX; 4];
    for _ in 0..TURNS {
        ours = ours.min(case.train()?);
        theirs = theirs.min(peer.time(&format!("loop {}", case.name))?);
        bare = bare.min(case.bare()?);
        torch = torch.min(peer.time(&format!("bare {}", case.name))?);
    }
    let rate = |took: Duration| f64::from(case.steps) / took.as_secs_f64();
    println!(
        "| {} | {:.0} | {:.0} | {:.2} | {:.0} | {:.0} | {:.2} | {:.0} % |",
        case.title,
        rate(ours),
        rate(theirs),
        rate(ours) / rate(theirs),
        rate(bare),
        rate(torch),
        rate(bare) / rate(torch),
        100.0 * (1.0 - bare.as_secs_f64() / ours.as_secs_f64()),
    );
    Ok(())
}
