//! The convolution of images: patches as a matrix, and products with it.

mod patches;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp3, DType, Layout, Result, Shape, Tensor};

use self::patches::Geometry;
use super::cpu::Cpu;
use super::element::Element;
use super::linear::before_activation;
use super::matmul::{Bias, Finish, Matrix, product};
use super::storage;

/// Convolves images `[N, C, H, W]` with a weight `[O, C, k, k]`, adds the bias `[O]`, and sets what is at
/// or below zero to zero if `relu` is set; NaN stays. `placement` is the padding and the stride.
///
/// # Errors
/// When the shapes do not fit each other, or candle fails.
pub(crate) fn conv2d(
    images: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    placement: (usize, usize),
    relu: bool,
) -> Result<Tensor> {
    conv2d_on(Cpu::new(), [images, weight, bias], placement, relu)
}

fn conv2d_on(
    cpu: Cpu,
    [images, weight, bias]: [&Tensor; 3],
    (padding, stride): (usize, usize),
    relu: bool,
) -> Result<Tensor> {
    if !storage::is_for(&[images, weight, bias]) {
        let ys = images.conv2d(weight, padding, stride, 1, 1)?;
        let ys = ys.broadcast_add(&bias.reshape((1, (), 1, 1))?)?;
        return if relu {
            ys.le(0.0)?.where_cond(&ys.zeros_like()?, &ys)
        } else {
            Ok(ys)
        };
    }
    let geometry = Geometry::new(images.dims4()?, weight.dims4()?, padding, stride)?;
    if bias.dims() != [geometry.outputs] {
        candle_core::bail!(
            "expected a bias of `{}` numbers, got the shape `{:?}`",
            geometry.outputs,
            bias.dims()
        );
    }
    let operation = Conv2d {
        cpu,
        geometry,
        relu,
    };
    images
        .contiguous()?
        .apply_op3(&weight.contiguous()?, &bias.contiguous()?, operation)
}

#[derive(Clone, Copy, Debug)]
struct Conv2d {
    cpu: Cpu,
    geometry: Geometry,
    relu: bool,
}

/// The parts into which a batch is divided for the gradient of the weight. Their sums are added in order,
/// so that the number of threads changes nothing.
const PARTS: usize = 8;
/// The pixels of a part that are multiplied at once, at least.
const PIXELS: usize = 1024;

impl Conv2d {
    /// What a batch is computed with, part by part: threads share the images, or the products of a
    /// single image.
    fn shared(self, images: usize) -> (Cpu, Cpu, usize) {
        let geometry = self.geometry;
        let work = images * geometry.outputs * geometry.depth() * geometry.pixels();
        let threads = self.cpu.parts(work / 16);
        if images < threads || threads == 1 {
            (self.cpu.on_one_thread(), self.cpu, images)
        } else {
            (
                self.cpu,
                self.cpu.on_one_thread(),
                images.div_ceil(4 * threads),
            )
        }
    }

    fn forward<T: Element>(self, images: &[T], weight: &[T], bias: &[T]) -> Vec<T> {
        let geometry = self.geometry;
        let (depth, pixels) = (geometry.depth(), geometry.pixels());
        let (input, output) = (geometry.image(), geometry.outputs * pixels);
        let mut out = vec![T::default(); geometry.count * output];
        if out.is_empty() {
            return out;
        }
        let (outer, inner, each) = self.shared(geometry.count);
        let weight = Matrix::new(weight, geometry.outputs, depth);
        let finish = Finish {
            bias: Bias::Rows(bias),
            relu: self.relu,
        };
        let tasks = out
            .chunks_mut(output * each)
            .zip(images.chunks(input * each));
        outer.each(tasks.collect(), |(out, images)| {
            let mut patches = vec![T::default(); depth * pixels];
            for (out, image) in out.chunks_exact_mut(output).zip(images.chunks_exact(input)) {
                geometry.write_patches(image, &mut patches, pixels);
                let patches = Matrix::new(&patches, depth, pixels);
                product(inner, weight, patches, finish, out);
            }
        });
        out
    }

    /// The gradient of the images: `Wᵀ · g`, each number added where its patch was read.
    fn images_gradient<T: Element>(self, weight: &[T], gradient: &[T]) -> Vec<T> {
        let geometry = self.geometry;
        let (depth, pixels) = (geometry.depth(), geometry.pixels());
        let (input, output) = (geometry.image(), geometry.outputs * pixels);
        let mut out = vec![T::default(); geometry.count * input];
        if out.is_empty() || output == 0 {
            return out;
        }
        let (outer, inner, each) = self.shared(geometry.count);
        let weight = Matrix::new(weight, geometry.outputs, depth)
            .transposed()
            .to_contiguous_rows();
        let weight = Matrix::new(&weight, depth, geometry.outputs);
        let tasks = out
            .chunks_mut(input * each)
            .zip(gradient.chunks(output * each));
        outer.each(tasks.collect(), |(out, gradient)| {
            let mut patches = vec![T::default(); depth * pixels];
            for (image, gradient) in out
                .chunks_exact_mut(input)
                .zip(gradient.chunks_exact(output))
            {
                let gradient = Matrix::new(gradient, geometry.outputs, pixels);
                product(inner, weight, gradient, Finish::NOTHING, &mut patches);
                geometry.add_patches(&patches, image);
            }
        });
        out
    }

