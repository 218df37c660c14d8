//! Training a fixture again from its seed.

use std::path::Path;
use std::sync::{Arc, Mutex};

use nnx_net::{Batch, Generator, NNModel};
use nnx_params::{
    Labels, MonitorMode, MonitorSpec, NNCheckpointTransform, NNEvaluationDataPoint, NNModelParams,
    NNTrainParams, NNTrainerParams, NetParams, State, Value,
};
use nnx_run::HistoryJournal;
use nnx_tests::Json;
use nnx_train::{
    CausalLMTask, DataLoader, EarlyStopping, EvalContext, LRMonitor, Loader, LossTerm, Model,
    ModelCheckpoint, MoeStep, ObjectiveContext, ObjectiveResult, RecordField, Result,
    SupervisedObjective, TensorDataset, Trained, Training,
};

use super::fixture::Fixture;
use super::recorder::{Recorder, StopAt};
use super::spy::{Spy, SpyRows};

/// A fixture trained again.
pub(super) struct Seen {
    pub(super) trained: Trained,
    pub(super) model: Spy,
    pub(super) recorder: Recorder,
    pub(super) callbacks: SeenCallbacks,
    /// The rows asked for, batch by batch.
    pub(super) asked: Vec<Vec<usize>>,
    pub(super) init: Vec<(String, Vec<f32>)>,
}

/// The callbacks of a fixture.
#[derive(Default)]
pub(super) struct SeenCallbacks {
    pub(super) stopping: Option<EarlyStopping>,
    pub(super) rates: Option<LRMonitor>,
}

pub(super) fn model(fixture: &Fixture) -> Spy {
    let net = NetParams::resolve_from_state(&fixture.state("net").unwrap()).unwrap();
    let params = NNModelParams::from_state(&fixture.state("model").unwrap()).unwrap();
    let seed = fixture.side.get("init_seed").size() as u64;
    let transforms = match fixture.side.get("state").find("transforms") {
        None => Vec::new(),
        Some(list) => list.items(),
    };
    let transforms: Vec<_> = transforms
        .iter()
        .map(|json| match &json.0 {
            Value::Map(state) => NNCheckpointTransform::from_state(state).unwrap(),
            other => panic!("{other:?} is no transform"),
        })
        .collect();
    let mut model = NNModel::with_transforms(net, params, &transforms, seed).unwrap();
    let frozen = fixture.side.get("frozen").texts();
    if !frozen.is_empty() {
        let frozen: Vec<&str> = frozen.iter().map(String::as_str).collect();
        model.freeze(&frozen).unwrap();
    }
    Spy {
        model,
        passes: Vec::new(),
    }
}

/// The parameters of the training, which goes on from its source if it has one.
pub(super) fn train_state(fixture: &Fixture, part: &str) -> State {
    let mut state = fixture.state(part).unwrap();
    if let Some(parent) = state.remove("parent_run_id") {
        state.insert("resume_from_run_id", parent);
        let checkpoint = state.remove("parent_checkpoint").unwrap();
        state.insert("resume_from_checkpoint", checkpoint);
        let mode = fixture.side.get("resume").get("mode").text().to_owned();
        state.insert("resume_mode", mode);
    }
    state
}

/// The rows that a loader was asked for, batch by batch.
type AskedRows = Arc<Mutex<Vec<Vec<usize>>>>;

