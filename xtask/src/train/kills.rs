//! Trainings that are killed at many moments.

use crate::Result;
use crate::workspace::{cargo, output};

/// Kills so many trainings, each at a moment of its own, and checks that the run is whole and goes on
/// with the numbers of a training that was not killed.
///
/// # Errors
/// When it does not, or the test cannot be built.
pub(super) fn judge(kills: usize) -> Result<()> {
    let mut command = cargo();
    command.args(["test", "--package=nnx-cli", "--test=it", "--"]);
    command.args(["train::kill::", "--nocapture"]);
    command.env("NNX_TRAIN_KILLS", kills.to_string());
    let said = output(&mut command)?;
    let line = said.lines().find(|line| line.contains("killed on the way"));
    println!("{}", line.ok_or("no training was killed")?);
    Ok(())
}
