//! The command `nnx`: shows, scans, compares and converts model checkpoints, and trains and runs
//! the models of NNx.
//!
//! Nothing in a file is executed. `nnx --help` lists the commands; `docs/command.md` describes what
//! they print.

mod arguments;
mod commands;
mod convert;
mod diff;
mod escape;
mod failure;
mod flatten;
mod hub;
mod init;
mod inspect;
mod interrupt;
mod json;
mod layout;
mod networks;
mod opened;
mod outcome;
mod pages;
mod parallel;
mod path;
mod progress;
mod python;
mod remote;
mod remote_source;
mod runs;
mod scan;
mod shell;
mod size;
mod table;
mod terminal;
mod training;
mod verify;
mod wrap;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};
use crate::outcome::Outcome;

fn main() -> ExitCode {
    let outcome = match Arguments::try_parse() {
        Ok(arguments) => run(&arguments.command),
        Err(error) => arguments::refused(&error),
    };
    outcome.deliver()
}

fn run(command: &Command) -> Outcome {
    // A killed push leaves files in the folder of temporary files.
    hub::remove_abandoned();
    match command {
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::Scan(arguments) => scan::run(arguments),
        Command::Diff(arguments) => diff::run(arguments),
        Command::Convert(arguments) => convert::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Predict(arguments) => networks::predict(arguments),
        Command::Evaluate(arguments) => networks::evaluate(arguments),
        Command::Generate(arguments) => networks::generate(arguments),
        Command::Summary(arguments) => networks::summary(arguments),
        Command::Init(arguments) => init::run(arguments),
        Command::Train(arguments) => training::train(arguments),
        Command::Push(arguments) => hub::push(arguments),
        Command::Pull(arguments) => hub::pull(arguments),
        Command::Card(arguments) => hub::card(arguments),
        Command::Whoami(arguments) => hub::whoami(arguments),
        Command::Runs(arguments) => runs::run(&arguments.command),
        Command::Completions { shell } => pages::completions(*shell),
        Command::Man { command } => pages::manual(command.as_deref()),
    }
}
