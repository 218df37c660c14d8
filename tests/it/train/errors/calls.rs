//! The calls.

use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use nnx_net::{Batch, Generator, NNModel};
use nnx_params::{NNModelParams, NNTrainParams, NetParams, State, Value, python_text::json_loads};
use nnx_run::{Data, HistoryJournal};
use nnx_train::{
    Component, ComponentSpec, ComponentVersion, DataLoader, EachEpoch, EarlyStopping, Loader,
    ModelCheckpoint, Pass, RecordField, Result, StepContext, SupervisedObjective, TensorDataset,
    Training,
};

use crate::train::fixture::Fixture;

/// The error of a call.
pub(super) struct Failure {
    pub(super) name: String,
    pub(super) text: String,
}

impl From<nnx_train::Error> for Failure {
    fn from(error: nnx_train::Error) -> Self {
        Self {
            name: error.name().to_owned(),
            text: error.to_string(),
        }
    }
}

impl From<nnx_net::Error> for Failure {
    fn from(error: nnx_net::Error) -> Self {
        nnx_train::Error::from(error).into()
    }
}

impl From<nnx_params::Error> for Failure {
    fn from(error: nnx_params::Error) -> Self {
        nnx_train::Error::from(error).into()
    }
}

/// A call: its changes of the default one.
struct Call {
    root: PathBuf,
    net: State,
    model: State,
    train: State,
    freeze: Vec<&'static str>,
    loader: Option<Box<dyn Loader>>,
    val_loader: Option<Box<dyn Loader>>,
    generator: Option<u64>,
    callbacks: Vec<Box<dyn nnx_train::Callback>>,
    counters: usize,
    step: bool,
    objective: bool,
    salt: Option<&'static str>,
    journal: bool,
}

fn state(json: &str) -> State {
    match json_loads(json).unwrap() {
        Value::Map(state) => state,
        other => panic!("{other:?} is no mapping"),
    }
}

const ADAM: &str =
    r#"{"name": "adam", "max_lr": 0.01, "momentum": "(0.9, 0.999)", "weight_decay": 5e-05}"#;
const PLATEAU: &str =
    r#""min_lr": 1e-07, "factor": 0.95, "patience": 8, "cooldown": 2, "threshold": 0.001"#;

impl Call {
    fn new(root: &Path) -> Self {
        let mut train = state(r#"{"n_epochs": 2, "seed": 0}"#);
        train.insert("optim", state(ADAM));
        train.insert("scheduler", state(&format!("{{{PLATEAU}}}")));
        let data = Fixture::read("ff_adam_default");
        Self {
            root: root.to_owned(),
            net: data.state("net").unwrap(),
            model: data.state("model").unwrap(),
            train,
            freeze: Vec::new(),
            loader: None,
            val_loader: Some(rows(&data, "val", 5, false, None)),
            generator: None,
            callbacks: Vec::new(),
            counters: 0,
            step: false,
            objective: false,
            salt: None,
            journal: false,
        }
    }

    fn optim(mut self, json: &str) -> Self {
        self.train.insert("optim", state(json));
        self
    }

    fn schedule(mut self, more: &str) -> Self {
        // A key that is given twice has its last value.
        let mut schedule = state(&format!("{{{PLATEAU}}}"));
        schedule.extend(state(&format!("{{{more}}}")));
        self.train.insert("scheduler", schedule);
        self
    }

    fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.train.insert(key, value);
        self
    }

    fn list(mut self, key: &str, json: &str) -> Self {
        self.train.insert(key, json_loads(json).unwrap());
        self
    }

