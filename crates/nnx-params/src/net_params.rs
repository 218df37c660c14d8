//! The parameters of any net.

use std::fmt;

use crate::{
    Error, NNConvParams, NNMoEParams, NNParams, NNTransformerParams, NNViTParams, Result, State,
    Value,
};

/// The parameters of a net, of whichever class they are.
///
/// ```
/// use nnx_params::{NetParams, State, Value};
///
/// let state = State::from_iter([
///     ("vocab_size", 5),
///     ("n_layers", 1),
///     ("d_model", 4),
///     ("n_heads", 1),
///     ("max_seq_len", 4),
/// ]);
/// let params = NetParams::resolve_from_state(&state)?;
/// assert_eq!(params.class(), "NNTransformerParams");
/// # Ok::<(), nnx_params::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetParams {
    /// A feed-forward or graph net.
    Base(NNParams),
    /// A feed-forward net of experts.
    MoE(NNMoEParams),
    /// A convolutional net.
    Conv(NNConvParams),
    /// A language model.
    Transformer(NNTransformerParams),
    /// A vision transformer.
    ViT(NNViTParams),
}

/// Calls the same method on the parameters, whichever they are.
macro_rules! each {
    ($net:expr, $params:ident => $call:expr) => {
        match $net {
            NetParams::Base($params) => $call,
            NetParams::MoE($params) => $call,
            NetParams::Conv($params) => $call,
            NetParams::Transformer($params) => $call,
            NetParams::ViT($params) => $call,
        }
    };
}

impl NetParams {
    /// Builds the class that wrote a state, which its keys tell: the first of `vocab_size`,
    /// `num_experts`, `conv_channels` and `patch_size` decides.
    ///
    /// # Errors
    ///
    /// A key of that class is missing, or a value is of a wrong type or outside its domain.
    pub fn resolve_from_state(state: &State) -> Result<Self> {
        if state.contains_key("vocab_size") {
            NNTransformerParams::from_state(state).map(Self::Transformer)
        } else if state.contains_key("num_experts") {
            NNMoEParams::from_state(state).map(Self::MoE)
        } else if state.contains_key("conv_channels") {
            NNConvParams::from_state(state).map(Self::Conv)
        } else if state.contains_key("patch_size") {
            NNViTParams::from_state(state).map(Self::ViT)
        } else {
            NNParams::from_state(state).map(Self::Base)
        }
    }

    /// Builds a class from its constructor's arguments; see [`NNParams::from_fields`].
    ///
    /// # Errors
    ///
    /// There is no class of this name, or the fields are not valid for it.
    pub fn from_fields(class: &str, fields: &State) -> Result<Self> {
        match class {
            NNParams::CLASS => NNParams::from_fields(fields).map(Self::Base),
            NNMoEParams::CLASS => NNMoEParams::from_fields(fields).map(Self::MoE),
            NNConvParams::CLASS => NNConvParams::from_fields(fields).map(Self::Conv),
            NNTransformerParams::CLASS => {
                NNTransformerParams::from_fields(fields).map(Self::Transformer)
            }
            NNViTParams::CLASS => NNViTParams::from_fields(fields).map(Self::ViT),
            _ => {
                let domain = "the class of a net's parameters";
                Err(Error::invalid(
                    "NetParams",
                    "class",
                    domain,
                    &Value::from(class),
                ))
            }
        }
    }

    /// The fields of a class in the order of declaration, in which a pickle lists them; none for
    /// a class of another name.
    pub fn fields_of(class: &str) -> Option<&'static [&'static str]> {
        match class {
            NNParams::CLASS => Some(NNParams::FIELDS),
            NNMoEParams::CLASS => Some(NNMoEParams::FIELDS),
            NNConvParams::CLASS => Some(NNConvParams::FIELDS),
            NNTransformerParams::CLASS => Some(NNTransformerParams::FIELDS),
            NNViTParams::CLASS => Some(NNViTParams::FIELDS),
            _ => None,
        }
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        each!(self, params => params.state())
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown).
    pub fn full_state(&self) -> State {
        each!(self, params => params.full_state())
    }

    /// The keys that [`resolve_from_state`](Self::resolve_from_state) met and this version does
    /// not know.
    pub fn unknown(&self) -> &State {
        self.base().unknown()
    }

    /// The fields that every net has.
    pub fn base(&self) -> &NNParams {
        match self {
            Self::Base(params) => params,
            Self::MoE(params) => params.base(),
            Self::Conv(params) => params.base(),
            Self::Transformer(params) => params.base(),
            Self::ViT(params) => params.base(),
        }
    }

    /// The Python class of the parameters.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Base(_) => NNParams::CLASS,
            Self::MoE(_) => NNMoEParams::CLASS,
            Self::Conv(_) => NNConvParams::CLASS,
            Self::Transformer(_) => NNTransformerParams::CLASS,
            Self::ViT(_) => NNViTParams::CLASS,
        }
    }
}

/// Writes Python's `str`.
impl fmt::Display for NetParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each!(self, params => params.fmt(f))
    }
}

macro_rules! from_params {
    ($($params:ident => $variant:ident),*) => {$(
        impl From<$params> for NetParams {
            fn from(params: $params) -> Self {
                Self::$variant(params)
            }
        }
    )*};
}

from_params!(
    NNParams => Base,
    NNMoEParams => MoE,
    NNConvParams => Conv,
    NNTransformerParams => Transformer,
    NNViTParams => ViT
);
