//! Ending a training from outside.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nnx_net::Batch;
use nnx_params::{Checkpoints, NNTrainParams};
use nnx_run::{HistoryJournal, NNRun};
use nnx_train::{Callback, Context, DataLoader, Result, TensorDataset, Trained, Training};

use super::fixture::Fixture;
use super::setup::{model, train_state};

/// Sets a flag at an update, as another thread would at Ctrl-C.
struct SetAt(i64, Arc<AtomicBool>);

impl Callback for SetAt {
    fn on_update(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        if ctx.committed_updates() == self.0 {
            self.1.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Trains three epochs of five batches into a folder, interrupted at an update.
fn interrupted(root: &Path, update: i64) -> Trained {
    let fixture = Fixture::read("ff_adam_default");
    let mut spy = model(&fixture);
    let rows = TensorDataset::new([fixture.tensor("train.0")], fixture.tensor("train.1")).unwrap();
    let loader = DataLoader::builder(rows)
        .batch_size(8)
        .shuffle(true)
        .build()
        .unwrap();
    let flag = Arc::new(AtomicBool::new(false));
    let mut state = train_state(&fixture, "train");
    state.insert("overwrite_existing", true);
    let params = NNTrainParams::from_fields(&state).unwrap();
    Training::new(&mut spy, &params)
        .train_loader(loader)
        .callback(SetAt(update, Arc::clone(&flag)))
        .interrupt(flag)
        .root(root)
        .run()
        .unwrap()
}

/// The epoch of the checkpoint `last`, and the number of records.
fn interrupted_at(update: i64) -> (Option<i64>, usize) {
    let root = tempfile::tempdir().unwrap();
    let trained = interrupted(root.path(), update);
    assert!(trained.interrupted);
    assert_eq!(trained.updates, update);
    let run = NNRun::load(trained.run.id(), root.path()).unwrap();
    assert_eq!(run.idps().len(), trained.run.idps().len());
    assert_eq!(run.warnings().count(), 0);
    let store = run.store(root.path()).unwrap();
    let last = Checkpoints::Last.into();
    store.verify(&last).unwrap();
    let epoch = store
        .load(&last)
        .unwrap()
        .and_then(|last| last.idp.epoch_idx().as_i64());
    assert_eq!(epoch, trained.last_epoch);
    (epoch, run.idps().len())
}

#[test]
fn an_interrupted_training_leaves_its_last_whole_epoch() {
    assert_eq!(interrupted_at(3), (None, 0));
    assert_eq!(interrupted_at(5), (Some(0), 5));
    assert_eq!(interrupted_at(8), (Some(0), 5));
    assert_eq!(interrupted_at(10), (Some(1), 10));
}

#[test]
fn a_training_that_saved_no_epoch_overwrites_nothing() {
    let root = tempfile::tempdir().unwrap();
    let first = interrupted(root.path(), 8);
    let second = interrupted(root.path(), 3);
    assert_eq!(second.last_epoch, None);
    assert!(second.run.idps().is_empty());
    assert_eq!(second.run.id(), first.run.id());
    let kept = NNRun::load(first.run.id(), root.path()).unwrap();
    assert_eq!(kept.idps().len(), 5);
    kept.store(root.path())
        .unwrap()
        .verify(&Checkpoints::Last.into())
        .unwrap();
    let third = interrupted(root.path(), 10);
    let replaced = NNRun::load(third.run.id(), root.path()).unwrap();
    assert_eq!(replaced.idps().len(), 10);
}

#[test]
fn a_run_with_a_journal_is_overwritten() {
    let fixture = Fixture::read("ff_adam_default");
    let root = tempfile::tempdir().unwrap();
    let train = || {
        let mut spy = model(&fixture);
        let mut state = train_state(&fixture, "train");
        state.insert("overwrite_existing", true);
        let params = NNTrainParams::from_fields(&state).unwrap();
        let batch = Batch::new([fixture.tensor("train.0")], fixture.tensor("train.1"));
        let training = Training::new(&mut spy, &params).train_loader(vec![batch]);
        let training = training.history(HistoryJournal::default());
        training.root(root.path()).run().unwrap().run
    };
    let first = train();
    let again = train();
    assert_eq!(again.id(), first.id());
    let run = NNRun::load(again.id(), root.path()).unwrap();
    assert_eq!(run.warnings().count(), 0);
    assert_eq!(run.idps().len(), 3);
}