fn loader(fixture: &Fixture, split: &str) -> Option<(Box<dyn Loader>, AskedRows)> {
    let about = fixture.side.get("loader").find(split)?;
    let asked = Arc::new(Mutex::new(Vec::new()));
    if about.get("kind").text() == "list" {
        let seeds = fixture.side.find("seeds").map(|seeds| seeds.size());
        let batches: Vec<Batch> = (0..about.get("batches").size())
            .map(|at| {
                let part = |name: &str| fixture.find(&format!("{split}.{at}.{name}"));
                match part("edge_index") {
                    Some(edges) => Batch::new([part("x").unwrap(), edges], part("y").unwrap()),
                    None => Batch::new([part("0").unwrap()], part("1").unwrap()),
                }
                .seeds(seeds)
            })
            .collect();
        return Some((Box::new(batches), asked));
    }
    let inputs = fixture.tensor(&format!("{split}.0"));
    let targets = fixture
        .find(&format!("{split}.1"))
        .unwrap_or_else(|| inputs.clone());
    let rows = SpyRows {
        rows: TensorDataset::new([inputs], targets).unwrap(),
        asked: Arc::clone(&asked),
    };
    let is = |key: &str| about.get(key).0 == Value::Bool(true);
    let generator = about.find("generator_seed");
    let generator = generator.map(|seed| Generator::new(seed.size() as u64));
    let loader = DataLoader::builder(rows)
        .batch_size(about.get("batch_size").size())
        .shuffle(is("shuffle"))
        .drop_last(is("drop_last"))
        .generator(generator)
        .build()
        .unwrap();
    Some((Box::new(loader), asked))
}

/// Trains a fixture again below a root.
pub(super) fn train(fixture: &Fixture, root: &Path) -> Result<Seen> {
    let mut spy = model(fixture);
    let init = weights(&spy.model);
    prepare(fixture, &mut spy);
    let (train_loader, asked) = loader(fixture, "train").unwrap();
    let mut recorder = Recorder {
        by_event: has_objective(fixture),
        ..Recorder::default()
    };
    let mut callbacks = SeenCallbacks::default();
    let mut checkpoint = None;
    let mut stop = None;
    for callback in fixture.side.get("callbacks").items() {
        let Value::Map(entry) = &callback.0 else {
            panic!("{callback:?} is no callback");
        };
        let (kind, about) = entry.iter().next().unwrap();
        let about = Json(about.clone());
        match kind {
            "EarlyStopping" => callbacks.stopping = Some(stopping(&about)),
            "LRMonitor" => callbacks.rates = Some(LRMonitor::new()),
            "ModelCheckpoint" => {
                let epochs = about.get("epochs").items();
                let epochs = epochs.iter().map(|epoch| epoch.size() as i64);
                checkpoint = Some(ModelCheckpoint::new(epochs).tag(about.get("tag").text()));
            }
            "StopAt" => {
                let updates = fixture.side.get("stop_at_update").size() as i64;
                stop = Some(StopAt(updates));
            }
            other => panic!("an unknown callback {other}"),
        }
    }
    let trained = {
        let mut training = match fixture.side.get("state").find("trainer") {
            None => {
                let params = NNTrainParams::from_fields(&train_state(fixture, "train")).unwrap();
                Training::new(&mut spy, &params)
            }
            Some(_) => {
                let state = train_state(fixture, "trainer");
                let params = NNTrainerParams::from_fields(&state).unwrap();
                Training::with_optimizers(&mut spy, &params)
            }
        };
        training = training.train_loader(train_loader).root(root);
        if let Some((loader, _)) = loader(fixture, "val") {
            training = training.val_loader(loader);
        }
        if let Some(one) = &mut callbacks.stopping {
            training = training.callback(one);
        }
        if let Some(one) = &mut callbacks.rates {
            training = training.callback(one);
        }
        if let Some(one) = checkpoint {
            training = training.callback(one);
        }
        if let Some(one) = stop {
            training = training.callback(one);
        }
        if let Some(salt) = fixture.side.get("state").find("salt") {
            training = training.salt(salt.text());
        }
        special(fixture, training).callback(&mut recorder).run()?
    };
    let asked = asked.lock().unwrap().clone();
    Ok(Seen {
        trained,
        model: spy,
        recorder,
        callbacks,
        asked,
        init,
    })
}

fn has_objective(fixture: &Fixture) -> bool {
    ["ff_objective", "ff_trainer", "transformer_lm_task", "vit"].contains(&fixture.name.as_str())
}

