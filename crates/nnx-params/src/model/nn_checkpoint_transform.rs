//! A step that changed a net after it was built.

use crate::class::{defaulted, number, python_class, required, state, state_methods, text};
use crate::number::Number;
use crate::value::State;

python_class! {
    class {
        /// A step that changed a net's topology, such as adding low-rank adapters.
        ///
        /// Python checks the fields only when it replays the step, so any options are kept here.
        ///
        /// ```
        /// use nnx_params::{NNCheckpointTransform, State};
        ///
        /// let transform = NNCheckpointTransform::new("lora", 1, State::from_iter([("r", 2)]));
        /// assert_eq!(
        ///     transform.state().keys().collect::<Vec<_>>(),
        ///     ["name", "version", "options"]
        /// );
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq)]
        NNCheckpointTransform { unknown: State } in "nnx.nn.params.nn_checkpoint";
        pickle order: "name", "version", "options";
        state order: "name", "version", "options";
        required: &["name"];
    }
    fields {
        /// The options.
        options: State => &State = defaulted(state, State::new()).always();
        /// The name of the step.
        name: String => &str = required(text);
        /// The version of the options.
        version: Number => Number = defaulted(number, 1.into()).always();
    }
}

impl NNCheckpointTransform {
    state_methods!();

    /// A step of a name, the version of its options, and the options.
    pub fn new(name: &str, version: impl Into<Number>, options: State) -> Self {
        Self {
            unknown: State::new(),
            options,
            name: name.to_owned(),
            version: version.into(),
        }
    }
}
