//! The typed configurations of NNx.

/// stub
#[derive(Debug, thiserror::Error)]
#[error("stub")]
pub struct Error;
