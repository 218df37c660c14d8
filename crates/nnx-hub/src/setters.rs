//! Methods that set one field and give the value back.

pub(crate) use nnx_checkpoint::__setters as setters;