    fn batches(mut self, batches: Vec<Batch>) -> Self {
        self.loader = Some(Box::new(batches));
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Trains, and gives the id of the run.
    fn run(self) -> std::result::Result<String, Failure> {
        let net = NetParams::resolve_from_state(&self.net)?;
        let model = NNModelParams::from_state(&self.model)?;
        let mut model = NNModel::new(net, model, 0)?;
        if !self.freeze.is_empty() {
            model.freeze(&self.freeze)?;
        }
        let params = NNTrainParams::from_fields(&self.train)?;
        let data = Fixture::read("ff_adam_default");
        let loader = self
            .loader
            .unwrap_or_else(|| rows(&data, "train", 8, true, self.generator));
        let mut training = Training::new(&mut model, &params)
            .train_loader(loader)
            .root(self.root);
        if let Some(loader) = self.val_loader {
            training = training.val_loader(loader);
        }
        for callback in self.callbacks {
            training = training.callback(callback);
        }
        for _ in 0..self.counters {
            training = training.component(Counter);
        }
        if self.step {
            training = training.step(|_: &mut StepContext<'_>| {
                Ok(nnx_params::NNEvaluationDataPoint::builder().build()?)
            });
        }
        if self.objective {
            training = training.objective(SupervisedObjective::new());
        }
        if let Some(salt) = self.salt {
            training = training.salt(salt);
        }
        if self.journal {
            training = training.history(HistoryJournal::default());
        }
        Ok(training.run()?.run.id().to_owned())
    }
}

fn rows(
    data: &Fixture,
    split: &str,
    size: usize,
    shuffle: bool,
    generator: Option<u64>,
) -> Box<dyn Loader> {
    let inputs = data.tensor(&format!("{split}.0"));
    let targets = data.tensor(&format!("{split}.1"));
    let rows = TensorDataset::new([inputs], targets).unwrap();
    let loader = DataLoader::builder(rows)
        .batch_size(size)
        .shuffle(shuffle)
        .generator(generator.map(Generator::new));
    Box::new(loader.build().unwrap())
}

/// Four rows of one number, with these targets.
fn batch(value: f32, targets: [i64; 4]) -> Batch {
    let inputs = Tensor::full(value, (4, 4), &Device::Cpu).unwrap();
    Batch::new([inputs], Tensor::new(&targets, &Device::Cpu).unwrap())
}

/// One batch, the first time only.
struct Once(bool);

impl Loader for Once {
    fn pass(&mut self, _: &mut Generator) -> Result<Pass<'_>> {
        let is_first = std::mem::take(&mut self.0);
        let batches = is_first.then(|| Ok(batch(0.5, [0, 1, 2, 0])));
        Ok(Box::new(batches.into_iter()))
    }

    fn batches(&self) -> Option<usize> {
        None
    }
}

/// One batch each time, but nobody knows how many.
struct Endless;

impl Loader for Endless {
    fn pass(&mut self, _: &mut Generator) -> Result<Pass<'_>> {
        Ok(Box::new(std::iter::once(Ok(batch(0.5, [0, 1, 2, 0])))))
    }

    fn batches(&self) -> Option<usize> {
        None
    }
}

struct Counter;

impl Component for Counter {
    fn component_spec(&self) -> ComponentSpec {
        ComponentSpec::new("counter")
    }

    fn component_state(&self) -> Data {
        Data::dict([("n", Data::Int(0))])
    }

    fn load_component_state(&mut self, _: &Data, _: ComponentVersion) -> Result<()> {
        Ok(())
    }
}

fn vit(call: &mut Call) {
    call.net = Fixture::read("vit").state("net").unwrap();
    call.net.insert("attn_dropout", 0.0);
    call.net.insert("resid_dropout", 0.0);
    call.model.insert("net", "vit");
    call.model.insert("loss", "mean_squared_error");
    let inputs = Tensor::zeros((8, 3, 4, 4), DType::F32, &Device::Cpu).unwrap();
    let targets = Tensor::zeros((8, 5, 8), DType::F32, &Device::Cpu).unwrap();
    call.loader = Some(Box::new(vec![Batch::new([inputs], targets)]));
    call.val_loader = None;
}

