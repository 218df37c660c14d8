//! A model and a data set that remember what they were asked for.

use std::sync::{Arc, Mutex};

use candle_core::Tensor;
use nnx_checkpoint::StateDict;
use nnx_net::{Batch, BatchOutput, Generator, NNModel};
use nnx_params::{NNCheckpointTransform, NNModelParams, NetParams};
use nnx_train::{Dataset, Model, Parameter, Result, TensorDataset};

/// A model that remembers its generator before and after each forward pass in training.
pub(super) struct Spy {
    pub(super) model: NNModel,
    pub(super) passes: Vec<(Generator, Generator)>,
}

impl Spy {
    fn watched<T>(
        &mut self,
        training: bool,
        run: impl FnOnce(&mut NNModel) -> Result<T>,
    ) -> Result<T> {
        let before = self.model.generator().clone();
        let result = run(&mut self.model);
        let after = self.model.generator().clone();
        if training {
            self.passes.push((before, after));
        } else {
            assert!(
                before.to_state() == after.to_state(),
                "evaluation draws nothing"
            );
        }
        result
    }
}

impl Model for Spy {
    fn params(&self) -> &NNModelParams {
        self.model.params()
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.model.parameters()
    }

    fn generator(&mut self) -> &mut Generator {
        self.model.generator_mut()
    }

    fn forward(&mut self, batch: &Batch, training: bool) -> Result<Tensor> {
        self.watched(training, |model| Model::forward(model, batch, training))
    }

    fn outputs(&mut self, batch: &Batch, training: bool) -> Result<BatchOutput> {
        self.watched(training, |model| model.outputs(batch, training))
    }

    fn net_params(&self) -> Option<&NetParams> {
        Some(self.model.net_params())
    }

    fn transforms(&self) -> &[NNCheckpointTransform] {
        self.model.transforms()
    }

    fn state_dict(&self) -> Result<StateDict> {
        Model::state_dict(&self.model)
    }

    fn load_state_dict(&mut self, state: &StateDict) -> Result<()> {
        Model::load_state_dict(&mut self.model, state)
    }
}

/// Rows that remember which of them were asked for.
#[derive(Clone)]
pub(super) struct SpyRows {
    pub(super) rows: TensorDataset,
    pub(super) asked: Arc<Mutex<Vec<Vec<usize>>>>,
}

impl Dataset for SpyRows {
    fn rows(&self) -> usize {
        self.rows.rows()
    }

    fn batch(&self, rows: &[usize]) -> Result<Batch> {
        self.asked.lock().unwrap().push(rows.to_vec());
        self.rows.batch(rows)
    }
}
