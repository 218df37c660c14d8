//! The description of a module that a Python program built itself.

use std::fmt;

use crate::class::{PickleForm, PickledValue, python_class, required, state_methods};
use crate::error::{Error, Result};
use crate::value::{State, Value};

python_class! {
    class {
        /// The description of a module that a Python program built itself, and that nothing can rebuild.
        ///
        /// ```
        /// use nnx_params::RuntimeModule;
        ///
        /// let module = RuntimeModule::new("my.Net", "d41d8cd98f00b204e9800998ecf8427e")?;
        /// assert_eq!(module.to_string(), "runtime:my.Net");
        /// # Ok::<(), nnx_params::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq)]
        RuntimeModule { unknown: State } in "nnx.models";
        pickled as: PickleForm::Call("RuntimeModule");
        state order: "kind";
        required: RuntimeModule::FIELDS;
        further keys: "kind", "reconstructible";
        read state: |known: &mut State| -> Result<()> {
            known.remove("kind");
            known.remove("reconstructible");
            Ok(())
        };
        amend state: |_: &RuntimeModule, state: &mut State| {
            state.insert("kind", RuntimeModule::KIND);
            state.insert("reconstructible", false);
        };
    }
    fields {
        /// The qualified name of the module's Python class.
        module: String => &str = required(full_text)
            .pickled(|module| PickledValue::Text(module.clone()));
        /// A fingerprint of the names, shapes and dtypes of the module's tensors and of its `repr`.
        topology: String => &str = required(full_text)
            .pickled(|topology| PickledValue::Text(topology.clone()));
    }
}

impl RuntimeModule {
    state_methods!();

    /// The `kind` of this class's states.
    pub const KIND: &'static str = "runtime";

    /// The description of a Python class and a fingerprint of its topology.
    ///
    /// # Errors
    ///
    /// One of the texts is empty.
    pub fn new(module: &str, topology: &str) -> Result<Self> {
        Self::from_fields(&State::from_iter([
            ("module", module),
            ("topology", topology),
        ]))
    }
}

fn full_text(class: &'static str, field: &str, value: &Value) -> Result<String> {
    match value.as_str() {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(Error::invalid(
            class,
            field,
            "a text that is not empty",
            value,
        )),
    }
}

/// Writes Python's `str`.
impl fmt::Display for RuntimeModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "runtime:{}", self.module)
    }
}
