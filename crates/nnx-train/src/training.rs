//! Configuring a training, and running it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nnx_net::EvaluateOptions;
use nnx_params::{Labels, NNTrainParams, NNTrainerParams};
use nnx_run::HistoryJournal;

use crate::callback::Callback;
use crate::component::Component;
use crate::error::Result;
use crate::eval_step::EvalStep;
use crate::live::Callbacks;
use crate::loader::Loader;
use crate::model::Model;
use crate::objective::Objective;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::train_step::TrainStep;
use crate::trained::Trained;

/// A training that is configured, and then [run](Self::run).
///
/// ```
/// use candle_core::{Device, Tensor};
/// use nnx_net::{Batch, NNModel};
/// use nnx_params::{NNModelParams, NNParams, NNTrainParams, Nets};
/// use nnx_train::Training;
///
/// let net = NNParams::builder(2, 2).dropout_prob(0.0).build()?;
/// let params = NNModelParams::builder(Nets::FeedFwd).build()?;
/// let mut model = NNModel::new(net.into(), params, 0)?;
/// let inputs = Tensor::new(&[[1_f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let batches = vec![Batch::new([inputs], Tensor::new(&[0_i64, 1], &Device::Cpu)?)];
///
/// let root = tempfile::tempdir()?;
/// let trained = Training::new(&mut model, &NNTrainParams::builder(3).seed(0).build()?)
///     .train_loader(batches)
///     .root(root.path())
///     .run()?;
/// assert_eq!(trained.run.idps().len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct Training<'a> {
    pub(crate) model: &'a mut (dyn Model + 'a),
    pub(crate) settings: Result<Settings>,
    pub(crate) train_loader: Option<Box<dyn Loader + 'a>>,
    pub(crate) val_loader: Option<Box<dyn Loader + 'a>>,
    pub(crate) callbacks: Callbacks<'a>,
    pub(crate) components: Vec<Box<dyn Component + 'a>>,
    pub(crate) step: Option<Box<dyn TrainStep + 'a>>,
    pub(crate) eval_step: Option<Box<dyn EvalStep + 'a>>,
    pub(crate) objective: Option<Box<dyn Objective + 'a>>,
    pub(crate) options: EvaluateOptions<'a>,
    pub(crate) history: Option<HistoryJournal>,
    pub(crate) salt: Option<String>,
    pub(crate) root: PathBuf,
    pub(crate) progress: Option<Box<dyn Progress + 'a>>,
    pub(crate) interrupt: Option<Arc<AtomicBool>>,
}

impl<'a> Training<'a> {
    /// A training of a model with one optimizer: NNx's `NNModel.train`.
    pub fn new(model: &'a mut (impl Model + 'a), params: &NNTrainParams) -> Self {
        Self::with_settings(model, Settings::from_train_params(params))
    }

    /// A training of a model with several optimizers, each of its own parameters: NNx's
    /// `Trainer.train`. It needs a [`step`](Self::step) or an [`objective`](Self::objective).
    pub fn with_optimizers(model: &'a mut (impl Model + 'a), params: &NNTrainerParams) -> Self {
        Self::with_settings(model, Settings::from_trainer_params(params))
    }

    fn with_settings(model: &'a mut (impl Model + 'a), settings: Result<Settings>) -> Self {
        Self {
            model,
            settings,
            train_loader: None,
            val_loader: None,
            callbacks: Callbacks::default(),
            components: Vec::new(),
            step: None,
            eval_step: None,
            objective: None,
            options: EvaluateOptions::new(),
            history: None,
            salt: None,
            root: PathBuf::from("."),
            progress: None,
            interrupt: None,
        }
    }

    /// Sets the data. It is required.
    pub fn train_loader(mut self, loader: impl Loader + 'a) -> Self {
        self.train_loader = Some(Box::new(loader));
        self
    }

    /// Sets the data of the validation after each epoch. Default: none.
    pub fn val_loader(mut self, loader: impl Loader + 'a) -> Self {
        self.val_loader = Some(Box::new(loader));
        self
    }

    /// Adds a callback.
    pub fn callback(mut self, callback: impl Callback + 'a) -> Self {
        self.callbacks.list.push(Box::new(callback));
        self
    }

    /// Adds a component whose state travels with the checkpoints. Callbacks, steps and objectives that
    /// are components are among them already.
    pub fn component(mut self, component: impl Component + 'a) -> Self {
        self.components.push(Box::new(component));
        self
    }

    /// Sets the step of a batch. Default: [`default_train_step`](crate::default_train_step).
    pub fn step(mut self, step: impl TrainStep + 'a) -> Self {
        self.step = Some(Box::new(step));
        self
    }

    /// Sets the validation of an epoch. Default: loss and metrics of the model.
    pub fn eval_step(mut self, step: impl EvalStep + 'a) -> Self {
        self.eval_step = Some(Box::new(step));
        self
    }

    /// Sets a loss of one's own, whose updates the loop takes. It excludes a [`step`](Self::step).
    pub fn objective(mut self, objective: impl Objective + 'a) -> Self {
        self.objective = Some(Box::new(objective));
        self
    }

    /// Adds a metric of true and predicted labels to every record.
    pub fn extra_metric(
        mut self,
        name: &str,
        metric: impl Fn(&Labels, &Labels) -> f64 + 'a,
    ) -> Self {
        self.options = self.options.extra(name, metric);
        self
    }

    /// Keeps the records in a journal, and only the last of them in memory. Default: all in memory and
    /// in `idps.csv`.
    pub fn history(mut self, journal: HistoryJournal) -> Self {
        self.history = Some(journal);
        self
    }

    /// Sets a text that distinguishes runs of equal configuration. Default: none.
    pub fn salt(mut self, salt: impl Into<String>) -> Self {
        self.salt = Some(salt.into());
        self
    }

    /// Sets the folder that contains the folder `runs`. Default: the working directory.
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = root.into();
        self
    }

    /// Sets what shows how far the training is. Default: nothing.
    pub fn progress(mut self, progress: impl Progress + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Sets a flag that ends the training after the running step when it becomes true, for example at
    /// Ctrl-C. An epoch that is not complete then is abandoned.
    pub fn interrupt(mut self, flag: Arc<AtomicBool>) -> Self {
        self.interrupt = Some(flag);
        self
    }

    /// Trains the model, and leaves the run under `runs/<id>`. A training that fails or is killed
    /// leaves the epochs that were saved; before the first of them it leaves nothing. A run that is
    /// overwritten is there until the first epoch is saved, with a [journal](Self::history) until the
    /// first epoch begins.
    ///
    /// # Errors
    /// - [`ErrorKind::InvalidConfiguration`](crate::ErrorKind::InvalidConfiguration) when the settings
    ///   do not go together, or do not fit the model or the data; a run of the same id exists.
    /// - [`ErrorKind::Diverged`](crate::ErrorKind::Diverged) when the loss is not finite.
    /// - [`ErrorKind::CannotResume`](crate::ErrorKind::CannotResume) and
    ///   [`ErrorKind::ComponentRestore`](crate::ErrorKind::ComponentRestore) when the checkpoint to
    ///   resume from is not one that this training can go on from.
    /// - Whatever a callback, a step or an objective fails with.
    pub fn run(self) -> Result<Trained> {
        let mut session = self.reserve()?;
        session.prepare()?;
        session.train()
    }
}

impl std::fmt::Debug for Training<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Training")
            .field("settings", &self.settings)
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}
