//! The patches of an image as the columns of a matrix.

use std::ops::Range;

use candle_core::Result;

use crate::kernels::element::Element;

/// The shapes of a convolution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    /// The number of images.
    pub(super) count: usize,
    /// The channels of the result.
    pub(super) outputs: usize,
    channels: usize,
    height: usize,
    width: usize,
    kernel: (usize, usize),
    padding: usize,
    stride: usize,
    rows: usize,
    columns: usize,
}

impl Geometry {
    /// The shapes for images `[N, C, H, W]` and a weight `[O, C, k, k]`.
    ///
    /// # Errors
    /// When the channels differ, the kernel is larger than the padded image, or the stride is zero.
    pub(super) fn new(
        (count, channels, height, width): (usize, usize, usize, usize),
        weight: (usize, usize, usize, usize),
        padding: usize,
        stride: usize,
    ) -> Result<Self> {
        let (outputs, expected, kernel_height, kernel_width) = weight;
        let steps = |side: usize, kernel: usize| {
            let padded = side.checked_add(padding.checked_mul(2)?)?;
            Some(padded.checked_sub(kernel)?.checked_div(stride)? + 1)
        };
        let sides = (steps(height, kernel_height), steps(width, kernel_width));
        let (true, (Some(rows), Some(columns))) = (channels == expected, sides) else {
            candle_core::bail!(
                "a convolution of `{channels}` channels of `{height}` by `{width}` with the weight \
                 `{weight:?}`, padding `{padding}` and stride `{stride}` is not possible"
            );
        };
        Ok(Self {
            count,
            outputs,
            channels,
            height,
            width,
            kernel: (kernel_height, kernel_width),
            padding,
            stride,
            rows,
            columns,
        })
    }

    /// The shape of the result.
    pub(super) fn result(&self) -> [usize; 4] {
        [self.count, self.outputs, self.rows, self.columns]
    }

    /// The numbers in a patch.
    pub(super) fn depth(&self) -> usize {
        self.channels * self.kernel.0 * self.kernel.1
    }

    /// The pixels of a result, which is the number of patches.
    pub(super) fn pixels(&self) -> usize {
        self.rows * self.columns
    }

    /// The numbers in an image.
    pub(super) fn image(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// Writes the patches of an image as the columns of a matrix whose rows begin every `stride` numbers;
    /// what is outside the image is zero.
    pub(super) fn write_patches<T: Element>(&self, image: &[T], patches: &mut [T], stride: usize) {
        let (pixels, step) = (self.pixels(), self.stride);
        for (at, to) in patches.chunks_mut(stride).take(self.depth()).enumerate() {
            let to = &mut to[..pixels];
            let (columns, first) = self.columns_inside(at);
            for (row, to) in to.chunks_exact_mut(self.columns).enumerate() {
                let Some(from) = self.line(at, row) else {
                    to.fill(T::default());
                    continue;
                };
                to[..columns.start].fill(T::default());
                to[columns.end..].fill(T::default());
                let (to, from) = (&mut to[columns.clone()], &image[from..][..self.width]);
                if step == 1 {
                    to.copy_from_slice(&from[first..][..columns.len()]);
                } else {
                    let from = from.iter().skip(first).step_by(step);
                    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
                }
            }
        }
    }

    /// Adds the columns of a matrix where the patches of an image are.
    pub(super) fn add_patches<T: Element>(&self, patches: &[T], image: &mut [T]) {
        let step = self.stride;
        for (at, from) in patches.chunks_exact(self.pixels()).enumerate() {
            let (columns, first) = self.columns_inside(at);
            for (row, from) in from.chunks_exact(self.columns).enumerate() {
                let Some(to) = self.line(at, row) else {
                    continue;
                };
                let (from, to) = (&from[columns.clone()], &mut image[to..][..self.width]);
                if step == 1 {
                    let to = &mut to[first..][..from.len()];
                    to.iter_mut().zip(from).for_each(|(to, from)| *to += *from);
                } else {
                    let to = to.iter_mut().skip(first).step_by(step);
                    to.zip(from).for_each(|(to, from)| *to += *from);
                }
            }
        }
    }

    /// Where the line of an image begins that has number `at` of the patches in a row of the result;
    /// `None` for a line outside the image.
    fn line(&self, at: usize, row: usize) -> Option<usize> {
        let (height, width) = self.kernel;
        let (channel, y) = (at / (height * width), at / width % height);
        let y = (row * self.stride + y).checked_sub(self.padding)?;
        (y < self.height).then(|| (channel * self.height + y) * self.width)
    }

    /// The columns of the result for which number `at` of a patch is inside the image, and the column of
    /// the image that belongs to the first of them.
    fn columns_inside(&self, at: usize) -> (Range<usize>, usize) {
        let x = at % self.kernel.1;
        let start = self.padding.saturating_sub(x).div_ceil(self.stride);
        let end = (self.width + self.padding)
            .saturating_sub(x)
            .div_ceil(self.stride)
            .min(self.columns);
        let start = start.min(end);
        (
            start..end,
            (start * self.stride + x).saturating_sub(self.padding),
        )
    }
}
