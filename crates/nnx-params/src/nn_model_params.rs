//! Which net a model has, where it runs and what it minimises.

use std::fmt;

use crate::fields::{self, Fields, keeps_unknown, split_state};
use crate::{
    Devices, Error, Losses, NetDescriptor, PrecisionMode, PrecisionPolicy, Result, State, TaskSpec,
    Value,
};

/// Which net a model has, where it runs and what it minimises.
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
pub struct NNModelParams {
    net: Option<NetDescriptor>,
    device: Devices,
    loss: Losses,
    mixed_precision: bool,
    task: Option<TaskSpec>,
    precision: Option<PrecisionPolicy>,
    unknown: State,
}

impl NNModelParams {
    /// The Python class.
    pub const CLASS: &'static str = "NNModelParams";

    /// The fields in the order of declaration, in which a pickle lists them; NNx 0.2.3 has the
    /// first four.
    pub const FIELDS: &'static [&'static str] = &[
        "net",
        "device",
        "loss",
        "mixed_precision",
        "task",
        "precision",
    ];

    /// Starts from what builds the net: a built-in net, a descriptor, or `None`.
    pub fn builder(net: impl Into<Option<NetDescriptor>>) -> NNModelParamsBuilder {
        NNModelParamsBuilder(Self {
            net: net.into(),
            device: Devices::Cpu,
            loss: Losses::CrossEntropy,
            mixed_precision: false,
            task: None,
            precision: None,
            unknown: State::new(),
        })
    }

    /// Builds from the constructor's arguments: an enum is its text, a nested object its state.
    ///
    /// # Errors
    ///
    /// A field is unexpected, of a wrong type or outside its domain, or the flag of mixed
    /// precision contradicts the policy.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        let mut builder = Self::builder(fields.optional("net", NetDescriptor::from_state)?);
        if let Some(value) = fields.given("device") {
            builder = builder.device(Devices::from_value(Self::CLASS, "device", value)?);
        }
        if let Some(value) = fields.given("loss") {
            builder = builder.loss(Losses::from_value(Self::CLASS, "loss", value)?);
        }
        if let Some(value) = fields.given("mixed_precision") {
            builder = builder.mixed_precision(value.truth());
        }
        builder = builder.task(fields.optional("task", |value| match value {
            Value::Map(state) => TaskSpec::from_state(state),
            _ => Err(Error::invalid(Self::CLASS, "task", "a mapping", value)),
        })?);
        builder = builder.precision(fields.optional("precision", |value| {
            PrecisionPolicy::from_state(fields::mapping(Self::CLASS, "precision", value)?)
        })?);
        builder.build()
    }

    /// Builds from what [`state`](Self::state) returns.
    ///
    /// # Errors
    ///
    /// A key is missing, or a value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let required = ["net", "loss", "device"];
        let optional = ["mixed_precision", "task", "precision"];
        let (known, unknown) = split_state(Self::CLASS, state, &required, &optional)?;
        if known.get("net").is_some_and(Value::is_none) {
            let domain = "a text or a mapping";
            return Err(Error::invalid(Self::CLASS, "net", domain, &Value::None));
        }
        let mut params = Self::from_fields(&known)?;
        params.unknown = unknown;
        Ok(params)
    }

    /// The serialised form, key for key as Python writes it.
    ///
    /// # Errors
    ///
    /// There is no net; Python refuses to serialise such parameters too.
    pub fn state(&self) -> Result<State> {
        self.state_with(NetDescriptor::state)
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown), the net's own
    /// unknown keys included.
    ///
    /// # Errors
    ///
    /// As [`state`](Self::state).
    pub fn full_state(&self) -> Result<State> {
        let state = self.state_with(NetDescriptor::full_state)?;
        Ok(state.followed_by(&self.unknown))
    }

    fn state_with(&self, net_state: fn(&NetDescriptor) -> Value) -> Result<State> {
        let net = self.net.as_ref().ok_or_else(|| {
            Error::invalid(
                Self::CLASS,
                "net",
                "set before it is serialised",
                &Value::None,
            )
        })?;
        let mut state = State::from_iter([("net", net_state(net))]);
        state.insert("loss", self.loss);
        state.insert("device", self.device);
        if self.mixed_precision {
            state.insert("mixed_precision", true);
        }
        if let Some(task) = &self.task {
            state.insert("task", task.state());
        }
        if let Some(precision) = &self.precision {
            state.insert("precision", precision.state());
        }
        Ok(state)
    }

    keeps_unknown!();

    /// What builds the net.
    pub fn net(&self) -> Option<&NetDescriptor> {
        self.net.as_ref()
    }

    /// Where the model runs.
    pub fn device(&self) -> Devices {
        self.device
    }

    /// What training minimises.
    pub fn loss(&self) -> Losses {
        self.loss
    }

    /// Whether training runs in automatic float16 on CUDA.
    pub fn mixed_precision(&self) -> bool {
        self.mixed_precision
    }

    /// The declared task.
    pub fn task(&self) -> Option<&TaskSpec> {
        self.task.as_ref()
    }

    /// The requested precision.
    pub fn precision(&self) -> Option<&PrecisionPolicy> {
        self.precision.as_ref()
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

/// Collects the fields of [`NNModelParams`]; see [`NNModelParams::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct NNModelParamsBuilder(NNModelParams);

impl NNModelParamsBuilder {
    /// Where the model runs. Default: the CPU.
    pub fn device(mut self, device: Devices) -> Self {
        self.0.device = device;
        self
    }

    /// What training minimises. Default: cross entropy.
    pub fn loss(mut self, loss: Losses) -> Self {
        self.0.loss = loss;
        self
    }

    /// Whether training runs in automatic float16 on CUDA. Default: false.
    pub fn mixed_precision(mut self, mixed_precision: bool) -> Self {
        self.0.mixed_precision = mixed_precision;
        self
    }

    /// The declared task. Default: none.
    pub fn task(mut self, task: impl Into<Option<TaskSpec>>) -> Self {
        self.0.task = task.into();
        self
    }

    /// The requested precision. Default: none, which is full precision.
    pub fn precision(mut self, precision: impl Into<Option<PrecisionPolicy>>) -> Self {
        self.0.precision = precision.into();
        self
    }

    /// Builds the parameters.
    ///
    /// A policy of full precision is the default and thus dropped; the flag of mixed precision is
    /// dropped beside a policy of float16, which says the same.
    ///
    /// # Errors
    ///
    /// The flag of mixed precision stands beside a policy of another mode than float16.
    pub fn build(self) -> Result<NNModelParams> {
        let Self(mut params) = self;
        let Some(precision) = params.precision else {
            return Ok(params);
        };
        if params.mixed_precision && precision.mode() != PrecisionMode::Fp16 {
            return Err(Error::inconsistent(
                NNModelParams::CLASS,
                "mixed_precision",
                "False beside a `precision` other than `fp16`",
                format!("`True` beside `{}`", precision.mode()),
            ));
        }
        params.mixed_precision = false;
        if precision.mode() == PrecisionMode::Fp32 {
            params.precision = None;
        }
        Ok(params)
    }
}

#[cfg(test)]
mod tests;
