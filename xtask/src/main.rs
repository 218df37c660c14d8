//! The project's chores: `cargo xtask <task>`.

#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a task's result is what it prints"
)]

mod arguments;
mod bench;
mod boundary;
mod charts;
mod ci;
mod convert;
mod fuzz;
mod python_env;
mod realworld;
mod roundtrip;
mod roundtrip_hub;
mod runs;
mod workspace;

use std::error::Error;
use std::process::ExitCode;

use arguments::Arguments;

/// What a task answers with; the text of the error is all that a caller needs.
type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

type Task = fn(Arguments) -> Result<()>;

/// Every task: its name, the function behind it, and one line of help.
const TASKS: &[(&str, Task, &str)] = &[
    (
        "bench",
        bench::run,
        "times beside a floor and other libraries [checkpoint | net] [--python PATH]",
    ),
    (
        "boundary",
        boundary::run,
        "check what the crates may depend on, name and contain",
    ),
    (
        "charts",
        charts::run,
        "charts of runs in a browser, by hand [DIR] [--python PATH] [--browser PATH]",
    ),
    (
        "ci",
        ci::run,
        "everything that a submission must pass [--allow-dirty]",
    ),
    (
        "convert",
        convert::run,
        "converted files, judged by Python's libraries [DIR] [--python PATH] [--large]",
    ),
    (
        "fuzz",
        fuzz::run,
        "fuzz bodies on damaged fixtures [BODY] [--seconds N] [--seed N] [--libfuzzer]",
    ),
    (
        "python-env",
        python_env::run,
        "make or find a Python with the real NNx, print its path [DIR] [--library VERSION]",
    ),
    (
        "realworld",
        realworld::run,
        "published checkpoints from PyPI, tensor for tensor [DIR]",
    ),
    (
        "roundtrip",
        roundtrip::run,
        "real checkpoints in both directions, or with --hub models to and from a Hub [--hub] [--python PATH] [--library VERSION] [--seed N]",
    ),
    (
        "runs",
        runs::run,
        "runs shared with the real NNx, writers killed [--python PATH] [--kills N] [--rounds N] [--seed N]",
    ),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        print!("{}", help());
        return ExitCode::SUCCESS;
    };
    let Some((_, task, _)) = TASKS.iter().find(|(task, ..)| *task == name) else {
        eprint!("there is no task `{name}`\n\n{}", help());
        return ExitCode::from(2);
    };
    match task(Arguments::new(arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn help() -> String {
    let lines = TASKS
        .iter()
        .map(|(name, _, help)| format!("  {name:<12} {help}\n"));
    format!("cargo xtask <task>\n\n{}", lines.collect::<String>())
}
