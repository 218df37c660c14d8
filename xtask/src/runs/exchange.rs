//! Each side opens and judges the other's training, and resumes it.

use std::path::Path;

use nnx_params::{Checkpoints, Value, python_text};
use nnx_run::{Algorithm, CheckpointStore, CheckpointTag, NNRun};

use super::python::{Python, path};
use super::sample_run;
use super::texts::{member, text, with_floats};
use crate::Result;

/// The optimizers that Python trains with, with the class of each and the expected algorithm.
const OPTIMIZERS: [(&str, Algorithm); 6] = [
    ("adam", Algorithm::Adam),
    ("amsgrad", Algorithm::AmsGrad),
    ("adamw", Algorithm::AdamW),
    ("sgd", Algorithm::Sgd),
    ("sgd_momentum", Algorithm::Sgd),
    ("sgd_nesterov", Algorithm::SgdNesterov),
];

pub(super) fn judge(python: &mut Python) -> Result<()> {
    let root = tempfile::tempdir()?;
    let root = root.path();
    for (name, algorithm) in OPTIMIZERS {
        let trained = python.ask(
            "train",
            [
                ("root", path(root)),
                ("optim", name.into()),
                ("n_epochs", 8.into()),
                ("salt", name.into()),
            ],
        )?;
        let points = opened(root, &trained, algorithm)?;
        println!("trained by NNx with {name}: opened, {points} checkpoints with all 24 keys");
    }

    for (name, algorithm) in OPTIMIZERS {
        let run = sample_run::save(root, name, algorithm)?;
        let found = python.ask("loaded", [("root", path(root)), ("run", run.id().into())])?;
        if member(&found, "same_text")? != &Value::Bool(true) {
            return Err(format!("NNx would write another `run.yaml` for {name}").into());
        }
        let points = opened(root, &found, algorithm)?;
        let child = python.ask(
            "resume",
            [
                ("root", path(root)),
                ("optim", name.into()),
                ("run", run.id().into()),
                ("n_epochs", 2.into()),
                ("salt", format!("on from {name}").into()),
            ],
        )?;
        let status = member(&child, "status")?;
        if text(status, "mode")? != "stateful" || text(status, "source_run_id")? != run.id() {
            return Err(format!("NNx did not go on from {name}: {status:?}").into());
        }
        opened(root, &child, algorithm)?;
        went_on(root, &child)?;
        println!(
            "saved here with {name}: {points} checkpoints that NNx verifies; it went on for 2 \
             epochs, and what it saved was opened again"
        );
    }
    let best = NNRun::best_id(root)?.ok_or("there is no best run")?;
    let run = NNRun::load(&best, root)?;
    let found = python.ask("loaded", [("root", path(root)), ("run", run.id().into())])?;
    if text(&found, "best")? == best {
        Ok(())
    } else {
        Err("the two sides name different best runs".into())
    }
}

/// Compares a run with Python's description of it; returns the number of its checkpoints.
fn opened(root: &Path, answer: &Value, algorithm: Algorithm) -> Result<usize> {
    let answer = with_floats(answer);
    let run = NNRun::load(text(&answer, "id")?, root)?;
    same("state", &run.state()?.into(), member(&answer, "state")?)?;
    let idps = run.idps().iter().map(|idp| Value::from(idp.state()));
    same(
        "idps",
        &Value::List(idps.collect()),
        member(&answer, "idps")?,
    )?;
    series(&run, member(&answer, "series")?)?;

    let store = run.store(root)?;
    let points = member(&answer, "points")?.as_map().ok_or("a mapping")?;
    let mut tags: Vec<String> = store.tags()?.iter().map(ToString::to_string).collect();
    let mut expected: Vec<&str> = points.keys().collect();
    tags.sort();
    expected.sort_unstable();
    if tags != expected {
        return Err(format!("{tags:?} are there, Python names {expected:?}").into());
    }
    for (tag, point) in points {
        checkpoint(&store, &tag.parse()?, point, algorithm)
            .map_err(|error| format!("{tag} of {run}: {error}"))?;
    }
    Ok(points.len())
}