/// A call of that name.
#[expect(clippy::too_many_lines, reason = "one line for each call")]
pub(super) fn call(name: &str, root: &Path) -> std::result::Result<(), Failure> {
    let new = || Call::new(root);
    let sgd = |momentum: &str, lr: &str| {
        format!(
            r#"{{"name": "sgd", "max_lr": {lr}, "momentum": "{momentum}", "weight_decay": 0.0}}"#
        )
    };
    let one_cycle = |more: &str| new().schedule(&format!(r#""kind": "one_cycle"{more}"#));
    let planned = |call: Call| call.set("resume_epochs", "planned");
    // Trains the first, and then the second from it.
    let resumed = |first: Call, second: Call| -> std::result::Result<String, Failure> {
        let id = first.run()?;
        second.set("resume_from_run_id", id).run()
    };
    let stopping =
        |stopping: EarlyStopping| new().with(|call| call.callbacks.push(Box::new(stopping)));
    let checkpointing =
        || new().with(|call| call.callbacks.push(Box::new(ModelCheckpoint::new([0]))));
    let groups = r#"{"name": "adam", "max_lr": 0.01, "momentum": "(0.9, 0.999)", "weight_decay": 5e-05, "param_groups": [{"name_pattern": "layers.0.*"}]}"#;
    let result = match name {
        "no train_loader" => {
            let net = NetParams::resolve_from_state(&new().net)?;
            let mut model = NNModel::new(net, NNModelParams::from_state(&new().model)?, 0)?;
            let params = NNTrainParams::from_fields(&new().train)?;
            return Ok(Training::new(&mut model, &params)
                .root(root)
                .run()
                .map(|_| ())?);
        }
        "int momentum for SGD" => new().optim(&sgd("0", "0.1")).run(),
        "one number as momentum for Adam" => {
            new().optim(&sgd("0.9", "0.1").replace("sgd", "adam")).run()
        }
        "everything frozen" => new().with(|call| call.freeze.push("*")).run(),
        "Nesterov without momentum" => new()
            .optim(&sgd("0.0", "0.1").replace("sgd", "sgd_nesterov"))
            .run(),
        "param_groups that match only frozen parameters" => new()
            .optim(groups)
            .with(|call| call.freeze.push("layers.0.*"))
            .run(),
        "the run exists" => new().run().and_then(|_| new().run()),
        "the run exists, overwrite_existing" => new()
            .run()
            .and_then(|_| new().set("overwrite_existing", true).run()),
        "a loader without batches" => new().batches(Vec::new()).run(),
        "a one-shot iterator" => new()
            .with(|call| call.loader = Some(Box::new(Once(true))))
            .run(),
        "an empty validation loader" => new()
            .with(|call| call.val_loader = Some(Box::new(Vec::<Batch>::new())))
            .run(),
        "a loss that is not finite" => new()
            .batches(vec![batch(f32::INFINITY, [0, 1, 2, 0])])
            .run(),
        "a whole window of ignored targets" => new().batches(vec![batch(0.5, [-100; 4])]).run(),
        "a learning rate that diverges" => {
            new().optim(&sgd("0.9", "1e30")).set("n_epochs", 5).run()
        }
        "plateau factor 1" => new().schedule(r#""factor": 1.0"#).run(),
        "total_steps below n_epochs" => one_cycle(r#", "total_steps": 1"#).run(),
        "update clock without a length" => one_cycle(r#", "clock": "optimizer_update""#)
            .with(|call| call.loader = Some(Box::new(Endless)))
            .run(),
        "update clock runs past total_steps" => {
            one_cycle(r#", "clock": "optimizer_update", "total_steps": 9"#).run()
        }
        "both step and objective" => new()
            .with(|call| {
                call.step = true;
                call.objective = true;
            })
            .run(),
        "a blank salt" => new().with(|call| call.salt = Some(" ")).run(),
        "a monitor of validation without a validation loader" => new()
            .list("monitor", r#"{"metric": "loss"}"#)
            .with(|call| call.val_loader = None)
            .run(),
        "a metric that is not registered" => new().list("metrics", r#"[{"id": "nope"}]"#).run(),
        "a metric the loss cannot feed" => new().list("metrics", r#"[{"id": "mae"}]"#).run(),
        "f1 binary with three classes" => new()
            .list(
                "metrics",
                r#"[{"id": "f1", "config": {"average": "binary"}}]"#,
            )
            .run(),
        "resume_epochs planned without a source" => planned(new()).run(),
        "a source that is not there" => new().set("resume_from_run_id", "0".repeat(32)).run(),
        "a resume tag that does not exist" => new()
            .set("resume_from_run_id", "0".repeat(32))
            .set("resume_from_checkpoint", "LAST")
            .run(),
        "resume into another optimizer" => resumed(new(), new().optim(&sgd("0.9", "0.01"))),
        "resume Adam into AdamW" => {
            resumed(new(), new().optim(&ADAM.replace("\"adam\"", "\"adamw\"")))
        }
        "resume Adam into AMSGrad (one class)" => resumed(
            new(),
            new().optim(&ADAM.replace("\"adam\"", "\"adam_amsgrad\"")),
        ),
        "resume into another scheduler" => resumed(new(), new().schedule(r#""kind": "step""#)),
        "resume with other plateau thresholds" => {
            resumed(new(), new().schedule(r#""threshold": 0.5"#))
        }
        "resume with other parameter groups" => resumed(new(), new().optim(groups)),
        "resume ONE_CYCLE without total_steps" => resumed(one_cycle(""), one_cycle("")),
        "resume ONE_CYCLE past its horizon" => {
            let steps = r#", "total_steps": 3"#;
            resumed(one_cycle(steps), one_cycle(steps))
        }
        "planned resume of a finished plan" => resumed(new(), planned(new())),
        "planned resume with another n_epochs" => resumed(new(), planned(new()).set("n_epochs", 5)),
        "resume into bf16" => resumed(
            new(),
            new().with(|call| {
                call.model.insert("precision", state(r#"{"mode": "bf16"}"#));
            }),
        ),
        "resume without the stopper of the source (optional)" => {
            resumed(stopping(EarlyStopping::new()), new())
        }
        "resume a stopper with another monitor" => resumed(
            stopping(EarlyStopping::new()),
            stopping(EarlyStopping::new().field(RecordField::ValLoss)),
        ),
        "resume without a required component" => {
            resumed(new().with(|call| call.counters = 1), new())
        }
        "resume with a required component that the source had not" => {
            resumed(new(), new().with(|call| call.counters = 1))
        }
        "two components of one name" => new().with(|call| call.counters = 2).run(),
        "a loader with a generator, resumed without" => {
            resumed(new().with(|call| call.generator = Some(3)), new())
        }
        "stateful resume of a ModelCheckpoint file" => resumed(
            checkpointing(),
            new()
                .set("resume_from_checkpoint", "custom_e0")
                .set("resume_mode", "stateful"),
        ),
        "automatic resume of a ModelCheckpoint file" => resumed(
            checkpointing(),
            new().set("resume_from_checkpoint", "custom_e0"),
        ),
        "resume into another shape" => resumed(
            new(),
            new().with(|call| {
                call.net.insert("hidden_dims", "[8]");
            }),
        ),
        "a plain function with a journal" => new()
            .with(|call| {
                call.journal = true;
                call.callbacks.push(Box::new(EachEpoch(|_: &[_]| {})));
            })
            .run(),
        "VIT with the default step" => new().with(vit).run(),
        "VIT with a task" => new()
            .with(vit)
            .with(|call| {
                call.model
                    .insert("task", state(r#"{"version": 1, "kind": "regression"}"#));
            })
            .run(),
        "fp16 on the CPU" => new()
            .with(|call| {
                call.model.insert("precision", state(r#"{"mode": "fp16"}"#));
            })
            .run(),
        other => panic!("an unknown call {other}"),
    };
    result.map(|_| ())
}
