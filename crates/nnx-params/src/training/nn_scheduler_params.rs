//! The parameters of learning rate schedules.

use std::fmt;

use crate::class::{
    Arguments, by, count, defaulted, not_negative, optional, positive, python_class, required,
    state_methods, text_enum,
};
use crate::enums::Schedulers;
use crate::error::Result;
use crate::number::Number;
use crate::repr::float::scientific;
use crate::value::{State, Value};

text_enum! {
    /// The unit of a schedule's step.
    SchedulerClock {
        /// Epochs, the default.
        Epoch => "epoch",
        /// Updates of the weights.
        OptimizerUpdate => "optimizer_update",
    }
}

python_class! {
    class {
        /// The parameters of a learning rate schedule.
        ///
        /// ```
        /// use nnx_params::{NNSchedulerParams, Schedulers};
        ///
        /// let params = NNSchedulerParams::builder().kind(Schedulers::Step).step_size(3).build()?;
        /// assert_eq!(params.to_string(), "[step, factor=9e-01, min_lr=1e-07]");
        /// # Ok::<(), nnx_params::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        NNSchedulerParams { unknown: State } in "nnx.nn.params.nn_scheduler_params";
        errors: "a plateau schedule is to count updates";
        pickle order: "min_lr", "factor", "patience", "cooldown", "threshold", "kind",
            "step_size", "T_max", "max_lr", "total_steps", "warmup_steps";
        state order: "min_lr", "factor", "cooldown", "patience", "threshold", "kind",
            "step_size", "T_max", "max_lr", "total_steps", "warmup_steps";
        required: &["min_lr", "factor", "patience", "cooldown", "threshold"];
        read state: |known: &mut State| -> Result<()> {
            known.remove_empty("kind");
            Ok(())
        };
    }
    fields {
        /// The unit of a step.
        clock: SchedulerClock => SchedulerClock =
            defaulted(SchedulerClock::from_value, SchedulerClock::Epoch),
            set SchedulerClock, "Default: epochs.";
        /// The schedule; `None` is a plateau schedule.
        kind: Option<Schedulers> => Option<Schedulers> = by(kind).written_if(Option::is_some),
            set impl Into<Option<Schedulers>> as Option<Schedulers>, "Default: `None`.";
        /// The factor by which the learning rate is multiplied.
        factor: Number => Number = required(positive),
            set impl Into<Number> as Number, "Default: 0.95.";
        /// The lowest learning rate.
        min_lr: Number => Number = required(not_negative),
            set impl Into<Number> as Number, "Default: 1e-7.";
        /// The least difference that counts as an improvement in a plateau schedule.
        threshold: Number => Number = required(not_negative),
            set impl Into<Number> as Number, "Default: 1e-3.";
        /// The highest learning rate of a one-cycle schedule.
        max_lr: Option<Number> => Option<Number> = optional(positive),
            set impl Into<Number> as Number, "Default: none.";
        /// The epochs without improvement before a plateau schedule lowers the rate.
        patience: usize => usize = required(count::<0>), set usize, "Default: 8.";
        /// The epochs that a plateau schedule then waits.
        cooldown: usize => usize = required(count::<0>), set usize, "Default: 2.";
        /// The steps between two changes of a step schedule.
        step_size: Option<usize> => Option<usize> = optional(count::<1>),
            set usize, "Default: none.";
        /// The steps of half a wave of a cosine schedule; Python calls it `T_max`.
        t_max as "T_max": Option<usize> => Option<usize> = optional(count::<1>),
            set usize, "Default: none.";
        /// The steps of a one-cycle schedule or a linear one.
        total_steps: Option<usize> => Option<usize> = optional(count::<1>),
            set usize, "Default: none.";
        /// The rising steps of a linear schedule.
        warmup_steps: Option<usize> => Option<usize> = optional(count::<1>),
            set usize, "Default: none.";
    }
    builder {
        /// Starts from the plateau schedule that is the default of a training.
        NNSchedulerParamsBuilder for NNSchedulerParams();
        completes: with_defaults;
    }
}

fn with_defaults(fields: State) -> State {
    let defaults: [(&str, Value); 5] = [
        ("min_lr", 1e-7.into()),
        ("factor", 0.95.into()),
        ("patience", 8.into()),
        ("cooldown", 2.into()),
        ("threshold", 1e-3.into()),
    ];
    fields.followed_by(&State::from_iter(defaults))
}

/// A plateau schedule cannot count updates.
fn kind(arguments: &Arguments<'_>, field: &str) -> Result<Option<Schedulers>> {
    let kind = arguments.optional(field, Schedulers::from_value)?;
    let counts_updates =
        arguments.get("clock").as_str() == Some(SchedulerClock::OptimizerUpdate.value());
    if counts_updates && matches!(kind, None | Some(Schedulers::ReduceLrOnPlateau)) {
        let domain = "`epoch` in a plateau schedule, which reads a metric after each epoch";
        return Err(arguments.invalid("clock", domain));
    }
    Ok(kind)
}

impl NNSchedulerParams {
    state_methods!();
}

/// Writes Python's `str`.
impl fmt::Display for NNSchedulerParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |number: Number| scientific(number.as_f64(), 0);
        let (factor, min_lr) = (short(self.factor), short(self.min_lr));
        let Some(kind) = self.kind else {
            let Self {
                patience, cooldown, ..
            } = self;
            let threshold = short(self.threshold);
            return write!(
                f,
                "[plateau, patience={patience}, cooldown={cooldown}, factor={factor}, \
                 threshold={threshold}, min_lr={min_lr}]"
            );
        };
        write!(f, "[{kind}, factor={factor}, min_lr={min_lr}")?;
        if self.clock != SchedulerClock::Epoch {
            write!(f, ", clock={}", self.clock)?;
        }
        f.write_str("]")
    }
}
