//! Expected values are those of NNx 0.4.1 on PyTorch 2.15 for the lines in the comments.

mod batches;
mod build;
mod forward;
mod freezing;
mod inputs;
mod loading;
mod predict;
mod state_dicts;
mod weights;

use nnx_params::{Activations, NNEvaluationDataPoint, NNParams, Nets};

use super::*;

fn feed_fwd() -> NNModelParams {
    NNModelParams::builder(Nets::FeedFwd).build().unwrap()
}

fn net_params(dims: &[usize]) -> NetParams {
    let [input, hidden @ .., output] = dims else {
        panic!("too few dims")
    };
    NNParams::builder(*input, *output)
        .hidden_dims(hidden.iter().copied())
        .dropout_prob(0.0)
        .build()
        .unwrap()
        .into()
}

fn model(dims: &[usize], seed: u64) -> NNModel {
    NNModel::new(net_params(dims), feed_fwd(), seed).unwrap()
}

/// The model of the example in the comments:
/// `NNParams(input_dim=4, output_dim=2, hidden_dims=[6, 5, 4], dropout_prob=0.2, activation=RELU,
/// activations=[TANH, SOFTMAX, ELU], dropout_probs=[0.0, 0.25, 0.5])` after `manual_seed(42)`.
fn per_layer() -> NNModel {
    let params = NNParams::builder(4, 2)
        .hidden_dims([6, 5, 4])
        .dropout_prob(0.2)
        .activation(Activations::Relu)
        .activations([Activations::Tanh, Activations::Softmax, Activations::Elu])
        .dropout_probs([0.0, 0.25, 0.5])
        .build()
        .unwrap();
    NNModel::new(params.into(), feed_fwd(), 42).unwrap()
}

fn rows() -> Tensor {
    Tensor::new(
        &[[1_f32, 2.0, 3.0, 4.0], [-0.5, 0.25, 0.0, 8.0]],
        &Device::Cpu,
    )
    .unwrap()
}

fn idp() -> NNIterationDataPoint {
    let edp = NNEvaluationDataPoint::builder().loss(0.5).build().unwrap();
    NNIterationDataPoint::new(0.01, 0, 0, 0, edp)
}

fn bytes_of(state: &StateDict) -> Vec<u8> {
    state
        .tensors()
        .flat_map(|(_, tensor)| tensor.to_bytes().unwrap().into_owned())
        .collect()
}
