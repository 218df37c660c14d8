//! The parts that every declared class has: states, and the keys that this version does not know.

use crate::class::arguments::Arguments;
use crate::class::pickled::{PickledValue, PythonClass};
use crate::error::{Error, Result};
use crate::value::State;

/// A class that [`python_class!`](super::python_class) declares.
pub(crate) trait Declared: PythonClass {
    /// The first part of the object.
    type Head: Head;
    /// The Python name of the class.
    const CLASS: &'static str;
    /// The fields in the order of declaration, in which a pickle lists them.
    const FIELDS: &'static [&'static str];

    /// Builds from arguments that were all found to be fields.
    fn read(arguments: &Arguments<'_>) -> Result<Self>;
    /// The state without unknown keys of its own; a full one has those of nested objects.
    fn write(&self, full: bool) -> State;
    /// The values of the fields in a pickle, by name, in any order.
    fn pickled_values(&self) -> Vec<(&'static str, PickledValue)>;
    /// The keys that a state must have.
    fn required_keys() -> Vec<&'static str>;
    /// Whether a state may have the key.
    fn is_state_key(key: &str) -> bool;
    /// Turns the keys of a state into the arguments of the constructor.
    fn read_state(known: &mut State) -> Result<()>;

    fn head(&self) -> &Self::Head;
    fn head_mut(&mut self) -> &mut Self::Head;
}

/// The first part of an object: the parameters that its class extends, or the unknown keys alone,
/// which bring no field.
pub(crate) trait Head: Sized {
    /// The fields that the part brings.
    const FIELDS: &'static [&'static str] = &[];
    /// Whether unknown keys are kept.
    const KEEPS: bool = true;

    fn read(arguments: &Arguments<'_>) -> Result<Self>;
    fn write(&self, _full: bool) -> State {
        State::new()
    }
    fn pickled_values(&self) -> Vec<(&'static str, PickledValue)> {
        Vec::new()
    }
    fn is_state_key(_key: &str) -> bool {
        false
    }
    /// Keeps the entries of a state whose keys this version does not know.
    fn keep(&mut self, unknown: State);
    /// Adds the entries that were kept to a state.
    fn complete(&self, state: State) -> State;
}

/// A head that keeps unknown keys.
pub(crate) trait KeepsUnknown {
    /// The entries that were kept.
    fn unknown(&self) -> &State;
}

/// The keys of a state that this version does not know.
impl Head for State {
    fn read(_: &Arguments<'_>) -> Result<Self> {
        Ok(State::new())
    }

    fn keep(&mut self, unknown: State) {
        *self = unknown;
    }

    fn complete(&self, state: State) -> State {
        state.followed_by(self)
    }
}

impl KeepsUnknown for State {
    fn unknown(&self) -> &State {
        self
    }
}

/// The head of a class that refuses unknown keys, as Python does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed;

impl Head for Closed {
    const KEEPS: bool = false;

    fn read(_: &Arguments<'_>) -> Result<Self> {
        Ok(Self)
    }

    fn keep(&mut self, _: State) {}

    fn complete(&self, state: State) -> State {
        state
    }
}

/// A class that others extend.
impl<T: Declared> Head for T {
    const FIELDS: &'static [&'static str] = <T as Declared>::FIELDS;

    fn read(arguments: &Arguments<'_>) -> Result<Self> {
        <T as Declared>::read(arguments)
    }

    fn write(&self, full: bool) -> State {
        Declared::write(self, full)
    }

    fn pickled_values(&self) -> Vec<(&'static str, PickledValue)> {
        Declared::pickled_values(self)
    }

    fn is_state_key(key: &str) -> bool {
        <T as Declared>::is_state_key(key)
    }

    fn keep(&mut self, unknown: State) {
        self.head_mut().keep(unknown);
    }

    fn complete(&self, state: State) -> State {
        self.head().complete(state)
    }
}

impl<T: Declared<Head: KeepsUnknown>> KeepsUnknown for T {
    fn unknown(&self) -> &State {
        self.head().unknown()
    }
}

/// The state of an object; a full one ends with the keys that this version does not know.
pub(crate) fn state_of<T: Declared>(object: &T, full: bool) -> State {
    let state = Declared::write(object, full);
    if full {
        object.head().complete(state)
    } else {
        state
    }
}

/// Builds from a state; keys that the class does not have are kept.
///
/// # Errors
///
/// A key is missing, a key is unknown to a closed class, or a value is of a wrong type or outside
/// its domain.
pub(crate) fn from_state<T: Declared>(state: &State) -> Result<T> {
    let (mut known, unknown) = split_state(state, T::is_state_key);
    if let (false, Some((key, value))) = (T::Head::KEEPS, unknown.iter().next()) {
        let domain = "absent, as it is no key of this class";
        return Err(Error::invalid(T::CLASS, key, domain, value));
    }
    let required = T::required_keys();
    if let Some(key) = required.iter().find(|key| !state.contains_key(key)) {
        return Err(Error::missing_key(T::CLASS, key));
    }
    T::read_state(&mut known)?;
    let mut object = T::from_fields(&known)?;
    object.head_mut().keep(unknown);
    Ok(object)
}

/// The entries of a state whose keys are known, and the others.
pub(crate) fn split_state(state: &State, is_known: fn(&str) -> bool) -> (State, State) {
    let (mut known, mut unknown) = (State::new(), State::new());
    for (key, value) in state {
        let part = if is_known(key) {
            &mut known
        } else {
            &mut unknown
        };
        part.insert(key.clone(), value.clone());
    }
    (known, unknown)
}

/// The state of an object, and the methods that keep what this version does not know of it.
macro_rules! state_methods {
    () => {
        /// Builds from the result of [`state`](Self::state).
        ///
        /// # Errors
        ///
        /// A key is missing, or a value is of a wrong type or outside its domain.
        pub fn from_state(state: &$crate::value::State) -> $crate::error::Result<Self> {
            $crate::class::from_state(state)
        }

        $crate::class::state_methods!(state);
    };
    (state) => {
        /// The serialised form, key for key as Python writes it.
        pub fn state(&self) -> $crate::value::State {
            $crate::class::state_of(self, false)
        }

        /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown), those of
        /// nested objects included.
        pub fn full_state(&self) -> $crate::value::State {
            $crate::class::state_of(self, true)
        }

        /// The keys that [`from_state`](Self::from_state) met and this version does not know.
        pub fn unknown(&self) -> &$crate::value::State {
            $crate::class::KeepsUnknown::unknown(self)
        }
    };
}

pub(crate) use state_methods;
