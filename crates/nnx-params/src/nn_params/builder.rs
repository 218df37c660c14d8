//! The builder of the base parameters, and the setters that the other nets' builders share.

use crate::{NNParams, Result, State};

/// Collects the fields of [`NNParams`]; see [`NNParams::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct NNParamsBuilder {
    fields: State,
}

/// The setters of the fields that every net has.
macro_rules! base_setters {
    () => {
        $crate::fields::setters! {
            /// The probability of dropping a value, from 0 to 1. There is no default.
            dropout_prob: impl Into<$crate::Number> as $crate::Number,
            /// The number of attention heads. Default: none.
            n_heads: usize as usize,
            /// The activation of the hidden layers. Default: leaky ReLU.
            activation: impl Into<Option<$crate::Activations>> as Option<$crate::Activations>,
        }

        /// The activations of the single hidden layers, one each. Default: none.
        pub fn activations(
            mut self,
            activations: impl IntoIterator<Item = $crate::Activations>,
        ) -> Self {
            let activations: Vec<_> = activations.into_iter().collect();
            self.fields.insert("activations", activations);
            self
        }

        /// The dropout probabilities of the single hidden layers, one each. Default: none.
        pub fn dropout_probs<T: Into<$crate::Number>>(
            mut self,
            dropout_probs: impl IntoIterator<Item = T>,
        ) -> Self {
            let dropout_probs: Vec<$crate::Number> =
                dropout_probs.into_iter().map(Into::into).collect();
            self.fields.insert("dropout_probs", dropout_probs);
            self
        }

        /// The widths of the hidden layers. Default: none.
        pub fn hidden_dims(mut self, hidden_dims: impl IntoIterator<Item = usize>) -> Self {
            let hidden_dims: Vec<_> = hidden_dims.into_iter().collect();
            self.fields.insert("hidden_dims", hidden_dims);
            self
        }
    };
}

pub(crate) use base_setters;

impl NNParamsBuilder {
    pub(super) fn new(input_dim: usize, output_dim: usize) -> Self {
        let fields = State::from_iter([("input_dim", input_dim), ("output_dim", output_dim)]);
        Self { fields }
    }

    base_setters!();

    /// Builds the parameters.
    ///
    /// # Errors
    ///
    /// A field is missing or outside its domain.
    pub fn build(self) -> Result<NNParams> {
        NNParams::from_fields(&self.fields)
    }
}
