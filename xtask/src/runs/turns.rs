//! Python and this program save one checkpoint, in turn and at the same time.

use std::error::Error;
use std::thread;
use std::time::Duration;

use nnx_params::{Checkpoints, Value};
use nnx_run::CheckpointStore;

use super::python::{Python, path};
use super::{RUN, numbered};
use crate::Result;

/// Python asks for the lock every 50 ms, and would hardly ever get it from a process that never
/// pauses.
const PAUSE: Duration = Duration::from_millis(40);

pub(super) fn judge(python: &mut Python, rounds: u32) -> Result<()> {
    let root = tempfile::tempdir()?;
    let store = CheckpointStore::new(RUN, root.path())?;
    let of_run = || {
        [
            ("root", path(root.path())),
            ("run", RUN.into()),
            ("tag", "last".into()),
        ]
    };
    let save = |number: i64| {
        let [root, run, tag] = of_run();
        [root, run, tag, ("number", Value::from(number))]
    };

    for round in 0..i64::from(rounds) {
        let (ours, theirs) = (2 * round + 1, 2 * round + 2);
        numbered::save(&store, ours)?;
        let found = python.ask("whole", of_run())?;
        if found.as_int() != Some(ours.into()) {
            return Err(format!("Python finds {found:?} where {ours} was saved").into());
        }
        python.ask("save", save(theirs))?;
        let found = numbered::whole(&store)?;
        if found != theirs {
            return Err(format!("{found} is there where Python saved {theirs}").into());
        }
    }
    println!("{rounds} rounds in turn: each read the other's save whole");

    // Now each waits for the other only at the lock. This side saves as long as Python saves, loads
    // and judges.
    let (mut ours, mut saves) = (2 * i64::from(rounds) + 1, 0);
    // How often Python found our save after its own, and its own.
    let mut found_by_python = [0, 0];
    for round in 0..i64::from(rounds) {
        let theirs = 2 * (i64::from(rounds) + round) + 2;
        let found = thread::scope(|scope| -> Result<Value> {
            let python = scope.spawn(|| -> Result<Value, String> {
                let text = |error: Box<dyn Error>| error.to_string();
                python.ask("save", save(theirs)).map_err(text)?;
                python.ask("pair", of_run()).map_err(text)
            });
            while !python.is_finished() {
                numbered::save(&store, ours)?;
                ours += 2;
                saves += 1;
                // Another save may come between reading the manifest and reading the checkpoint.
                store.verify(&Checkpoints::Last.into())?;
                numbered::pair(&store)?;
                thread::sleep(PAUSE);
            }
            let found = python.join();
            Ok(found.map_err(|_| "the thread that asks panicked")??)
        })?;
        let found = found.as_int().ok_or("Python found no number")?;
        found_by_python[usize::from(found % 2 == 0)] += 1;
    }
    let [of_ours, of_its_own] = found_by_python;
    println!(
        "{rounds} saves of Python's among {saves} of ours at once: whole whenever either read; \
         Python found its own {of_its_own} times and ours {of_ours} times"
    );
    Ok(())
}
