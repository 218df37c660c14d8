//! Kills a writer at every step of a save and at random moments.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use nnx_run::{CheckpointStore, SaveStep};

use super::python::{Python, path};
use super::{RUN, numbered};
use crate::Result;

/// The arguments with which this program is the killed writer: a root, a number, and a step to stop
/// at.
pub(super) const WRITER: &str = "--write";

/// Saves, beginning with a number, until it is killed or stops itself after a step.
pub(super) fn write(root: &Path, from: i64, stop: Option<String>) -> Result<()> {
    let store = CheckpointStore::new(RUN, root)?.on_step(move |step| {
        if stop.as_deref() == Some(&format!("{step:?}")) {
            std::process::abort();
        }
    });
    for number in from.. {
        numbered::save(&store, number)?;
        println!("{number}");
    }
    Ok(())
}

fn start(root: &Path, from: i64, step: Option<SaveStep>) -> Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg("runs")
        .arg(WRITER)
        .arg(root)
        .arg(from.to_string());
    if let Some(step) = step {
        command.arg(format!("{step:?}"));
    }
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    Ok(command.spawn()?)
}

/// The counts of the states that were found after the kills.
#[derive(Debug, Default)]
struct Tally {
    old: u32,
    new: u32,
    judged_by_python: u32,
}

impl Tally {
    fn take(&mut self, is_new: bool) {
        if is_new { self.new += 1 } else { self.old += 1 }
    }
}

/// Kills writers, and judges the files that are left; with Python, Python must find the same.
pub(super) fn judge(mut python: Option<&mut Python>, kills: u32) -> Result<()> {
    let mut steps = Tally::default();
    // From one training state to another, to weights without a state, and from those to a state
    // again.
    for from in [1, 2, 3] {
        for step in SaveStep::ALL {
            let is_of_state = matches!(step, SaveStep::StateWritten | SaveStep::CopyWritten);
            if (from + 1) % 3 == 0 && is_of_state {
                continue;
            }
            let root = tempfile::tempdir()?;
            let store = CheckpointStore::new(RUN, root.path())?;
            for number in 1..=from {
                numbered::save(&store, number)?;
            }
            let status = start(root.path(), from + 1, Some(step))?
                .wait_with_output()?
                .status;
            if status.success() {
                return Err(format!("the writer did not stop at {step:?}").into());
            }
            let found = agreed(&store, root.path(), python.as_deref_mut(), &mut steps)?;
            let published = SaveStep::ALL
                .iter()
                .skip_while(|it| **it != SaveStep::CheckpointPublished);
            let is_new = published.clone().any(|it| *it == step);
            if found != from + i64::from(is_new) {
                return Err(format!("{found} after a stop at {step:?} of {}", from + 1).into());
            }
            steps.take(is_new);
            numbered::save(&store, found + 1)?;
            agreed(&store, root.path(), python.as_deref_mut(), &mut steps)?;
        }
    }
    report("at every step", &steps);

    let root = tempfile::tempdir()?;
    let store = CheckpointStore::new(RUN, root.path())?;
    numbered::save(&store, 1)?;
    let (mut last, mut moments) = (1, Tally::default());
    for kill in 0..kills {
        let reported = killed(root.path(), last + 1, kill)?.unwrap_or(last);
        let found = agreed(&store, root.path(), python.as_deref_mut(), &mut moments)?;
        if found != reported && found != reported + 1 {
            return Err(format!("{found} is there after {reported} was saved").into());
        }
        moments.take(found != reported);
        last = found;
    }
    report("at any moment", &moments);
    Ok(())
}

/// Kills a writer at a moment that depends on the number of the kill; returns the last number that
/// it printed.
fn killed(root: &Path, from: i64, kill: u32) -> Result<Option<i64>> {
    /// Several saves fit into that time.
    const MOST_MICROSECONDS: u64 = 25_000;

    let mut child = start(root, from, None)?;
    let answers = child.stdout.take().ok_or("the writer has no pipe")?;
    let mut reported = None;
    let mut lines = BufReader::new(answers).lines();
    if let Some(line) = lines.next() {
        reported = Some(line?.parse()?);
        let moment = u64::from(kill).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        thread::sleep(Duration::from_micros(moment % MOST_MICROSECONDS));
        child.kill()?;
    }
    for line in lines {
        // The last line may be incomplete.
        let line = line?;
        reported = line
            .parse()
            .ok()
            .filter(|number| Some(*number) > reported)
            .or(reported);
    }
    child.wait()?;
    Ok(reported)
}

/// The number of the complete save that is there, on which Python must agree.
fn agreed(
    store: &CheckpointStore,
    root: &Path,
    python: Option<&mut Python>,
    tally: &mut Tally,
) -> Result<i64> {
    let found = numbered::whole(store)?;
    if let Some(python) = python {
        let theirs = python.ask(
            "whole",
            [
                ("root", path(root)),
                ("run", RUN.into()),
                ("tag", "last".into()),
            ],
        )?;
        if theirs.as_int() != Some(found.into()) {
            return Err(format!("Python finds {theirs:?} where {found} is").into());
        }
        tally.judged_by_python += 1;
    }
    Ok(found)
}

fn report(when: &str, tally: &Tally) {
    let Tally {
        old,
        new,
        judged_by_python,
    } = tally;
    println!(
        "{} kills {when}: {old} times the old save whole, {new} times the new one, none lost; \
         judged by Python too {judged_by_python} times",
        old + new
    );
}
