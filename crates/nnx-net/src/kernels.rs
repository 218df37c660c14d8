#![doc = include_str!("kernels/README.md")]

pub(crate) mod conv2d;
pub(crate) mod cpu;
pub(crate) mod element;
pub(crate) mod linear;
mod matmul;
pub(crate) mod max_pool2d;
pub(crate) mod storage;
pub(crate) mod threads;

#[cfg(test)]
mod tests;
