//! Weights for candle's layers out of any open checkpoint.

use std::sync::Arc;

use candle_core::{DType, Device, Error, Result, Shape, Tensor};
use candle_nn::var_builder::SimpleBackend;
use candle_nn::{Init, VarBuilder};

use crate::CheckpointReader;

/// A checkpoint, and the prefix of the names that a model asks for.
struct Weights {
    reader: Arc<CheckpointReader>,
    prefix: String,
}

impl CheckpointReader {
    /// A `VarBuilder` of candle's over the tensors of this checkpoint, of whatever format it is:
    /// each is fetched when a layer asks for it, cast to `dtype` and moved to the device.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use candle_core::{DType, Device, Module, Tensor};
    /// use nnx_checkpoint::{CheckpointReader, Dtype, torch::TorchBuilder};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("model.pt");
    /// # let mut builder = TorchBuilder::new();
    /// # let mut pairs = Vec::new();
    /// # for (name, shape, values) in [("fc.weight", &[2, 2][..], vec![1f32, 0.0, 0.0, 2.0]), ("fc.bias", &[2], vec![3.0, 4.0])] {
    /// #     let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    /// #     let tensor = nnx_checkpoint::Tensor::from_bytes(Dtype::Float32, shape, bytes)?;
    /// #     pairs.push((builder.text(name), builder.tensor(&tensor)?));
    /// # }
    /// # let root = builder.dict(pairs);
    /// # builder.finish(root).save(&path)?;
    /// let checkpoint = Arc::new(CheckpointReader::open(&path)?);
    /// let weights = checkpoint.var_builder(DType::F32, &Device::Cpu);
    /// let layer = candle_nn::linear(2, 2, weights.pp("fc"))?;
    /// let output = layer.forward(&Tensor::new(&[[1f32, 1.0]], &Device::Cpu)?)?;
    /// assert_eq!(output.to_vec2::<f32>()?, [[4.0, 6.0]]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A tensor that is not there, has another shape, or whose dtype candle lacks is an error of the
    /// layer that asks for it.
    pub fn var_builder(self: &Arc<Self>, dtype: DType, device: &Device) -> VarBuilder<'static> {
        self.var_builder_under("", dtype, device)
    }

    /// [`var_builder`](Self::var_builder) over the tensors whose names begin with `prefix`, without
    /// it: `net_state.` in a checkpoint of NNx, `state_dict.` in one of Lightning.
    pub fn var_builder_under(
        self: &Arc<Self>,
        prefix: &str,
        dtype: DType,
        device: &Device,
    ) -> VarBuilder<'static> {
        let weights = Weights {
            reader: Arc::clone(self),
            prefix: prefix.to_owned(),
        };
        VarBuilder::from_backend(Box::new(weights), dtype, device.clone())
    }
}

impl SimpleBackend for Weights {
    fn get(
        &self,
        shape: Shape,
        name: &str,
        _: Init,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let path = self.path(name);
        // The shape is compared before a byte is read.
        if let Some(entry) = self.reader.entry(&path)
            && entry.shape() != shape.dims()
        {
            return Err(Error::UnexpectedShape {
                msg: format!("shape mismatch for {path}"),
                expected: shape,
                got: Shape::from(entry.shape()),
            }
            .bt());
        }
        self.get_unchecked(name, dtype, device)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        let path = self.path(name);
        if self.reader.entry(&path).is_none() {
            return Err(Error::CannotFindTensor { path }.bt());
        }
        let tensor = self.reader.tensor(&path).map_err(Error::wrap)?;
        Tensor::try_from(&tensor)
            .map_err(|error| Error::wrap(error.in_tensor(&path)))?
            .to_device(device)?
            .to_dtype(dtype)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.reader.entry(&self.path(name)).is_some()
    }
}

impl Weights {
    fn path(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dtype, OpenOptions, Tensor as Ours, safetensors};

    #[test]
    fn tensors_come_by_name_under_a_prefix_and_cast() {
        let tensor = Ours::from_bytes(Dtype::Float32, &[2], 1.5f32.to_le_bytes().repeat(2));
        let flags = Ours::from_bytes(Dtype::Bool, &[1], vec![1]).unwrap();
        let mut file = Vec::new();
        let all = [("net.a.w", &tensor.unwrap()), ("net.flags", &flags)];
        safetensors::write(&mut file, &all, None).unwrap();
        let reader = CheckpointReader::from_bytes(file, &OpenOptions::default()).unwrap();
        let weights = Arc::new(reader).var_builder_under("net.", DType::F64, &Device::Cpu);
        let a = weights.pp("a");
        assert!(a.contains_tensor("w") && !weights.contains_tensor("w"));
        let read = a.get(2, "w").unwrap();
        assert_eq!(read.to_vec1::<f64>().unwrap(), [1.5, 1.5]);
        let check = |error: Error, text: &str| assert!(error.to_string().contains(text), "{error}");
        check(a.get(3, "w").unwrap_err(), "shape mismatch for net.a.w");
        check(a.get(1, "v").unwrap_err(), "net.a.v");
        check(
            weights.get(1, "flags").unwrap_err(),
            "candle has no dtype `bool`",
        );
    }
}
