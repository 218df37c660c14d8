//! The pickle form of Python's classes: the classes, and the contents of an instance.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::number::Number;
use crate::value::{State, Value};

/// A class of NNx for Python.
///
/// ```
/// use nnx_params::{NNMoEParams, PythonClass};
///
/// let table = NNMoEParams::TABLE;
/// assert_eq!((table.module, table.class), (NNMoEParams::MODULE, NNMoEParams::CLASS));
/// assert_eq!(table.fields.last(), Some(&"top_k"));
/// ```
pub trait PythonClass: Sized {
    /// The description of the class for readers and writers of pickles.
    const TABLE: &'static ClassTable;

    /// Builds from the constructor's arguments: an enum is its text, a nested object its state.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected, of a wrong type or outside its domain, or the fields do
    /// not fit each other.
    fn from_fields(fields: &State) -> Result<Self>;

    /// Builds from the serialised form.
    ///
    /// # Errors
    ///
    /// A key is missing, or a value is of a wrong type or outside its domain.
    fn from_state(state: &State) -> Result<Self>;

    /// The object as a pickle has it.
    fn pickled(&self) -> PickledInstance;
}

/// The description of a class for readers and writers of pickles.
#[derive(Debug)]
pub struct ClassTable {
    /// The Python module that defines the class.
    pub module: &'static str,
    /// The Python name of the class.
    pub class: &'static str,
    /// How its instances are pickled.
    pub form: PickleForm,
    /// The fields in the order of declaration, in which a pickle lists them.
    pub fields: &'static [&'static str],
    /// The fields that may hold instances of other classes, and those classes.
    pub nested: &'static [(&'static str, &'static [&'static ClassTable])],
    /// Checks the arguments of a constructor and gives the state of the object.
    pub to_state: fn(&State) -> Result<State>,
}

/// How the instances of a class are pickled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PickleForm {
    /// An object that is given the list of its values, as a frozen dataclass with slots is.
    Slots,
    /// An object that is given the dict of its attributes.
    Attributes,
    /// The call of a function of the class's module with the values as arguments.
    Call(&'static str),
}

/// An instance of a class, as a pickle holds it.
#[derive(Clone, Debug)]
pub struct PickledInstance {
    /// Its class.
    pub table: &'static ClassTable,
    /// The values of its fields, in their order.
    pub values: Vec<PickledValue>,
}

/// The value of a field, as a pickle holds it.
#[derive(Clone, Debug)]
pub enum PickledValue {
    /// Plain data. Its texts are constants of Python's source text, which are one object each.
    Plain(Value),
    /// A text that Python made at run time: an object of its own.
    Text(String),
    /// A member of an enum of Python.
    Member {
        /// The module that defines the enum.
        module: &'static str,
        /// The Python name of the enum.
        class: &'static str,
        /// The value of the member.
        value: &'static str,
    },
    /// A list of NNx's class `_ImmutableList`.
    ImmutableList(Vec<PickledValue>),
    /// A tuple.
    Tuple(Vec<PickledValue>),
    /// A mapping of NNx's class `_FrozenMetrics`.
    FrozenMetrics(BTreeMap<String, Number>),
    /// An instance of a class of NNx.
    Instance(PickledInstance),
}

impl PickledInstance {
    /// An instance of a class with values by name, which are put into the order of the fields.
    pub(crate) fn new(
        table: &'static ClassTable,
        mut values: Vec<(&'static str, PickledValue)>,
    ) -> Self {
        values.sort_by_key(|(name, _)| table.fields.iter().position(|field| field == name));
        let values = values.into_iter().map(|(_, value)| value).collect();
        Self { table, values }
    }
}

impl ClassTable {
    /// The classes whose instances a field may hold; empty for a field of plain data.
    pub fn classes_of(&self, field: &str) -> &'static [&'static ClassTable] {
        self.nested
            .iter()
            .find(|(name, _)| *name == field)
            .map_or(&[], |(_, classes)| classes)
    }

    /// The name that a pickle looks up in the module: the class, or the function that makes its
    /// instances.
    pub fn global(&self) -> &'static str {
        match self.form {
            PickleForm::Call(function) => function,
            PickleForm::Slots | PickleForm::Attributes => self.class,
        }
    }

    /// Whether a pickle of an instance may name this class or function.
    pub fn names(&self, module: &str, name: &str) -> bool {
        (self.module, self.global()) == (module, name)
            || self
                .nested
                .iter()
                .flat_map(|(_, classes)| *classes)
                .any(|class| class.names(module, name))
    }
}
