//! `nnx runs`: the runs of NNx on disk.

#[cfg(feature = "run")]
mod best;
#[cfg(feature = "run")]
mod chart;
#[cfg(feature = "run")]
mod checkpoints;
#[cfg(feature = "run")]
mod compare;
#[cfg(feature = "run")]
mod extra_metrics;
#[cfg(any(feature = "net", feature = "run"))]
mod failures;
#[cfg(feature = "run")]
mod list;
#[cfg(feature = "run")]
mod metrics;
#[cfg(feature = "run")]
pub(crate) mod monitor;
#[cfg(feature = "run")]
mod plot;
#[cfg(feature = "run")]
mod resolve_run;
#[cfg(feature = "run")]
mod show;
#[cfg(feature = "run")]
mod time;
#[cfg(feature = "run")]
mod verify;
#[cfg(feature = "run")]
mod warnings;

#[cfg(feature = "train")]
pub(crate) use self::resolve_run::folder;
use crate::arguments::runs::RunsCommand;
use crate::failure::Failure;
use crate::outcome::Outcome;

pub(crate) fn run(command: &RunsCommand) -> Outcome {
    outcome(command).unwrap_or_else(|failure| Outcome::failure(&failure, command.runs_dir().json))
}

#[cfg(feature = "run")]
fn outcome(command: &RunsCommand) -> Result<Outcome, Failure> {
    match command {
        RunsCommand::List(arguments) => list::run(&arguments.runs_dir),
        RunsCommand::Show(arguments) => show::run(arguments),
        RunsCommand::Plot(arguments) => plot::run(arguments),
        RunsCommand::Compare(arguments) => compare::run(arguments),
        RunsCommand::Verify(arguments) => verify::run(arguments),
        RunsCommand::Best(arguments) => best::run(&arguments.runs_dir),
    }
}

#[cfg(not(feature = "run"))]
fn outcome(_command: &RunsCommand) -> Result<Outcome, Failure> {
    Err(Failure::missing_feature(
        "`nnx runs`",
        "the runs on disk",
        "run",
    ))
}
