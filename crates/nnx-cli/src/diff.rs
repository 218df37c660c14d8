//! `nnx diff`: whether two checkpoints hold the same tensors.

mod compare;
mod differences;
mod number;
mod text;

use nnx::checkpoint::CheckpointPart;

use self::differences::Differences;
use crate::arguments::Diff;
use crate::failure::Failure;
use crate::json;
use crate::opened::Opened;
use crate::outcome::{self, Outcome};
use crate::terminal::Page;

pub(crate) fn run(arguments: &Diff) -> Outcome {
    let differences = match compared(arguments) {
        Ok(differences) => differences,
        Err(failure) => return Outcome::failure(&failure, arguments.json),
    };
    let output = if arguments.json {
        json::object(&differences)
    } else {
        text::render(&differences, &Page::for_stdout())
    };
    let status = if differences.same {
        outcome::EXIT_OK
    } else {
        outcome::EXIT_FINDINGS
    };
    Outcome::new(output, status)
}

fn compared(arguments: &Diff) -> Result<Differences, Failure> {
    let a = Opened::open_whole(&arguments.a, CheckpointPart::All)?;
    let b = Opened::open_whole(&arguments.b, CheckpointPart::All)?;
    let tensors = compare::tensors(&a, &b, arguments.tolerance)?;
    Ok(Differences::new(arguments, &a, &b, tensors))
}