/// One checkpoint and its training state.
fn checkpoint(
    store: &CheckpointStore,
    tag: &CheckpointTag,
    answer: &Value,
    algorithm: Algorithm,
) -> Result<()> {
    let manifest = store.verify(tag)?.ok_or("there is no manifest")?;
    let (found, state) = store.load_with_training_state(tag)?;
    let found = found.ok_or("there is no checkpoint")?;
    let state = state.ok_or("there is no training state")?;
    same(
        "epoch",
        &found.idp.epoch_idx().into(),
        member(answer, "epoch")?,
    )?;
    let generation = manifest.generation();
    same(
        "generation",
        &generation.into(),
        member(answer, "generation")?,
    )?;
    let keys: Vec<&str> = state.keys().collect();
    same("keys", &keys.clone().into(), member(answer, "keys")?)?;
    if keys.len() != 24 || state.generation() != generation {
        return Err("24 keys and the manifest's ordinal are expected".into());
    }
    let optimizer = state.optimizer()?.ok_or("there is no optimizer")?;
    if optimizer.algorithm() != Some(algorithm) {
        return Err(format!("{:?} is no {algorithm:?}", optimizer.algorithm()).into());
    }
    same(
        "class",
        &optimizer.class().map(Value::from).into(),
        member(answer, "class")?,
    )?;
    let parameters = || {
        optimizer
            .groups()
            .iter()
            .flat_map(|group| group.parameters())
    };
    let names = parameters()
        .filter_map(|parameter| parameter.name())
        .map(Value::from);
    same(
        "names",
        &Value::List(names.collect()),
        member(answer, "names")?,
    )?;
    let slots = member(answer, "slots")?.as_map().ok_or("a mapping")?;
    for parameter in parameters() {
        let name = parameter.name().ok_or("a parameter has a name")?;
        let Some(answer) = slots.get(name).and_then(Value::as_map) else {
            match parameter.slot_names().next() {
                Some(slot) => return Err(format!("`{slot}` of `{name}` is none").into()),
                None => continue,
            }
        };
        let found: Vec<&str> = parameter.slot_names().collect();
        if found != answer.keys().collect::<Vec<_>>() {
            return Err(format!("`{name}` has {found:?}").into());
        }
        for (slot, answer) in answer {
            let value = match parameter.slot(slot) {
                Some(nnx_run::Data::Tensor(tensor)) => Value::List(floats(tensor)?),
                Some(value) => value.to_value().ok_or("plain data")?,
                None => Value::None,
            };
            same(slot, &value, answer)?;
        }
    }
    let counters = state.counters().ok_or("there are no counters")?;
    let counters = [
        ("global_step", counters.global_step),
        ("committed_updates", counters.committed_updates),
        ("planned_n_epochs", counters.planned_n_epochs),
    ];
    same(
        "counters",
        &Value::Map(counters.into_iter().collect()),
        member(answer, "counters")?,
    )
}

fn floats(tensor: &nnx_checkpoint::Tensor) -> Result<Vec<Value>> {
    let bytes = tensor.to_bytes()?;
    let (floats, _) = bytes.as_chunks::<4>();
    Ok(floats
        .iter()
        .map(|bytes| Value::Float(f32::from_le_bytes(*bytes).into()))
        .collect())
}

/// Compares the series of NNx's chart with the metrics of each epoch.
fn series(run: &NNRun, answer: &Value) -> Result<()> {
    let epochs = run.epochs();
    let numbers = epochs.iter().map(|epoch| Value::from(epoch.epoch));
    same(
        "epochs",
        &Value::List(numbers.collect()),
        member(answer, "epochs")?,
    )?;
    type Of = fn(&nnx_run::EpochMetrics) -> Option<f64>;
    let series: [(&str, Of); 5] = [
        ("train_loss", |epoch| epoch.train_loss),
        ("train_err", |epoch| epoch.train_error),
        ("val_loss", |epoch| epoch.val_loss),
        ("val_err", |epoch| epoch.val_error),
        ("monitor", |epoch| epoch.monitor),
    ];
    for (name, of) in series {
        let values = epochs
            .iter()
            .map(|epoch| Value::Float(of(epoch).unwrap_or(f64::NAN)));
        same(name, &Value::List(values.collect()), member(answer, name)?)?;
    }
    Ok(())
}

/// Whether the last epoch of a resumed training counts on from the one that it came from.
fn went_on(root: &Path, answer: &Value) -> Result<()> {
    let run = NNRun::load(text(answer, "id")?, root)?;
    let store = run.store(root)?;
    let state = store.load_training_state(&Checkpoints::Last.into())?;
    let state = state.ok_or("there is no training state")?;
    let first = run.idps().first().and_then(|idp| idp.epoch_idx().as_i64());
    if first != Some(sample_run::EPOCHS)
        || state.completed_epoch() != Some((sample_run::EPOCHS + 1).into())
    {
        return Err(format!("the epochs begin with {first:?}").into());
    }
    let optimizer = state.optimizer()?.ok_or("there is no optimizer")?;
    for group in optimizer.groups() {
        for parameter in group.parameters() {
            // Three batches an epoch, two epochs.
            let expected = (sample_run::STEPS + 6) as f64;
            if parameter.step().is_some_and(|step| step != expected) {
                return Err(format!("{:?} updates, not {expected}", parameter.step()).into());
            }
        }
    }
    Ok(())
}

fn same(what: &str, ours: &Value, theirs: &Value) -> Result<()> {
    let [ours, theirs] = [ours, theirs].map(python_text::repr);
    if ours == theirs {
        Ok(())
    } else {
        Err(format!("`{what}`: ours is {ours}, Python's is {theirs}").into())
    }
}
