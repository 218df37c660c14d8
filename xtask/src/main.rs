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
mod distributed;
mod fresh_clone;
mod fuzz;
mod loaders;
mod python_env;
mod realworld;
mod roundtrip;
mod roundtrip_hub;
mod roundtrip_xet;
mod runs;
mod store;
mod tasks;
mod train;
mod workspace;

use std::error::Error;
use std::process::ExitCode;

use arguments::Arguments;
use tasks::TASKS;

/// The result of a task; the text of the error is all that a caller needs.
type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        print!("{}", tasks::help());
        return ExitCode::SUCCESS;
    };
    if is_help(&name) {
        print!("{}", tasks::help());
        return ExitCode::SUCCESS;
    }
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        eprint!("there is no task `{name}`\n\n{}", tasks::help());
        return ExitCode::from(2);
    };
    let arguments: Vec<String> = arguments.collect();
    if arguments.iter().any(|word| is_help(word)) {
        print!("{}", task.help());
        return ExitCode::SUCCESS;
    }
    match (task.run)(Arguments::new(arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn is_help(word: &str) -> bool {
    matches!(word, "--help" | "-h")
}
