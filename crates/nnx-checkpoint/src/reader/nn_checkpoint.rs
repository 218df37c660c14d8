//! The class `NNCheckpoint` as pickles have it, in NNx 0.2.3 and 0.4.1.

/// The class, with its module.
pub(crate) const CLASS: (&str, &str) = ("nnx.nn.params.nn_checkpoint", "NNCheckpoint");

/// The field that holds the state dict.
pub(crate) const NET_STATE: &str = "net_state";

/// The fields in declaration order: a pickle has their values as a list.
pub(crate) const FIELDS: &[&str] = &[
    "net_params",
    NET_STATE,
    "model_params",
    "idp",
    "transforms",
    "training_state_id",
    "training_state_present",
];
