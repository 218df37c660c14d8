//! The adapter of a model: the thin matrices of LoRA, kept alone, and merged into their layers.

use std::path::Path;

use candle_core::{Tensor, Var};
use nnx_checkpoint::torch::TorchBuilder;
use nnx_checkpoint::{StateDict, StateValue};

use super::NNModel;
use crate::error::{Error, Result};
use crate::transforms::{LayerTransform, LayerTransforms};

impl NNModel {
    /// The matrices `lora_A` and `lora_B` of the layers that LoRA changed, under their names in the
    /// state dict and in its order. Empty if the model has no such layer.
    ///
    /// # Errors
    /// When the weights cannot be brought to the CPU.
    pub fn lora_state_dict(&self) -> Result<StateDict> {
        let names = self.lora_names()?;
        let tensors = self.net.parameters().tensors()?.into_iter();
        Ok(tensors
            .filter(|(name, _)| names.iter().any(|own| own == name))
            .collect())
    }

    /// Writes [`lora_state_dict`](Self::lora_state_dict) as NNx's `save_lora_weights` does: a
    /// `torch.save` of a dict of tensors. The file does not record which layers were changed.
    ///
    /// # Errors
    /// When the weights cannot be brought to the CPU, or writing fails; the target is unchanged then.
    pub fn save_lora_weights(&self, path: impl AsRef<Path>) -> Result<()> {
        let state = self.lora_state_dict()?;
        let mut builder = TorchBuilder::new();
        let mut pairs = Vec::new();
        for (name, value) in state.iter() {
            if let StateValue::Tensor(tensor) = value {
                let name = builder.text(name);
                pairs.push((name, builder.tensor(tensor)?));
            }
        }
        let root = builder.dict(pairs);
        Ok(builder.finish(root).save(path)?)
    }

    /// Sets the matrices of LoRA that a state dict has, and nothing else: NNx's `load_lora_weights`. It
    /// may be that of a whole model. The result is the number of matrices that were set.
    ///
    /// # Errors
    /// [`ErrorKind::WrongWeights`](crate::ErrorKind::WrongWeights) when a matrix has another shape, or
    /// is not a tensor; none is set then.
    pub fn load_lora_weights(&mut self, state: &StateDict) -> Result<usize> {
        let names = self.lora_names()?;
        let mut values = super::values_of(state);
        values.retain(|name, _| names.iter().any(|own| own == name));
        self.net.parameters().load(&values, false)?;
        Ok(values.len())
    }

    /// Adds the product of the matrices of each LoRA layer to the weight of the layer,
    /// `W + B·A·alpha / r`, and makes it a plain layer again: the model computes the same without the
    /// further products, up to rounding, and its weights are trained again unless they were frozen
    /// before LoRA. The result is the number of layers that were merged.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidConfiguration`](crate::ErrorKind::InvalidConfiguration) when the weight of
    /// such a layer is also that of another one, which the sum would change; the model is as before
    /// then.
    pub fn merge_lora(&mut self) -> Result<usize> {
        let mut values = self.values()?;
        let mut merged = Vec::new();
        for (path, transform) in LayerTransforms::parse(&self.transforms)?.iter() {
            let LayerTransform::Lora { rank, alpha, .. } = transform else {
                continue;
            };
            let name = |part: &str| format!("{path}.{part}");
            let weight = self.sum(path, rank, alpha)?;
            for part in ["lora_A", "lora_B", "base.weight"] {
                values.shift_remove(&name(part));
            }
            values.insert(name("weight"), nnx_checkpoint::Tensor::try_from(&weight)?);
            if let Some(bias) = values.shift_remove(&name("base.bias")) {
                values.insert(name("bias"), bias);
            }
            merged.push(path.to_owned());
        }
        let kept = self.transforms.iter().filter(|one| one.name() != "lora");
        let kept: Vec<_> = kept.cloned().collect();
        let mut plain = self.rebuilt(&values, kept)?;
        for (name, _) in plain.net.parameters().distinct() {
            let is_frozen = self.frozen.contains(name);
            // A layer that was frozen before LoRA, and was trained since, is trained.
            let was_thawed = || {
                let (path, part) = name.rsplit_once('.').unwrap_or_default();
                let base = format!("{path}.base.{part}");
                merged.iter().any(|one| one == path) && !self.frozen.contains(&base)
            };
            if is_frozen && !was_thawed() {
                plain.frozen.insert(name);
            }
        }
        *self = plain;
        Ok(merged.len())
    }

    /// The weight of a LoRA layer with the product of its matrices added.
    fn sum(&self, path: &str, rank: usize, alpha: f64) -> Result<Tensor> {
        let parameters = self.net.parameters();
        let find = |part: &str| -> Result<&Var> {
            let name = format!("{path}.{part}");
            parameters
                .get(&name)
                .ok_or_else(|| Error::configuration(format!("the net has no parameter `{name}`")))
        };
        let [base, a, b] = [find("base.weight")?, find("lora_A")?, find("lora_B")?];
        let id = base.as_tensor().id();
        let own = format!("{path}.base.weight");
        let mut others = parameters.iter();
        if let Some((other, _)) =
            others.find(|(name, var)| *name != own && var.as_tensor().id() == id)
        {
            return Err(Error::configuration(format!(
                "the weight of `{path}` is also `{other}`: merging LoRA would change both"
            )));
        }
        let product = b.as_detached_tensor().matmul(&a.as_detached_tensor())?;
        let scaled = (product * crate::linear::scaling(alpha, rank))?;
        Ok((base.as_detached_tensor() + scaled)?)
    }

    /// The names of the matrices of LoRA, as the recorded transforms give them: a layer of one's own
    /// that is merely called `lora_A` is not among them.
    fn lora_names(&self) -> Result<Vec<String>> {
        let transforms = LayerTransforms::parse(&self.transforms)?;
        let layers = transforms
            .iter()
            .filter(|(_, transform)| matches!(transform, LayerTransform::Lora { .. }));
        Ok(layers
            .flat_map(|(path, _)| [format!("{path}.lora_A"), format!("{path}.lora_B")])
            .collect())
    }
}
