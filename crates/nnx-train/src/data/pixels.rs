//! Images with classes, held as bytes.

use candle_core::{DType, Device, Tensor};
use nnx_net::Batch;

use super::dataset::Dataset;
use super::tensors::TensorDataset;
use crate::error::{Error, Result};

/// Images whose pixels are bytes. A batch has them as float32 from 0 to 1: each byte divided by 255, as
/// `torchvision.transforms.ToTensor` does.
#[derive(Clone, Debug)]
pub struct PixelDataset(TensorDataset);

impl PixelDataset {
    /// Images of shape `[N, C, H, W]` and dtype uint8, with a target for each.
    ///
    /// # Errors
    /// When the images have another shape or dtype, or there are not as many targets.
    pub fn new(pixels: Tensor, targets: Tensor) -> Result<Self> {
        if pixels.dtype() != DType::U8 || pixels.rank() != 4 {
            return Err(Error::data(format!(
                "expected images `[N, C, H, W]` of dtype `uint8`, found `{:?}` of dtype `{}`",
                pixels.dims(),
                pixels.dtype().as_str()
            )));
        }
        Ok(Self(TensorDataset::new([pixels], targets)?))
    }
}

impl Dataset for PixelDataset {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn batch(&self, rows: &[usize]) -> Result<Batch> {
        let mut batch = self.0.batch(rows)?;
        for input in &mut batch.inputs {
            *input = as_floats(input)?;
        }
        Ok(batch)
    }
}

/// Bytes as numbers from 0 to 1.
///
/// # Errors
/// When candle fails.
pub(super) fn as_floats(pixels: &Tensor) -> Result<Tensor> {
    // A division: a product with the inverse rounds otherwise.
    let most = Tensor::new(255_f32, &Device::Cpu)?;
    Ok(pixels.to_dtype(DType::F32)?.broadcast_div(&most)?)
}

/// The same images with one channel of grey or three of colour, as Pillow converts them.
///
/// # Errors
/// When that is another number of channels, or the images have another one.
pub(super) fn with_channels(pixels: &Tensor, channels: usize) -> Result<Tensor> {
    match (pixels.dims4()?, channels) {
        ((_, found, ..), wanted) if found == wanted => Ok(pixels.clone()),
        ((count, 1, height, width), 3) => {
            Ok(pixels.expand((count, 3, height, width))?.contiguous()?)
        }
        ((count, 3, height, width), 1) => {
            let colours = pixels.flatten_all()?.to_vec1::<u8>()?;
            let size = height * width;
            let mut grey = Vec::with_capacity(count * size);
            for image in colours.chunks(3 * size.max(1)) {
                let (red, rest) = image.split_at(size);
                let (green, blue) = rest.split_at(size);
                let pixels = red.iter().zip(green).zip(blue);
                grey.extend(pixels.map(|((red, green), blue)| luma([*red, *green, *blue])));
            }
            Ok(Tensor::from_vec(
                grey,
                (count, 1, height, width),
                &Device::Cpu,
            )?)
        }
        ((_, found, ..), wanted) => Err(Error::data(format!(
            "expected images of `{wanted}` channels, found `{found}`"
        ))),
    }
}

/// The grey of a colour by the weights of ITU-R 601-2 in 16 bits.
fn luma(colour: [u8; 3]) -> u8 {
    let weights = [19_595_u32, 38_470, 7_471];
    let sum: u32 = { colour.iter().zip(weights) }
        .map(|(part, weight)| u32::from(*part) * weight)
        .sum();
    u8::try_from((sum + 0x8000) >> 16).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grey_is_what_pillow_makes_of_a_colour() {
        // PIL.Image.new("RGB", (1, 1), colour).convert("L").getpixel((0, 0))
        for (colour, grey) in [
            ([255, 0, 0], 76),
            ([0, 255, 0], 150),
            ([0, 0, 255], 29),
            ([10, 200, 33], 124),
            ([255, 255, 255], 255),
        ] {
            assert_eq!(luma(colour), grey, "{colour:?}");
        }
    }

    #[test]
    fn other_images_are_refused() {
        let zeros = |shape: &[usize], dtype| Tensor::zeros(shape, dtype, &Device::Cpu).unwrap();
        let targets = zeros(&[2], DType::I64);
        for (shape, dtype) in [(&[2, 1, 3, 3][..], DType::F32), (&[2, 3, 3], DType::U8)] {
            assert!(PixelDataset::new(zeros(shape, dtype), targets.clone()).is_err());
        }
        let pixels = zeros(&[2, 2, 3, 3], DType::U8);
        let error = with_channels(&pixels, 3).unwrap_err();
        let expected = "expected images of `3` channels, found `2`";
        assert_eq!(error.to_string(), expected);
        assert!(with_channels(&zeros(&[0, 3, 0, 0], DType::U8), 1).is_ok());
    }
}