/// The settings that only some fixtures have.
fn special<'a>(fixture: &Fixture, training: Training<'a>) -> Training<'a> {
    match fixture.name.as_str() {
        "ff_objective" | "ff_trainer" => training.objective(SupervisedObjective::new()),
        "moe_balanced" => training.step(MoeStep::new().weight(0.1)),
        "transformer_lm_task" => {
            let task = CausalLMTask::new(11).pad_id(0).smoothing(0.1);
            let training = training.objective(task.objective().unwrap());
            training.eval_step(task.eval_step().unwrap())
        }
        "vit" => training.objective(features).eval_step(feature_evaluation),
        "journal" => {
            let journal = HistoryJournal::builder().retention(6).chunk_size(4);
            training.history(journal.build().unwrap())
        }
        "ff_extra_metrics" => {
            let classes = |labels: &Labels| match labels {
                Labels::Classes(classes) => classes.clone(),
                other => panic!("{other:?} are no classes"),
            };
            training
                .extra_metric("n_right", move |truth, predicted| {
                    let (truth, predicted) = (classes(truth), classes(predicted));
                    let pairs = truth.iter().zip(&predicted);
                    pairs.filter(|(a, b)| a == b).count() as f64
                })
                .extra_metric("first", move |truth, _| classes(truth)[0] as f64)
        }
        _ => training,
    }
}

/// The squared error of a batch's features, and their number.
fn feature_error(
    model: &mut dyn Model,
    batch: &Batch,
    training: bool,
) -> Result<(candle_core::Tensor, usize)> {
    let output = model.outputs(batch, training)?;
    let difference = (&output.logits - &output.targets)?;
    Ok((difference.sqr()?.sum_all()?, difference.elem_count()))
}

fn features(ctx: &mut ObjectiveContext<'_>) -> Result<ObjectiveResult> {
    let batch = ctx.batch().clone();
    let (sum, count) = feature_error(ctx.model(), &batch, true)?;
    Ok(ObjectiveResult::new([LossTerm::mean(
        "features",
        &sum,
        count as f64,
    )?]))
}

fn feature_evaluation(ctx: &mut EvalContext<'_>) -> Result<NNEvaluationDataPoint> {
    let (mut total, mut all) = (0.0, 0);
    for batch in ctx.loader.pass(ctx.model.generator())? {
        let (sum, count) = feature_error(ctx.model, &batch?, false)?;
        total += f64::from(sum.to_scalar::<f32>()?);
        all += count;
    }
    Ok(NNEvaluationDataPoint::builder()
        .loss(total / all as f64)
        .build()?)
}

fn stopping(about: &Json) -> EarlyStopping {
    let mut stopping = EarlyStopping::new().patience(about.get("patience").size());
    match about.find("monitor").map(|monitor| monitor.0) {
        None => {}
        Some(Value::Map(state)) => {
            return stopping.monitor(MonitorSpec::from_state(&state).unwrap());
        }
        Some(Value::Str(field)) => stopping = stopping.field(field_of(&field)),
        Some(other) => panic!("{other:?} is no monitor"),
    }
    if about.get("mode").text() == "max" {
        stopping = stopping.mode(MonitorMode::Max);
    }
    stopping.min_delta(about.get("min_delta").float())
}

pub(super) fn field_of(name: &str) -> RecordField {
    [
        RecordField::ValError,
        RecordField::ValLoss,
        RecordField::TrainError,
        RecordField::TrainLoss,
    ]
    .into_iter()
    .find(|field| field.name() == name)
    .unwrap()
}

/// The signs of factors are free: a model whose factors differ by signs alone gets those of the
/// fixture.
fn prepare(fixture: &Fixture, spy: &mut Spy) {
    if fixture.name == "ff_low_rank" {
        spy.model
            .load_state_dict(&fixture.under("init."), true)
            .unwrap();
    }
}

pub(super) fn weights(model: &NNModel) -> Vec<(String, Vec<f32>)> {
    let parameters = model.net().parameters().iter();
    parameters
        .map(|(name, var)| {
            let values = var.flatten_all().unwrap().to_vec1().unwrap();
            (name.to_owned(), values)
        })
        .collect()
}
