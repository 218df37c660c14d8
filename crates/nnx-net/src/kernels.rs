#![doc = include_str!("kernels/README.md")]

pub(crate) mod element;
pub(crate) mod threads;
