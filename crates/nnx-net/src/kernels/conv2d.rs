//! The convolution of images: patches as a matrix, and products with it.

mod patches;

use std::borrow::Cow;

use candle_core::{Result, Shape, Tensor};

use self::patches::Geometry;
use super::cpu::Cpu;
use super::float::Float;
use super::matmul::{Bias, Finish, contiguous_rows, product};
use super::matrix::Matrix;
use super::operation::{Kernel, Operation, is_for};
use super::relu::{gradient_before, relu};
use super::view::View;

/// Convolves images `[N, C, H, W]` with a weight `[O, C, k, k]`, adds the bias `[O]`, and sets what is at
/// or below zero to zero if `with_relu` is set; NaN stays. `placement` is the padding and the stride.
///
/// # Errors
/// When the shapes do not fit each other, or candle fails.
pub(crate) fn conv2d(
    cpu: Cpu,
    [images, weight, bias]: [&Tensor; 3],
    (padding, stride): (usize, usize),
    with_relu: bool,
) -> Result<Tensor> {
    if !is_for(&[images, weight, bias]) {
        let ys = images.conv2d(weight, padding, stride, 1, 1)?;
        let ys = ys.broadcast_add(&bias.reshape((1, (), 1, 1))?)?;
        return if with_relu { relu(cpu, &ys) } else { Ok(ys) };
    }
    let geometry = Geometry::new(images.dims4()?, weight.dims4()?, padding, stride)?;
    if bias.dims() != [geometry.outputs] {
        candle_core::bail!(
            "expected a bias of `{}` numbers, got the shape `{:?}`",
            geometry.outputs,
            bias.dims()
        );
    }
    let operation = Operation(Conv2d {
        cpu,
        geometry,
        with_relu,
    });
    images
        .contiguous()?
        .apply_op3(&weight.contiguous()?, &bias.contiguous()?, operation)
}

struct Conv2d {
    cpu: Cpu,
    geometry: Geometry,
    with_relu: bool,
}

/// The parts into which a batch is divided for the gradient of the weight. Their sums are added in order,
/// so that the number of threads changes nothing.
const PARTS: usize = 8;
/// The pixels of a part that are multiplied at once, at least.
const PIXELS: usize = 1024;

impl Conv2d {
    /// What a batch is computed with, part by part: threads share the images, or the products of a
    /// single image.
    fn shared(&self, images: usize) -> (Cpu, Cpu, usize) {
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

    fn result<T: Float>(&self, images: &[T], weight: &[T], bias: &[T]) -> Vec<T> {
        let geometry = self.geometry;
        let (depth, pixels) = (geometry.depth(), geometry.pixels());
        let (input, output) = (geometry.image(), geometry.outputs * pixels);
        let mut out = vec![T::ZERO; geometry.count * output];
        if out.is_empty() {
            return out;
        }
        let (outer, inner, each) = self.shared(geometry.count);
        let weight = Matrix::new(weight, geometry.outputs, depth);
        let finish = Finish {
            bias: Bias::Rows(bias),
            relu: self.with_relu,
        };
        let tasks = out
            .chunks_mut(output * each)
            .zip(images.chunks(input * each));
        outer.each(tasks, |(out, images)| {
            let mut patches = vec![T::ZERO; depth * pixels];
            for (out, image) in out.chunks_exact_mut(output).zip(images.chunks_exact(input)) {
                geometry.write_patches(image, &mut patches, pixels);
                let patches = Matrix::new(&patches, depth, pixels);
                product(inner, weight, patches, finish, out);
            }
        });
        out
    }

    /// The gradient of the images: `Wᵀ · g`, each number added where its patch was read.
    fn images_gradient<T: Float>(&self, weight: &[T], gradient: &[T]) -> Vec<T> {
        let geometry = self.geometry;
        let (depth, pixels) = (geometry.depth(), geometry.pixels());
        let (input, output) = (geometry.image(), geometry.outputs * pixels);
        let mut out = vec![T::ZERO; geometry.count * input];
        if out.is_empty() || output == 0 {
            return out;
        }
        let (outer, inner, each) = self.shared(geometry.count);
        let weight = contiguous_rows(Matrix::new(weight, geometry.outputs, depth).transposed());
        let weight = Matrix::new(&weight, depth, geometry.outputs);
        let tasks = out
            .chunks_mut(input * each)
            .zip(gradient.chunks(output * each));
        outer.each(tasks, |(out, gradient)| {
            let mut patches = vec![T::ZERO; depth * pixels];
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
    fn weight_gradient<T: Float>(&self, images: &[T], gradient: &[T]) -> Vec<T> {
        let geometry = self.geometry;
        let (depth, pixels, outputs) = (geometry.depth(), geometry.pixels(), geometry.outputs);
        let (input, output) = (geometry.image(), outputs * pixels);
        let mut sums = vec![T::ZERO; outputs * depth];
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
        cpu.each(tasks, |((sums, images), gradient)| {
            let mut patches = vec![T::ZERO; depth * pixels * group];
            let mut columns = vec![T::ZERO; outputs * pixels * group];
            let mut part = vec![T::ZERO; outputs * depth];
            *sums = vec![T::ZERO; outputs * depth];
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
    fn bias_gradient<T: Float>(&self, gradient: &[T]) -> Vec<T> {
        let mut sums = vec![T::ZERO; self.geometry.outputs];
        let pixels = self.geometry.pixels().max(1);
        for image in gradient.chunks_exact(pixels * sums.len().max(1)) {
            for (sum, row) in sums.iter_mut().zip(image.chunks_exact(pixels)) {
                *sum += row.iter().fold(T::ZERO, |sum, x| sum + *x);
            }
        }
        sums
    }
}

impl Kernel<3> for Conv2d {
    const NAME: &'static str = "conv2d";

    fn forward<T: Float>(&self, inputs: [View<'_>; 3]) -> Result<(Vec<T>, Shape)> {
        let [images, weight, bias] = inputs.map(View::elements);
        let result = self.result(images?, weight?, bias?);
        Ok((result, Shape::from_dims(&self.geometry.result())))
    }

    fn backward<T: Float>(
        &self,
        [images, weight, _]: [View<'_>; 3],
        wanted: [bool; 3],
        result: &[T],
        gradient: &[T],
    ) -> Result<[Option<Vec<T>>; 3]> {
        let (images, weight) = (images.elements()?, weight.elements()?);
        let gradient = if self.with_relu {
            Cow::Owned(gradient_before(result, gradient))
        } else {
            Cow::Borrowed(gradient)
        };
        // Gradients of what is not trained, such as the inputs of a net, are not computed.
        Ok([
            wanted[0].then(|| self.images_gradient(weight, &gradient)),
            wanted[1].then(|| self.weight_gradient(images, &gradient)),
            wanted[2].then(|| self.bias_gradient(&gradient)),
        ])
    }
}

#[cfg(test)]
mod tests;
