//! The parameters of training with one optimizer.

use std::fmt;

use crate::class::{Arguments, by, defaulted, mapping, object, state_methods, text_enum};
use crate::enums::Optims;
use crate::error::Result;
use crate::repr::repr;
use crate::training::nn_optim_params::NNOptimParams;
use crate::training::nn_scheduler_params::NNSchedulerParams;
use crate::training::optim_params::OptimParams;
use crate::training::training_class::{add_parent, read_state, training_class};
use crate::value::State;

text_enum! {
    /// The meaning of the number of epochs in a resumed training.
    ResumeEpochs {
        /// That many more epochs, the default.
        Additional => "additional",
        /// That many epochs in all.
        Planned => "planned",
    }
}

training_class! {
    class {
        /// The parameters of training with one optimizer and one schedule.
        ///
        /// ```
        /// use nnx_params::NNTrainParams;
        ///
        /// let params = NNTrainParams::builder(8).seed(0).build()?;
        /// assert_eq!(params.optim().class(), "NNOptimParams");
        /// # Ok::<(), nnx_params::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        NNTrainParams { unknown: State } in "nnx.nn.params.nn_train_params";
        errors: "a parent is given beside a run to resume; the metrics and the monitor do not fit \
                 each other; or a loader or an extra metric, which exist in a running Python \
                 program only, is not `None`";
        pickle order: "n_epochs", "scheduler", "optim", "seed", "data_id",
            "save_phase_checkpoints", "train_loader", "val_loader", "metrics", "monitor",
            "extra_metrics", "resume_from_run_id", "resume_from_checkpoint", "parent_run_id",
            "overwrite_existing", "resume_mode", "resume_epochs";
        state order: "n_epochs", "optim", "scheduler", "seed", "data_id", "parent_run_id",
            "parent_checkpoint", "save_phase_checkpoints", "resume_epochs";
        required: &["n_epochs", "optim", "scheduler"];
        further keys: "parent_run_id", "parent_checkpoint";
        read state: read_state;
        amend state: |params: &NNTrainParams, state: &mut State| add_parent(
            state,
            params.parent_run_id(),
            params.resume_from_run_id(),
            params.resume_from_checkpoint(),
        );
    }
    fields {
        /// The optimizer.
        optim: OptimParams => &OptimParams = by(optim),
            set impl Into<OptimParams> as OptimParams,
            "Default: Adam with rate 1e-2, betas 0.9 and 0.999 and weight decay 5e-5.";
        /// The schedule of the learning rate.
        scheduler: NNSchedulerParams => &NNSchedulerParams = by(scheduler),
            set &NNSchedulerParams, "Default: that of [`NNSchedulerParams::builder`].";
        /// The meaning of the number of epochs in a resumed training.
        resume_epochs: ResumeEpochs => ResumeEpochs =
            defaulted(ResumeEpochs::from_value, ResumeEpochs::Additional),
            set ResumeEpochs, "Default: more epochs.";
    }
    more fields {}
    builder {
        /// Starts from the number of epochs.
        NNTrainParamsBuilder for NNTrainParams(n_epochs: usize);
    }
}

fn optim(arguments: &Arguments<'_>, field: &str) -> Result<OptimParams> {
    match arguments.given(field) {
        Some(value) => OptimParams::from_state(mapping(arguments.class, field, value)?),
        None => Ok(
            NNOptimParams::builder(Optims::Adam, 1e-2, (0.9, 0.999), 5e-5)
                .build()?
                .into(),
        ),
    }
}

fn scheduler(arguments: &Arguments<'_>, field: &str) -> Result<NNSchedulerParams> {
    match arguments.given(field) {
        Some(value) => object(arguments.class, field, value),
        None => NNSchedulerParams::builder().build(),
    }
}

impl NNTrainParams {
    state_methods!();
}

/// Writes Python's `str`.
impl fmt::Display for NNTrainParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_epochs = self.n_epochs;
        let seed = repr(&self.seed.into());
        let Self {
            optim, scheduler, ..
        } = self;
        write!(
            f,
            "Train={{n_epochs={n_epochs}, seed={seed}, Optim={optim}, Scheduler={scheduler}}}"
        )
    }
}
