//! A writer that is killed, at every step of a save and at any moment, leaves the old save whole or
//! the new one.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use nnx_params::Checkpoints;
use nnx_run::{CheckpointStore, SaveStep};

use super::support::{checkpoint, number_of, number_of_state, training_state};

/// The settings of the killed process: the folder, the first number, and the step at which it
/// stops.
const ROOT: &str = "NNX_TESTS_KILLED_WRITER_ROOT";
const FROM: &str = "NNX_TESTS_KILLED_WRITER_FROM";
const STEP: &str = "NNX_TESTS_KILLED_WRITER_STEP";

/// Kills at any moment; `cargo xtask runs` makes more of them.
const KILLS: u64 = 40;

/// The process that gets killed; started as a test it does nothing.
#[test]
fn writer() {
    let Ok(root) = env::var(ROOT) else {
        return;
    };
    let from: i64 = env::var(FROM).unwrap().parse().unwrap();
    let stop = env::var(STEP).ok();
    let store = CheckpointStore::new("x", root)
        .unwrap()
        .on_step(move |step| {
            if stop.as_deref() == Some(&format!("{step:?}")) {
                std::process::abort();
            }
        });
    for number in from.. {
        save(&store, number);
        println!("saved {number}");
    }
}

/// A save of every third number is of weights alone.
fn save(store: &CheckpointStore, number: i64) {
    let state = (number % 3 != 0).then(|| training_state(number));
    let tag = Checkpoints::Last.into();
    store
        .save(&tag, &checkpoint(number), state.as_ref())
        .unwrap();
}

fn start(root: &Path, from: i64, step: Option<SaveStep>) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", "run::kill::writer", "--nocapture"])
        .env(ROOT, root)
        .env(FROM, from.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(step) = step {
        command.env(STEP, format!("{step:?}"));
    }
    command.spawn().unwrap()
}

/// The number of the save that is there, all of whose files belong together.
#[track_caller]
fn whole(store: &CheckpointStore) -> i64 {
    let tag = Checkpoints::Last.into();
    let manifest = store.verify(&tag).unwrap().unwrap();
    let (found, state) = store.load_with_training_state(&tag).unwrap();
    let number = number_of(&found.unwrap());
    assert_eq!(manifest.completed_epoch(), Some(number.into()));
    // A manifest that an interrupted save left counts for the ordinal of the next one.
    assert!(manifest.generation() >= Some(number.into()));
    match state {
        Some(state) => assert_eq!(number_of_state(&state), number),
        None => assert_eq!(number % 3, 0, "the training state of {number} is lost"),
    }
    number
}

#[test]
fn a_writer_that_stops_at_any_step_leaves_a_whole_save() {
    let (mut kills, mut old, mut new) = (0, 0, 0);
    // From a state to a state, to weights alone, and from those to a state again.
    for from in [1, 2, 3] {
        for step in SaveStep::ALL {
            let root = tempfile::tempdir().unwrap();
            let store = CheckpointStore::new("x", root.path()).unwrap();
            for number in 1..=from {
                save(&store, number);
            }
            let is_of_state = matches!(step, SaveStep::StateWritten | SaveStep::CopyWritten);
            if (from + 1) % 3 == 0 && is_of_state {
                continue;
            }
            let status = start(root.path(), from + 1, Some(step))
                .wait_with_output()
                .unwrap();
            assert!(!status.status.success());
            kills += 1;
            let steps = SaveStep::ALL.iter();
            let is_published = steps.skip_while(|it| **it != SaveStep::CheckpointPublished);
            let expected = if is_published.clone().any(|it| *it == step) {
                new += 1;
                from + 1
            } else {
                old += 1;
                from
            };
            assert_eq!(whole(&store), expected, "{step:?} from {from}");
            // The next save goes on from there.
            save(&store, expected + 1);
            assert_eq!(whole(&store), expected + 1, "{step:?} from {from}");
        }
    }
    println!("{kills} kills at every step: {old} times the old save whole, {new} times the new");
    assert_eq!(kills, 28);
}

#[test]
fn a_writer_that_is_killed_at_any_moment_leaves_a_whole_save() {
    let root = tempfile::tempdir().unwrap();
    let store = CheckpointStore::new("x", root.path()).unwrap();
    save(&store, 1);
    let (mut last, mut old) = (1, 0);
    for kill in 0..KILLS {
        let mut child = start(root.path(), last + 1, None);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut saved = Vec::new();
        for line in lines {
            let line = line.unwrap();
            // The harness of the tests writes to the same line.
            let Some((_, number)) = line.split_once("saved ") else {
                continue;
            };
            saved.push(number.trim().parse::<i64>().unwrap());
            if saved.len() == 1 {
                thread::sleep(Duration::from_micros(kill * 7919 % 20_000));
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        let told = *saved.last().unwrap();
        let found = whole(&store);
        assert!(found == told || found == told + 1, "{found} after {told}");
        old += usize::from(found == told);
        last = found;
    }
    println!(
        "{KILLS} kills at any moment, {last} saves: {old} times the old save whole, {} times the \
         new",
        KILLS - old as u64
    );
}
