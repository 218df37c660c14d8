//! Writers of one checkpoint wait for each other.

use std::fs::File;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nnx_params::Checkpoints;
use nnx_run::CheckpointStore;

use super::support::{checkpoint, number_of, number_of_state, training_state};

#[test]
fn a_save_waits_for_whoever_holds_the_lock_file() {
    let root = tempfile::tempdir().unwrap();
    let store = CheckpointStore::new("x", root.path()).unwrap();
    let tag = Checkpoints::Last.into();
    store
        .save(&tag, &checkpoint(1), Some(&training_state(1)))
        .unwrap();
    let lock = File::options()
        .write(true)
        .open(root.path().join("runs/x/checkpoints/last.pt.lock"))
        .unwrap();
    lock.lock().unwrap();
    let (done, waited) = mpsc::channel();
    let writer = store.clone();
    let thread = thread::spawn(move || {
        let tag = Checkpoints::Last.into();
        writer
            .save(&tag, &checkpoint(2), Some(&training_state(2)))
            .unwrap();
        writer.verify(&tag).unwrap();
        done.send(()).unwrap();
    });
    assert!(waited.recv_timeout(Duration::from_millis(200)).is_err());
    // Weights can be read meanwhile.
    assert_eq!(number_of(&store.load(&tag).unwrap().unwrap()), 1);
    lock.unlock().unwrap();
    waited.recv_timeout(Duration::from_secs(60)).unwrap();
    thread.join().unwrap();
    assert_eq!(number_of(&store.load(&tag).unwrap().unwrap()), 2);
}

#[test]
fn threads_that_save_and_read_see_whole_saves() {
    let root = tempfile::tempdir().unwrap();
    let store = CheckpointStore::new("x", root.path()).unwrap();
    thread::scope(|scope| {
        for writer in 0..2 {
            let store = store.clone();
            scope.spawn(move || {
                for round in 0..20 {
                    let number = round * 2 + writer;
                    let state = training_state(number);
                    let tag = Checkpoints::Last.into();
                    store.save(&tag, &checkpoint(number), Some(&state)).unwrap();
                }
            });
        }
        let store = store.clone();
        scope.spawn(move || {
            for _ in 0..40 {
                let tag = Checkpoints::Last.into();
                let (found, state) = store.load_with_training_state(&tag).unwrap();
                if let Some(found) = found {
                    assert_eq!(number_of(&found), number_of_state(&state.unwrap()));
                }
                store.verify(&tag).unwrap();
            }
        });
    });
    let manifest = store.verify(&Checkpoints::Last.into()).unwrap().unwrap();
    assert_eq!(manifest.generation(), Some(40));
}
