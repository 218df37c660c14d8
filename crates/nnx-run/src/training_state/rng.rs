//! The states of random generators.

use nnx_checkpoint::Tensor;

use super::data::Data;

/// The states of the random generators, as they were read. This crate draws no numbers from them; it
/// keeps them so that Python can resume with them.
#[derive(Clone, Copy, Debug)]
pub struct RngState<'a>(&'a Data);

/// The state of one generator of a data loader.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GeneratorState<'a> {
    /// The seed with which it started; `None` in states older than version 3.
    pub initial_seed: Option<i128>,
    /// The state, a uint8 tensor.
    pub state: &'a Tensor,
}

impl<'a> RngState<'a> {
    pub(super) fn new(data: &'a Data) -> Self {
        Self(data)
    }

    /// All states, by name.
    pub fn data(&self) -> &'a Data {
        self.0
    }

    /// The state of Python's generator: `(3, (625 integers), None)`.
    pub fn python(&self) -> Option<&'a Data> {
        self.part("python")
    }

    /// The state of NumPy's generator: its kind, 624 integers, and the position in them.
    pub fn numpy(&self) -> Option<&'a Data> {
        self.part("numpy")
    }

    /// The state of PyTorch's generator on the CPU.
    pub fn torch(&self) -> Option<&'a Tensor> {
        self.part("torch").and_then(Data::as_tensor)
    }

    /// The states of PyTorch's generators on the CUDA devices, in order.
    pub fn cuda(&self) -> Vec<&'a Tensor> {
        let states = self.part("cuda").and_then(Data::items).unwrap_or_default();
        states.iter().filter_map(Data::as_tensor).collect()
    }

    /// The states of the generators of the training's data loader.
    pub fn train_generators(&self) -> Vec<GeneratorState<'a>> {
        let states = self.part("train_generators").and_then(Data::items);
        let states = states.unwrap_or_default().iter();
        states
            .filter_map(|state| match state {
                Data::Tensor(state) => Some(GeneratorState {
                    initial_seed: None,
                    state,
                }),
                state => Some(GeneratorState {
                    initial_seed: state.get("initial_seed").and_then(Data::as_int),
                    state: state.get("state").and_then(Data::as_tensor)?,
                }),
            })
            .collect()
    }

    fn part(&self, key: &str) -> Option<&'a Data> {
        self.0.get(key).filter(|part| !part.is_none())
    }
}
