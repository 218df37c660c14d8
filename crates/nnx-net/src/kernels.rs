#![doc = include_str!("kernels/README.md")]

pub(crate) mod adjacency;
pub(crate) mod attention;
pub(crate) mod conv2d;
pub(crate) mod cpu;
pub(crate) mod cross_entropy;
pub(crate) mod dispatch;
pub(crate) mod element;
pub(crate) mod float;
pub(crate) mod graph_attention;
pub(crate) mod linear;
mod matmul;
pub(crate) mod max_pool2d;
pub(crate) mod neighbours;
pub(crate) mod operand;
pub(crate) mod rms_norm;
pub(crate) mod rotary;
pub(crate) mod rows;
pub(crate) mod softmax;
pub(crate) mod storage;
pub(crate) mod swiglu;
pub(crate) mod threads;

#[cfg(test)]
mod pytorch_tests;
#[cfg(test)]
mod tests;
