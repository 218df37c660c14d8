//! The parameters of feed-forward nets of experts.

use std::fmt;

use crate::fields::{Fields, setters, split_state};
use crate::nn_params::{self, base_setters};
use crate::{Error, NNParams, Result, State};

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
pub struct NNMoEParams {
    base: NNParams,
    num_experts: usize,
    top_k: usize,
}

const DEFAULT_TOP_K: usize = 2;

impl NNMoEParams {
    /// The Python class.
    pub const CLASS: &'static str = "NNMoEParams";

    /// The fields in the order of declaration, in which a pickle lists them.
    pub const FIELDS: &'static [&'static str] = &[
        "dropout_prob",
        "n_heads",
        "activation",
        "activations",
        "dropout_probs",
        "input_dim",
        "output_dim",
        "hidden_dims",
        "_dims",
        "num_experts",
        "top_k",
    ];

    /// Starts from the sizes of input and output and the number of experts of each hidden layer.
    pub fn builder(input_dim: usize, output_dim: usize, num_experts: usize) -> NNMoEParamsBuilder {
        let fields = State::from_iter([
            ("input_dim", input_dim),
            ("output_dim", output_dim),
            ("num_experts", num_experts),
        ]);
        NNMoEParamsBuilder { fields }
    }

    /// Builds from the constructor's arguments, an enum being its text.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected, of a wrong type or outside its domain; there is no hidden
    /// layer; or `top_k` is above `num_experts`.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        let base = NNParams::base(&fields)?;
        if base.hidden_dims().is_none_or(<[usize]>::is_empty) {
            let domain = "at least one hidden layer";
            return Err(Error::invalid(
                Self::CLASS,
                "hidden_dims",
                domain,
                fields.get("hidden_dims"),
            ));
        }
        let num_experts = fields.count("num_experts", 2)?;
        let top_k = fields.count_or("top_k", 1, DEFAULT_TOP_K)?;
        if top_k > num_experts {
            return Err(Error::inconsistent(
                Self::CLASS,
                "top_k",
                "at most `num_experts`",
                format!("`{top_k}` with `{num_experts}` experts"),
            ));
        }
        Ok(Self {
            base,
            num_experts,
            top_k,
        })
    }

    /// Builds from what [`state`](Self::state) returns.
    ///
    /// # Errors
    ///
    /// A key is missing, or a value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let required = [nn_params::REQUIRED, &["num_experts"]].concat();
        let optional = [nn_params::OPTIONAL, &["top_k"]].concat();
        let (mut known, unknown) = split_state(Self::CLASS, state, &required, &optional)?;
        nn_params::read_texts(Self::CLASS, &mut known)?;
        let mut params = Self::from_fields(&known)?;
        params.base = params.base.with_unknown(unknown);
        Ok(params)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        let mut state = self.base.state();
        state.insert("num_experts", self.num_experts);
        if self.top_k != DEFAULT_TOP_K {
            state.insert("top_k", self.top_k);
        }
        state
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown).
    pub fn full_state(&self) -> State {
        self.state().followed_by(self.unknown())
    }

    /// The keys that [`from_state`](Self::from_state) met and this version does not know.
    pub fn unknown(&self) -> &State {
        self.base.unknown()
    }

    /// The fields that every net has.
    pub fn base(&self) -> &NNParams {
        &self.base
    }

    /// The number of experts of each hidden layer, at least 2.
    pub fn num_experts(&self) -> usize {
        self.num_experts
    }

    /// The number of experts that each sample goes to.
    pub fn top_k(&self) -> usize {
        self.top_k
    }
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

/// Collects the fields of [`NNMoEParams`]; see [`NNMoEParams::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct NNMoEParamsBuilder {
    fields: State,
}

impl NNMoEParamsBuilder {
    base_setters!();

    setters! {
        /// The number of experts that each sample goes to. Default: 2.
        top_k: usize as usize,
    }

    /// Builds the parameters.
    ///
    /// # Errors
    ///
    /// As [`NNMoEParams::from_fields`].
    pub fn build(self) -> Result<NNMoEParams> {
        NNMoEParams::from_fields(&self.fields)
    }
}
