//! The parameters of feed-forward nets of experts.

use std::fmt;

use crate::class::{Arguments, count, defaulted, python_class, required, state_methods};
use crate::error::{Error, Result};
use crate::net::nn_params::{self, NNParams, base_setters};

python_class! {
    class {
        /// The parameters of a feed-forward net whose hidden layers choose among experts.
        ///
        /// ```
        /// use nnx_params::NNMoEParams;
        ///
        /// let params = NNMoEParams::builder(4, 3, 4).hidden_dims([6]).dropout_prob(0.0).build()?;
        /// assert_eq!(params.top_k(), 2);
        /// # Ok::<(), nnx_params::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq)]
        NNMoEParams { base: NNParams } in "nnx.nn.params.nn_moe_params";
        errors: "there is no hidden layer; or `top_k` is above `num_experts`";
        required: nn_params::REQUIRED, &["num_experts"];
        check head: check_layers;
        check: NNMoEParams::check;
        read state: |known| nn_params::read_texts(NNMoEParams::CLASS, known);
    }
    fields {
        /// The number of experts of each hidden layer, at least 2.
        num_experts: usize => usize = required(count::<2>);
        /// The number of experts that each sample goes to.
        top_k: usize => usize = defaulted(count::<1>, 2), set usize, "Default: 2.";
    }
    builder {
        /// Starts from the sizes of input and output and the number of experts of each hidden
        /// layer.
        NNMoEParamsBuilder for NNMoEParams(
            input_dim: usize, output_dim: usize, num_experts: usize
        );
    }
}

impl NNMoEParamsBuilder {
    base_setters!();
}

impl NNMoEParams {
    state_methods!();

    /// The fields that every net has.
    pub fn base(&self) -> &NNParams {
        &self.base
    }

    fn check(self, _: &Arguments<'_>) -> Result<Self> {
        let (num_experts, top_k) = (self.num_experts, self.top_k);
        if top_k > num_experts {
            return Err(Error::inconsistent(
                Self::CLASS,
                "top_k",
                "at most `num_experts`",
                format!("`{top_k}` with `{num_experts}` experts"),
            ));
        }
        Ok(self)
    }
}

fn check_layers(base: &NNParams, arguments: &Arguments<'_>) -> Result<()> {
    if base.hidden_dims().is_none_or(<[usize]>::is_empty) {
        return Err(arguments.invalid("hidden_dims", "at least one hidden layer"));
    }
    Ok(())
}

/// Writes Python's `str`.
impl fmt::Display for NNMoEParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.write_str(Self::CLASS, f)?;
        write!(
            f,
            ", num_experts={}, top_k={})",
            self.num_experts, self.top_k
        )
    }
}
