#![doc = include_str!("kernels/README.md")]

pub(crate) mod adjacency;
pub(crate) mod attention;
pub(crate) mod conv2d;
pub(crate) mod cpu;
pub(crate) mod cross_entropy;
mod element;
mod float;
pub(crate) mod graph_attention;
pub(crate) mod linear;
mod matmul;
mod matrix;
pub(crate) mod max_pool2d;
pub(crate) mod neighbours;
pub(crate) mod operation;
pub(crate) mod relu;
pub(crate) mod rms_norm;
pub(crate) mod rotary;
mod rows;
pub(crate) mod softmax;
pub(crate) mod swiglu;
mod threads;
mod view;

#[cfg(test)]
mod pytorch_tests;
#[cfg(test)]
mod tests;
