//! The parameters of registered optimizers.

use std::fmt;

use crate::class::{defaulted, not_negative, object, required, state_methods};
use crate::number::Number;
use crate::registry::OptimizerFactorySpec;
use crate::repr::float::scientific;
use crate::repr::repr;
use crate::training::optimizer_class::{check_group_states, optimizer_class};
use crate::value::State;

optimizer_class! {
    class {
        /// The parameters of an optimizer that a Python program registered.
        ///
        /// ```
        /// use nnx_params::{NNOptimFactoryParams, OptimizerFactorySpec, State};
        ///
        /// let factory = OptimizerFactorySpec::new("my.opt", 2, State::new())?;
        /// let params = NNOptimFactoryParams::builder(factory, 0.1).build()?;
        /// assert_eq!(params.weight_decay().as_f64(), 0.0);
        /// # Ok::<(), nnx_params::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq)]
        NNOptimFactoryParams { unknown: State } in "nnx.optimizers";
        pickle order: "factory", "max_lr", "weight_decay", "grad_clip_norm";
        state order: "factory", "max_lr", "weight_decay", "grad_clip_norm";
        required: &["factory", "max_lr"];
        read state: |known: &mut State| check_group_states(known);
    }
    fields {
        /// The factory.
        factory: OptimizerFactorySpec => &OptimizerFactorySpec = required(object);
    }
    weight_decay {
        defaulted(not_negative, 0.0.into()).always(),
            set impl Into<Number> as Number, "Default: 0.0."
    }
    more fields {}
    builder {
        /// Starts from the factory and the learning rate.
        NNOptimFactoryParamsBuilder for NNOptimFactoryParams(
            factory: OptimizerFactorySpec, max_lr: impl Into<Number> as Number
        );
    }
}

impl NNOptimFactoryParams {
    state_methods!();
}

/// Writes Python's `str`.
impl fmt::Display for NNOptimFactoryParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "[factory={}, max_lr={}, weight_decay={}, grad_clip={}, accum={}]",
            self.factory,
            scientific(self.max_lr.as_f64(), 0),
            scientific(self.weight_decay.as_f64(), 0),
            repr(&self.grad_clip_norm.into()),
            self.accumulate_grad_batches
        )
    }
}
