//! The parameters of a model: its net, its device and its loss.

use std::fmt;

use crate::class::{Arguments, defaulted, object, optional, python_class, state_of, truth};
use crate::enums::{Devices, Losses};
use crate::error::{Error, Result};
use crate::model::net_descriptor::NetDescriptor;
use crate::model::precision_policy::{PrecisionMode, PrecisionPolicy};
use crate::model::task_spec::TaskSpec;
use crate::value::{State, Value};

python_class! {
    class {
        /// The parameters of a model: its net, its device and its loss.
        ///
        /// ```
        /// use nnx_params::{Devices, NNModelParams, Nets};
        ///
        /// let params = NNModelParams::builder(Nets::FeedFwd).device(Devices::Cuda).build()?;
        /// assert_eq!(
        ///     params.to_string(),
        ///     "[net=feed_fwd, device=cuda, loss=cross_entropy, mixed_precision=False]"
        /// );
        /// # Ok::<(), nnx_params::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        NNModelParams { unknown: State } in "nnx.nn.params.nn_model_params";
        errors: "the flag of mixed precision contradicts the policy";
        state order: "net", "loss", "device";
        required: &["net", "loss", "device"];
        check: NNModelParams::with_one_precision;
        read state: |known: &mut State| refuse_none(known.get("net"));
    }
    fields {
        /// The builder of the net.
        net: Option<NetDescriptor> => Option<&NetDescriptor> =
            optional(|_, _, value| NetDescriptor::from_state(value)).always();
        /// Where the model runs.
        device: Devices => Devices = defaulted(Devices::from_value, Devices::Cpu).always(),
            set Devices, "Default: the CPU.";
        /// The loss that training minimises.
        loss: Losses => Losses = defaulted(Losses::from_value, Losses::CrossEntropy).always(),
            set Losses, "Default: cross entropy.";
        /// Whether training runs in automatic float16 on CUDA.
        mixed_precision: bool => bool = defaulted(truth, false), set bool, "Default: false.";
        /// The declared task.
        task: Option<TaskSpec> => Option<&TaskSpec> = optional(task),
            set impl Into<Option<TaskSpec>> as Option<TaskSpec>, "Default: none.";
        /// The requested precision.
        precision: Option<PrecisionPolicy> => Option<&PrecisionPolicy> = optional(object),
            set impl Into<Option<PrecisionPolicy>> as Option<PrecisionPolicy>,
            "Default: none, which is full precision.";
    }
    builder {
        /// Starts from the builder of the net: a built-in net, a descriptor, or `None`.
        ///
        /// `build` drops a policy of full precision, which is the default, and the flag of mixed
        /// precision beside a policy of float16, which says the same.
        NNModelParamsBuilder for NNModelParams(
            net: impl Into<Option<NetDescriptor>> as Option<NetDescriptor>
        );
    }
}

fn task(class: &'static str, field: &str, value: &Value) -> Result<TaskSpec> {
    match value {
        Value::Map(state) => TaskSpec::from_state(state),
        _ => Err(Error::invalid(class, field, "a mapping", value)),
    }
}

/// A state must name a net, though the constructor takes `None`.
fn refuse_none(net: Option<&Value>) -> Result<()> {
    if net.is_some_and(Value::is_none) {
        let domain = "a text or a mapping";
        return Err(Error::invalid(
            NNModelParams::CLASS,
            "net",
            domain,
            &Value::None,
        ));
    }
    Ok(())
}

impl NNModelParams {
    /// Builds from the result of [`state`](Self::state).
    ///
    /// # Errors
    ///
    /// A key is missing, or a value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        crate::class::from_state(state)
    }

    /// The serialised form, key for key as Python writes it.
    ///
    /// # Errors
    ///
    /// There is no net; Python refuses to serialise such parameters too.
    pub fn state(&self) -> Result<State> {
        self.checked_state(false)
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown), the net's own
    /// unknown keys included.
    ///
    /// # Errors
    ///
    /// As [`state`](Self::state).
    pub fn full_state(&self) -> Result<State> {
        self.checked_state(true)
    }

    fn checked_state(&self, full: bool) -> Result<State> {
        if self.net.is_none() {
            let domain = "set before it is serialised";
            return Err(Error::invalid(Self::CLASS, "net", domain, &Value::None));
        }
        Ok(state_of(self, full))
    }

    /// The keys that [`from_state`](Self::from_state) met and this version does not know.
    pub fn unknown(&self) -> &State {
        &self.unknown
    }

    /// Drops what says the same twice: the policy of the default, and the flag beside a policy.
    fn with_one_precision(mut self, _: &Arguments<'_>) -> Result<Self> {
        let Some(precision) = self.precision else {
            return Ok(self);
        };
        if self.mixed_precision && precision.mode() != PrecisionMode::Fp16 {
            return Err(Error::inconsistent(
                Self::CLASS,
                "mixed_precision",
                "False beside a `precision` other than `fp16`",
                format!("`True` beside `{}`", precision.mode()),
            ));
        }
        self.mixed_precision = false;
        if precision.mode() == PrecisionMode::Fp32 {
            self.precision = None;
        }
        Ok(self)
    }
}

/// Writes Python's `str`.
impl fmt::Display for NNModelParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.net {
            None => f.write_str("[net=None")?,
            Some(net) => write!(f, "[net={net}")?,
        }
        let flag = if self.mixed_precision {
            "True"
        } else {
            "False"
        };
        let Self { device, loss, .. } = self;
        write!(f, ", device={device}, loss={loss}, mixed_precision={flag}")?;
        if let Some(task) = &self.task {
            write!(f, ", task={task}")?;
        }
        if let Some(precision) = &self.precision {
            write!(f, ", precision={}", precision.mode())?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests;
