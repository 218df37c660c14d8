//! The kinds of nets, and the classes of their parameters.
//!
//! A new class has a file in this folder, and a line in each of the tables below.

mod nn_conv_params;
mod nn_moe_params;
mod nn_params;
mod nn_transformer_params;
mod nn_vit_params;

use std::fmt;

use crate::class::{ClassTable, PickledInstance, PythonClass, python_enum};
use crate::error::{Error, Result};
use crate::value::{State, Value};

pub use self::nn_conv_params::{NNConvParams, NNConvParamsBuilder};
pub use self::nn_moe_params::{NNMoEParams, NNMoEParamsBuilder};
pub use self::nn_params::{NNParams, NNParamsBuilder};
pub use self::nn_transformer_params::{NNTransformerParams, NNTransformerParamsBuilder};
pub use self::nn_vit_params::{NNViTParams, NNViTParamsBuilder};

/// Defines the kinds of nets, each with the class that configures it.
macro_rules! nets {
    ($( $(#[$doc:meta])* $kind:ident = $name:literal => $value:literal, $class:ident; )*) => {
        python_enum! {
            /// The built-in networks.
            Nets in "nnx.nn.enum.nets" {
                $( $(#[$doc])* $kind = $name => $value, )*
            }
        }

        impl Nets {
            /// The Python class of the parameters that configure a net of this kind.
            pub fn params_class(self) -> &'static str {
                match self {
                    $( Self::$kind => $class::CLASS, )*
                }
            }
        }
    };
}

nets! {
    /// Convolutions, then fully connected layers.
    Conv = "CONV" => "conv", NNConvParams;
    /// Fully connected layers.
    FeedFwd = "FEED_FWD" => "feed_fwd", NNParams;
    /// Fully connected layers of several experts each.
    FeedFwdMoe = "FEED_FWD_MOE" => "feed_fwd_moe", NNMoEParams;
    /// Graph attention.
    GraphAtt = "GRAPH_ATT" => "graph_att", NNParams;
    /// Graph convolution.
    GraphConv = "GRAPH_CONV" => "graph_conv", NNParams;
    /// GraphSAGE.
    GraphSage = "GRAPH_SAGE" => "graph_sage", NNParams;
    /// A decoder-only language model.
    Transformer = "TRANSFORMER" => "transformer", NNTransformerParams;
    /// A vision transformer's encoder.
    Vit = "VIT" => "vit", NNViTParams;
}

impl Nets {
    /// Whether a net of this kind takes a graph: features of nodes, and the edges between them.
    pub fn is_graph(self) -> bool {
        matches!(self, Self::GraphAtt | Self::GraphConv | Self::GraphSage)
    }
}

/// Defines the parameters of any net. A state is of the first class that is told by a key that the
/// state has, and of the class at the top if there is none.
macro_rules! net_params {
    (
        $(#[$last_doc:meta])* $last:ident($last_class:ident) otherwise;
        $( $(#[$doc:meta])* $variant:ident($class:ident) told by $key:literal; )*
    ) => {
        /// The parameters of a net, of any class.
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
            $(#[$last_doc])*
            $last($last_class),
            $( $(#[$doc])* $variant($class), )*
        }

        /// Calls the same method on the parameters of each class.
        macro_rules! each {
            ($net:expr, $params:ident => $call:expr) => {
                match $net {
                    NetParams::$last($params) => $call,
                    $( NetParams::$variant($params) => $call, )*
                }
            };
        }

        impl NetParams {
            /// The classes, as a reader and a writer of pickles need to know them.
            pub const TABLES: &'static [&'static ClassTable] =
                &[$last_class::TABLE, $( $class::TABLE ),*];

            /// Builds the class that wrote a state, which its keys tell: the first of
            #[doc = concat!($( "`", $key, "`, ", )* "that it has decides.")]
            ///
            /// # Errors
            ///
            /// A key of that class is missing, or a value is of a wrong type or outside its domain.
            pub fn resolve_from_state(state: &State) -> Result<Self> {
                $( if state.contains_key($key) {
                    return $class::from_state(state).map(Self::$variant);
                } )*
                $last_class::from_state(state).map(Self::$last)
            }

            /// Builds a class from its constructor's arguments; see [`NNParams::from_fields`].
            ///
            /// # Errors
            ///
            /// There is no class of this name, or the fields are not valid for it.
            pub fn from_fields(class: &str, fields: &State) -> Result<Self> {
                match class {
                    $last_class::CLASS => $last_class::from_fields(fields).map(Self::$last),
                    $( $class::CLASS => $class::from_fields(fields).map(Self::$variant), )*
                    _ => {
                        let domain = "the class of a net's parameters";
                        Err(Error::invalid("NetParams", "class", domain, &Value::from(class)))
                    }
                }
            }

            /// The fields that every net has.
            pub fn base(&self) -> &NNParams {
                match self {
                    Self::$last(params) => params,
                    $( Self::$variant(params) => params.base(), )*
                }
            }
        }

        $( impl From<$class> for NetParams {
            fn from(params: $class) -> Self {
                Self::$variant(params)
            }
        } )*

        impl From<$last_class> for NetParams {
            fn from(params: $last_class) -> Self {
                Self::$last(params)
            }
        }
    };
}

net_params! {
    /// A feed-forward or graph net.
    Base(NNParams) otherwise;
    /// A language model.
    Transformer(NNTransformerParams) told by "vocab_size";
    /// A feed-forward net of experts.
    MoE(NNMoEParams) told by "num_experts";
    /// A convolutional net.
    Conv(NNConvParams) told by "conv_channels";
    /// A vision transformer.
    ViT(NNViTParams) told by "patch_size";
}

impl NetParams {
    /// The fields of a class in the order of declaration, in which a pickle lists them; none for
    /// a class of another name.
    pub fn fields_of(class: &str) -> Option<&'static [&'static str]> {
        let table = Self::TABLES.iter().find(|table| table.class == class)?;
        Some(table.fields)
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

    /// The Python class of the parameters.
    pub fn class(&self) -> &'static str {
        each!(self, params => table_of(params)).class
    }

    /// The parameters as a pickle has them.
    pub fn pickled(&self) -> PickledInstance {
        each!(self, params => params.pickled())
    }
}

fn table_of<T: PythonClass>(_: &T) -> &'static ClassTable {
    T::TABLE
}

/// Writes Python's `str`.
impl fmt::Display for NetParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each!(self, params => params.fmt(f))
    }
}
