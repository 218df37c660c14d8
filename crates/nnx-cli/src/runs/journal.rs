//! What is told of a run whose journal cannot be read as a whole.

use nnx::run::NNRun;

use crate::size;

/// Why only the epochs of the last records are there, if so.
pub(super) fn note(folder: &str, run: &NNRun) -> Option<String> {
    let error = run.journal_epochs().err()?;
    Some(format!(
        "The journal of run {folder} has epochs that cannot be read ({error}): only those of the last {} are \
         known, and the oldest of them may be cut.",
        size::count(run.idps().len(), "record")
    ))
}
