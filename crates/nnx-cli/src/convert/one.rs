//! One conversion.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::Path;

use nnx::checkpoint::{Conversion, ConvertOptions, ErrorKind, convert_with};

use super::{failure, report};
use crate::arguments::Convert;
use crate::failure::Failure;
use crate::interrupt::{Interrupt, STATUS};
use crate::outcome::Outcome;
use crate::progress::{Progress, Unit};

pub(super) fn run(
    arguments: &Convert,
    target: &Path,
    options: &ConvertOptions,
    interrupt: &Interrupt,
) -> Outcome {
    match convert(&arguments.source, target, options, interrupt) {
        Ok(done) if arguments.json => {
            Outcome::success(report::json(&arguments.source, &done, options))
        }
        Ok(done) => Outcome::success(report::text(&arguments.source, &done, options)),
        Err(Stop::Interrupted(failure)) => {
            Outcome::failure(&failure, arguments.json).with_status(STATUS)
        }
        Err(Stop::Failed(failure)) => Outcome::failure(&failure, arguments.json),
    }
}

/// The reason why there is no result.
pub(super) enum Stop {
    Interrupted(Failure),
    Failed(Failure),
}

/// Converts, with a bar if it takes long.
pub(super) fn convert(
    source: &Path,
    target: &Path,
    options: &ConvertOptions,
    interrupt: &Interrupt,
) -> Result<Conversion, Stop> {
    let source = crate::hub::local(source).map_err(Stop::Failed)?;
    let source = &*source;
    let bar: RefCell<Option<(Progress, u64)>> = RefCell::new(None);
    let outcome = convert_with(source, target, options, &mut |progress| {
        let mut bar = bar.borrow_mut();
        let (bar, advanced) = bar
            .get_or_insert_with(|| (Progress::new(progress.total, Unit::Bytes, "converting"), 0));
        bar.advance(progress.done.saturating_sub(*advanced));
        *advanced = progress.done;
        if interrupt.is_heard() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    outcome.map_err(|error| {
        let is_interrupted = matches!(error.kind(), ErrorKind::Interrupted);
        let failure = failure(error, source);
        if is_interrupted {
            Stop::Interrupted(failure)
        } else {
            Stop::Failed(failure)
        }
    })
}
