//! The largest element of each square.

use candle_core::{D, Result, Shape, Tensor};

use super::cpu::Cpu;
use super::element::Element;
use super::float::Float;
use super::operation::{Kernel, Operation, is_for};
use super::view::View;

/// The largest element of each square of `size` of images `[N, C, H, W]`, without overlap; elements at the
/// edges that do not fill a square are ignored.
///
/// As in PyTorch, NaN is larger than every number, the gradient goes to the first of equal elements, and to
/// the last NaN. candle's pooling ignores NaN, and distributes the gradient over equal elements.
///
/// # Errors
/// When the tensor is not a batch of images, or candle fails.
pub(crate) fn max_pool2d(cpu: Cpu, xs: &Tensor, size: usize) -> Result<Tensor> {
    let (count, channels, height, width) = xs.dims4()?;
    if size == 0 {
        candle_core::bail!("expected squares of at least one element");
    }
    let [rows, columns] = [height, width].map(|side| side / size);
    if is_for(&[xs]) {
        let operation = Operation(MaxPool2d {
            cpu,
            shape: [count, channels, rows, columns],
            width,
            height,
            size,
        });
        return xs.contiguous()?.apply_op1(operation);
    }
    let squares = xs
        .narrow(2, 0, rows * size)?
        .narrow(3, 0, columns * size)?
        .contiguous()?
        .reshape((count * channels, rows, size, columns, size))?
        .transpose(2, 3)?
        .contiguous()?
        .reshape((count * channels * rows * columns, size * size))?;
    let values = squares.detach();
    let infinite = values.ones_like()?.affine(f64::INFINITY, 0.0)?;
    let keys = values.ne(&values)?.where_cond(&infinite, &values)?;
    let largest = keys.argmax_keepdim(D::Minus1)?;
    let largest = squares.gather(&largest, D::Minus1)?;
    largest.reshape((count, channels, rows, columns))
}

#[derive(Clone, Copy, Debug)]
struct MaxPool2d {
    cpu: Cpu,
    /// The shape of the result.
    shape: [usize; 4],
    height: usize,
    width: usize,
    size: usize,
}

impl MaxPool2d {
    /// The numbers of a plane of the result, and of the images.
    fn planes(self) -> (usize, usize) {
        let [_, _, rows, columns] = self.shape;
        (rows * columns, self.height * self.width)
    }

    /// Runs a function on several planes of the result and of the images at a time.
    fn each<A: Send, B: Send>(
        self,
        small: impl ExactSizeIterator<Item = A> + Send,
        large: impl ExactSizeIterator<Item = B> + Send,
        run: impl Fn(A, B) + Sync,
    ) {
        self.cpu
            .each(small.zip(large), |(small, large)| run(small, large));
    }

    /// The planes that a thread takes at a time.
    fn share(self) -> usize {
        let [count, channels, ..] = self.shape;
        let planes = count * channels;
        let parts = match self.cpu.parts(planes * self.planes().1) {
            1 => 1,
            several => 4 * several,
        };
        planes.div_ceil(parts).max(1)
    }

    fn result<T: Element>(self, xs: &[T]) -> Vec<T> {
        let (small, large) = self.planes();
        let mut out = vec![T::default(); self.shape.iter().product()];
        if out.is_empty() {
            return out;
        }
        let share = self.share();
        let parts = (out.chunks_mut(small * share), xs.chunks(large * share));
        self.each(parts.0, parts.1, |out, xs| {
            let mut line = vec![T::default(); self.width];
            let planes = out.chunks_exact_mut(small).zip(xs.chunks_exact(large));
            for (out, xs) in planes {
                let rows = xs.chunks_exact(self.width * self.size);
                for (out, rows) in out.chunks_exact_mut(self.shape[3]).zip(rows) {
                    self.row(rows, &mut line, out);
                }
            }
        });
        out
    }

    /// A row of the result, by the largest elements of each column.
    fn row<T: Element>(self, rows: &[T], line: &mut [T], out: &mut [T]) {
        let mut rows = rows.chunks_exact(self.width);
        if let Some(first) = rows.next() {
            line.copy_from_slice(first);
        }
        for row in rows {
            for (largest, x) in line.iter_mut().zip(row) {
                *largest = larger(*largest, *x);
            }
        }
        for (out, square) in out.iter_mut().zip(line.chunks_exact(self.size)) {
            let mut square = square.iter().copied();
            let first = square.next().unwrap_or_default();
            *out = square.fold(first, larger);
        }
    }

    fn gradient<T: Element>(self, xs: &[T], gradient: &[T]) -> Vec<T> {
        let (small, large) = self.planes();
        let mut out = vec![T::default(); xs.len()];
        if gradient.is_empty() {
            return out;
        }
        let share = self.share();
        let parts = out.chunks_mut(large * share).zip(xs.chunks(large * share));
        self.each(
            gradient.chunks(small * share),
            parts,
            |gradient, (out, xs)| {
                let planes = out.chunks_exact_mut(large).zip(xs.chunks_exact(large));
                for (gradient, (out, xs)) in gradient.chunks_exact(small).zip(planes) {
                    for (at, gradient) in gradient.iter().enumerate() {
                        out[self.largest(xs, at)] = *gradient;
                    }
                }
            },
        );
        out
    }

    /// Where in a plane the largest element of square `at` is.
    fn largest<T: Element>(self, xs: &[T], at: usize) -> usize {
        let columns = self.shape[3];
        let start = (at / columns * self.width + at % columns) * self.size;
        let (mut largest, mut value) = (start, xs[start]);
        for row in 0..self.size {
            let start = start + row * self.width;
            for (n, x) in xs[start..start + self.size].iter().enumerate() {
                if is_larger(value, *x) {
                    (largest, value) = (start + n, *x);
                }
            }
        }
        largest
    }
}

/// Whether `x` replaces the largest element so far.
#[expect(clippy::eq_op, reason = "only NaN differs from itself")]
fn is_larger<T: Element>(largest: T, x: T) -> bool {
    x > largest || x != x
}

fn larger<T: Element>(largest: T, x: T) -> T {
    if is_larger(largest, x) { x } else { largest }
}

impl Kernel<1> for MaxPool2d {
    const NAME: &'static str = "max_pool2d";

    fn forward<T: Float>(&self, [xs]: [View<'_>; 1]) -> Result<(Vec<T>, Shape)> {
        Ok((self.result(xs.elements()?), Shape::from_dims(&self.shape)))
    }

    fn backward<T: Float>(
        &self,
        [xs]: [View<'_>; 1],
        _: [bool; 1],
        _: &[T],
        gradient: &[T],
    ) -> Result<[Option<Vec<T>>; 1]> {
        Ok([Some(self.gradient(xs.elements()?, gradient))])
    }
}

#[cfg(test)]
mod tests;
