//! Changing the layers of a model.

use indexmap::IndexMap;
use nnx_checkpoint::{Dtype, Tensor};
use nnx_params::NNCheckpointTransform;

use super::NNModel;
use crate::error::{Error, Result};
use crate::init::Init;
use crate::param_builder::ParamBuilder;
use crate::rng::Generator;
use crate::svd::Svd;
use crate::transforms::{LayerTransform, LayerTransforms};

impl NNModel {
    /// Changes linear layers, and records the change: NNx's `TransformRecipe.materialize`.
    ///
    /// `lora` keeps the weights of a layer, which are no longer trained, and draws its first thin
    /// matrix from the model's [`generator`](Self::generator) as Python does. `low_rank` replaces the
    /// weight by its best factors; each pair of them has the sign that makes the largest element of
    /// the second factor's column positive, where Python's depends on LAPACK.
    ///
    /// # Errors
    /// When a transform is unknown or does not fit the net; the model is as before then.
    pub fn apply_transforms(&mut self, transforms: &[NNCheckpointTransform]) -> Result<()> {
        let all: Vec<_> = self.transforms.iter().chain(transforms).cloned().collect();
        // All are checked together, and the new ones are made.
        LayerTransforms::parse(&all)?;
        let mut values = self.values()?;
        let mut generator = self.generator().clone();
        for (path, transform) in LayerTransforms::parse(transforms)?.iter() {
            change(&mut values, path, transform, &mut generator)?;
        }
        let mut changed = self.rebuilt(&values, all)?;
        changed.frozen.extend(&self.frozen);
        changed.set_generator(generator);
        *self = changed;
        Ok(())
    }

    /// The weights by their names in the state dict.
    pub(super) fn values(&self) -> Result<IndexMap<String, Tensor>> {
        let tensors = self.net.parameters().tensors()?.into_iter();
        Ok(tensors
            .map(|(name, tensor)| (name.to_owned(), tensor))
            .collect())
    }

    /// A model of the same configuration, mode and generator with other layers, and their weights.
    pub(super) fn rebuilt(
        &self,
        values: &IndexMap<String, Tensor>,
        transforms: Vec<NNCheckpointTransform>,
    ) -> Result<Self> {
        let given = values.iter();
        let given = given.map(|(name, value)| (name.as_str(), Some(value)));
        let replayed = LayerTransforms::parse(&transforms)?;
        let builder = ParamBuilder::from_values(given.collect(), replayed, &self.device);
        let (net_params, params) = (self.net_params.clone(), self.params.clone());
        let mut model = Self::assemble(net_params, params, self.device.clone(), builder)?;
        model.transforms = transforms;
        model.training = self.training;
        model.set_generator(self.generator().clone());
        Ok(model)
    }
}

/// Makes the parameters of a changed layer from those of the layer.
fn change(
    values: &mut IndexMap<String, Tensor>,
    path: &str,
    transform: LayerTransform,
    generator: &mut Generator,
) -> Result<()> {
    let name = |part: &str| format!("{path}.{part}");
    let weight = values.swap_remove(&name("weight"));
    let (Some(weight), [outputs, inputs]) = (
        weight.clone(),
        weight.as_ref().map_or(&[][..], Tensor::shape),
    ) else {
        return Err(Error::configuration(format!(
            "a transform changes `{path}`, which is not a linear layer of the net"
        )));
    };
    let (outputs, inputs) = (*outputs, *inputs);
    let bias = values.swap_remove(&name("bias"));
    match transform {
        LayerTransform::Lora { rank, .. } => {
            let fan_in = inputs;
            let thin = Init::KaimingUniform { fan_in }.draw(&[rank, inputs], generator)?;
            values.insert(name("lora_A"), tensor(&[rank, inputs], &thin)?);
            let zeros = Init::Constant(0.0).draw(&[outputs, rank], generator)?;
            values.insert(name("lora_B"), tensor(&[outputs, rank], &zeros)?);
            values.insert(name("base.weight"), weight);
            values.extend(bias.map(|bias| (name("base.bias"), bias)));
        }
        LayerTransform::LowRank { rank } => {
            if rank > inputs.min(outputs) {
                return Err(Error::configuration(format!(
                    "transform `low_rank`: the rank `{rank}` of `{path}` exceeds the layer's `{inputs}` \
                     inputs or `{outputs}` outputs"
                )));
            }
            let (down, up) = factors(&weight, outputs, inputs, rank)?;
            values.insert(name("0.weight"), tensor(&[rank, inputs], &down)?);
            values.insert(name("1.weight"), tensor(&[outputs, rank], &up)?);
            values.extend(bias.map(|bias| (name("1.bias"), bias)));
        }
    }
    Ok(())
}

/// `S·Vᵀ` and `U` of a weight `[outputs, inputs]`, in row-major order.
#[expect(clippy::cast_possible_truncation, reason = "weights are of float32")]
fn factors(
    weight: &Tensor,
    outputs: usize,
    inputs: usize,
    rank: usize,
) -> Result<(Vec<f32>, Vec<f32>)> {
    let bytes = weight.to_bytes()?;
    let elements = bytes.as_chunks::<4>().0.iter();
    let weight: Vec<f32> = elements.map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let svd = Svd::new(&weight, outputs, inputs);
    let mut down = Vec::with_capacity(rank * inputs);
    let mut up = vec![0.0; outputs * rank];
    let parts = svd.values.iter().zip(&svd.left).zip(&svd.right).take(rank);
    for (column, ((value, left), right)) in parts.enumerate() {
        down.extend(right.iter().map(|x| (x * value) as f32));
        for (row, x) in left.iter().enumerate() {
            up[row * rank + column] = *x as f32;
        }
    }
    Ok((down, up))
}

fn tensor(shape: &[usize], values: &[f32]) -> Result<Tensor> {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    Ok(Tensor::from_bytes(Dtype::Float32, shape, bytes)?)
}
