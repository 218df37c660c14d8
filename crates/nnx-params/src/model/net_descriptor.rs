//! The builder of a net: a built-in class, a registered factory, or a Python program.

use std::fmt;

use crate::class::{ClassTable, FieldType, PickledValue, PythonClass};
use crate::error::{Error, Result};
use crate::net::Nets;
use crate::registry::{ModelSpec, RuntimeModule};
use crate::value::{State, Value};

/// The builder of a net: a built-in class, a registered factory, or a Python program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetDescriptor {
    /// A built-in net, of the size that its parameters say.
    Net(Nets),
    /// A factory that a Python program registered.
    Registered(ModelSpec),
    /// A module that a Python program built itself.
    Runtime(RuntimeModule),
}

impl NetDescriptor {
    /// Builds from the result of [`state`](Self::state): a text names a built-in net, a mapping is
    /// told by its `kind`.
    ///
    /// # Errors
    ///
    /// The value is neither, the net or the kind is unknown, or the mapping is not valid.
    pub fn from_state(value: &Value) -> Result<Self> {
        const CLASS: &str = "NNModelParams";
        let Value::Map(state) = value else {
            return match value {
                Value::Str(_) => Nets::from_value(CLASS, "net", value).map(Self::Net),
                _ => Err(Error::invalid(CLASS, "net", "a text or a mapping", value)),
            };
        };
        match state.get("kind").and_then(Value::as_str) {
            Some(ModelSpec::KIND) => ModelSpec::from_state(state).map(Self::Registered),
            Some(RuntimeModule::KIND) => RuntimeModule::from_state(state).map(Self::Runtime),
            _ => {
                let domain = "a mapping of kind `registered` or `runtime`";
                Err(Error::invalid(CLASS, "net", domain, value))
            }
        }
    }

    /// The serialised form: a text or a mapping.
    pub fn state(&self) -> Value {
        match self {
            Self::Net(net) => (*net).into(),
            Self::Registered(spec) => spec.state().into(),
            Self::Runtime(module) => module.state().into(),
        }
    }

    /// [`state`](Self::state) with the keys that this version does not know.
    pub fn full_state(&self) -> Value {
        match self {
            Self::Net(net) => (*net).into(),
            Self::Registered(spec) => spec.full_state().into(),
            Self::Runtime(module) => module.full_state().into(),
        }
    }

    /// The built-in net, if it is one.
    pub fn net(&self) -> Option<Nets> {
        match self {
            Self::Net(net) => Some(*net),
            _ => None,
        }
    }

    /// The keys that a mapping had and this version does not know.
    pub fn unknown(&self) -> Option<&State> {
        match self {
            Self::Net(_) => None,
            Self::Registered(spec) => Some(spec.unknown()),
            Self::Runtime(module) => Some(module.unknown()),
        }
    }
}

impl FieldType for NetDescriptor {
    const CLASSES: &'static [&'static ClassTable] = &[ModelSpec::TABLE, RuntimeModule::TABLE];

    fn to_value(&self, full: bool) -> Value {
        if full {
            self.full_state()
        } else {
            self.state()
        }
    }

    fn to_pickled(&self) -> PickledValue {
        match self {
            Self::Net(net) => net.to_pickled(),
            Self::Registered(spec) => spec.to_pickled(),
            Self::Runtime(module) => module.to_pickled(),
        }
    }
}

/// Writes Python's `str`.
impl fmt::Display for NetDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Net(net) => net.fmt(f),
            Self::Registered(spec) => spec.fmt(f),
            Self::Runtime(module) => module.fmt(f),
        }
    }
}

macro_rules! from_descriptor {
    ($($descriptor:ident => $variant:ident),*) => {$(
        impl From<$descriptor> for NetDescriptor {
            fn from(descriptor: $descriptor) -> Self {
                Self::$variant(descriptor)
            }
        }

        impl From<$descriptor> for Option<NetDescriptor> {
            fn from(descriptor: $descriptor) -> Self {
                Some(NetDescriptor::$variant(descriptor))
            }
        }
    )*};
}

from_descriptor!(Nets => Net, ModelSpec => Registered, RuntimeModule => Runtime);