    /// The gradient of the weight: `g · patchesᵀ`, summed over the batch.
    fn weight_gradient<T: Element>(self, images: &[T], gradient: &[T]) -> Vec<T> {
        let geometry = self.geometry;
        let (depth, pixels, outputs) = (geometry.depth(), geometry.pixels(), geometry.outputs);
        let (input, output) = (geometry.image(), outputs * pixels);
        let mut sums = vec![T::default(); outputs * depth];
        if geometry.count == 0 || pixels == 0 || sums.is_empty() {
            return sums;
        }
        let each = geometry.count.div_ceil(PARTS);
        let group = PIXELS.div_ceil(pixels).min(each);
        let mut parts = vec![Vec::new(); geometry.count.div_ceil(each)];
        let tasks = parts
            .iter_mut()
            .zip(images.chunks(input * each))
            .zip(gradient.chunks(output * each));
        let cpu = if self.cpu.parts(geometry.count * output * depth / 16) == 1 {
            self.cpu.on_one_thread()
        } else {
            self.cpu
        };
        cpu.each(tasks.collect(), |((sums, images), gradient)| {
            let mut patches = vec![T::default(); depth * pixels * group];
            let mut columns = vec![T::default(); outputs * pixels * group];
            let mut part = vec![T::default(); outputs * depth];
            *sums = vec![T::default(); outputs * depth];
            for (images, gradient) in images
                .chunks(input * group)
                .zip(gradient.chunks(output * group))
            {
                let width = pixels * (images.len() / input);
                for (at, image) in images.chunks_exact(input).enumerate() {
                    geometry.write_patches(image, &mut patches[at * pixels..], width);
                }
                for (at, rows) in gradient.chunks_exact(output).enumerate() {
                    for (row, from) in rows.chunks_exact(pixels).enumerate() {
                        columns[row * width + at * pixels..][..pixels].copy_from_slice(from);
                    }
                }
                let left = Matrix::new(&columns[..outputs * width], outputs, width);
                let right = Matrix::new(&patches[..depth * width], depth, width).transposed();
                product(
                    self.cpu.on_one_thread(),
                    left,
                    right,
                    Finish::NOTHING,
                    &mut part,
                );
                sums.iter_mut().zip(&part).for_each(|(sum, x)| *sum += *x);
            }
        });
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
        }
        sums
    }

    /// The gradient of the bias: the sum over all pixels of a channel.
    fn bias_gradient<T: Element>(self, gradient: &[T]) -> Vec<T> {
        let mut sums = vec![T::default(); self.geometry.outputs];
        let pixels = self.geometry.pixels().max(1);
        for image in gradient.chunks_exact(pixels * sums.len().max(1)) {
            for (sum, row) in sums.iter_mut().zip(image.chunks_exact(pixels)) {
                *sum += row.iter().fold(T::default(), |sum, x| sum + *x);
            }
        }
        sums
    }

    fn backward<T: Element>(
        self,
        [images, weight, bias]: [&Tensor; 3],
        result: &Tensor,
        gradient: &Tensor,
    ) -> Result<[Option<Tensor>; 3]> {
        let gradient = before_activation::<T>(self.relu, result, gradient)?;
        let of = |tensor: &Tensor, compute: &dyn Fn() -> Result<Vec<T>>| {
            // Gradients of what is not trained, such as the inputs of a net, are not computed.
            if !tensor.track_op() {
                return Ok(None);
            }
            Tensor::from_vec(compute()?, tensor.shape(), tensor.device()).map(Some)
        };
        Ok([
            of(images, &|| {
                storage::with(weight, |stored, layout| {
                    let weight = storage::contiguous::<T>(stored, layout)?;
                    Ok(self.images_gradient(weight, &gradient))
                })
            })?,
            of(weight, &|| {
                storage::with(images, |stored, layout| {
                    let images = storage::contiguous::<T>(stored, layout)?;
                    Ok(self.weight_gradient(images, &gradient))
                })
            })?,
            of(bias, &|| Ok(self.bias_gradient(&gradient)))?,
        ])
    }

    fn typed<T: Element>(self, stored: [(&CpuStorage, &Layout); 3]) -> Result<(CpuStorage, Shape)> {
        let [images, weight, bias] = stored;
        let out = self.forward::<T>(
            storage::contiguous(images.0, images.1)?,
            storage::contiguous(weight.0, weight.1)?,
            storage::contiguous(bias.0, bias.1)?,
        );
        Ok((
            T::to_cpu_storage_owned(out),
            Shape::from_dims(&self.geometry.result()),
        ))
    }
}

impl CustomOp3 for Conv2d {
    fn name(&self) -> &'static str {
        "conv2d"
    }

    fn cpu_fwd(
        &self,
        s1: &CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
        s3: &CpuStorage,
        l3: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let stored = [(s1, l1), (s2, l2), (s3, l3)];
        match s1.dtype() {
            DType::F64 => self.typed::<f64>(stored),
            _ => self.typed::<f32>(stored),
        }
    }

    fn bwd(
        &self,
        images: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        result: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let inputs = [images, weight, bias];
        let [images, weight, bias] = match gradient.dtype() {
            DType::F64 => self.backward::<f64>(inputs, result, gradient)?,
            _ => self.backward::<f32>(inputs, result, gradient)?,
        };
        Ok((images, weight, bias))
    }
}

#[cfg(test)]
mod tests;
