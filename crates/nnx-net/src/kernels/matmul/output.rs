//! Where tiles go: the result, with a bias and an activation.

use std::ops::Range;

use super::tile;
use crate::kernels::element::Element;
use crate::kernels::relu::zero_low;

/// A number that is added to each sum.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bias<'a, T> {
    /// None.
    None,
    /// One for each row of the result.
    Rows(&'a [T]),
    /// One for each column of the result.
    Columns(&'a [T]),
}

/// What is done with each sum before it is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finish<'a, T> {
    /// The number that is added.
    pub(crate) bias: Bias<'a, T>,
    /// Whether numbers at or below zero become zero; NaN stays.
    pub(crate) relu: bool,
}

impl<'a, T: Element> Finish<'a, T> {
    /// The sums themselves.
    pub(crate) const NOTHING: Self = Self {
        bias: Bias::None,
        relu: false,
    };

    /// Finishes part of a row of the result: `sums[n]` becomes the element in column `column + n`.
    #[inline(always)]
    pub(super) fn apply(&self, row: usize, column: usize, sums: &mut [T]) {
        match self.bias {
            Bias::None => {}
            Bias::Rows(bias) => {
                let bias = bias[row];
                sums.iter_mut().for_each(|sum| *sum += bias);
            }
            Bias::Columns(bias) => {
                let bias = &bias[column..][..sums.len()];
                sums.iter_mut()
                    .zip(bias)
                    .for_each(|(sum, bias)| *sum += *bias);
            }
        }
        if self.relu {
            zero_low(sums);
        }
    }
}

/// The result of a product.
#[derive(Debug)]
pub(super) struct Output<'a, T> {
    out: &'a mut [T],
    columns: usize,
    finish: Finish<'a, T>,
    /// Whether the rows of tiles are columns of the result.
    turned: bool,
}

/// The part of a result that comes from some rows of tiles.
#[derive(Debug)]
pub(super) struct Part<'a, T> {
    rows: Range<usize>,
    /// Of each row of the result what belongs to the part.
    out: Vec<&'a mut [T]>,
    finish: Finish<'a, T>,
    turned: bool,
}

impl<'a, T: Element> Output<'a, T> {
    pub(super) fn new(out: &'a mut [T], columns: usize, finish: Finish<'a, T>) -> Self {
        Self {
            out,
            columns,
            finish,
            turned: false,
        }
    }

    /// The result of a product whose factors are exchanged.
    pub(super) fn turned(self) -> Self {
        Self {
            turned: true,
            ..self
        }
    }

    /// The result in at most `parts` parts of the `rows` rows that tiles have.
    pub(super) fn split(&mut self, rows: usize, parts: usize) -> Vec<Part<'_, T>> {
        let each = rows
            .div_ceil(parts)
            .next_multiple_of(tile::LEAST)
            .max(tile::LEAST);
        let mut all: Vec<Part<'_, T>> = (0..rows)
            .step_by(each)
            .map(|start| Part {
                rows: start..rows.min(start + each),
                out: Vec::new(),
                finish: self.finish,
                turned: self.turned,
            })
            .collect();
        if self.columns == 0 {
            return all;
        }
        for (at, row) in self.out.chunks_exact_mut(self.columns).enumerate() {
            if self.turned {
                let pieces = row.chunks_mut(each);
                all.iter_mut()
                    .zip(pieces)
                    .for_each(|(part, piece)| part.out.push(piece));
            } else if let Some(part) = all.get_mut(at / each) {
                part.out.push(row);
            }
        }
        all
    }
}

impl<T: Element> Part<'_, T> {
    /// The rows of tiles that it has.
    pub(super) fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Stores elements of a row of the result, in columns of the part.
    #[inline(always)]
    pub(super) fn store_row(&mut self, row: usize, columns: Range<usize>, sums: &[T]) {
        let start = columns.start - self.rows.start;
        let out = &mut self.out[row][start..][..columns.len()];
        out.copy_from_slice(&sums[..columns.len()]);
    }

    /// Finishes the rows of the result that [`store_row`](Self::store_row) has stored.
    #[inline(always)]
    pub(super) fn finish_rows(&mut self) {
        for (row, out) in self.out.iter_mut().enumerate() {
            self.finish.apply(row, self.rows.start, out);
        }
    }

    /// Stores a tile, or adds it to what earlier tiles have left.
    #[inline(always)]
    pub(super) fn store(
        &mut self,
        tile: &[T; tile::MOST],
        rows: Range<usize>,
        columns: Range<usize>,
        width: usize,
        is_first: bool,
        is_last: bool,
    ) {
        let mut line = [T::default(); tile::HIGHEST];
        let start = self.rows.start;
        let lines = if self.turned {
            columns.clone()
        } else {
            rows.clone()
        };
        for at in 0..lines.len() {
            let (line, out, row, column) = if self.turned {
                let line = &mut line[..rows.len()];
                let tile = tile[at..].iter().step_by(width);
                line.iter_mut().zip(tile).for_each(|(to, from)| *to = *from);
                let out = &mut self.out[columns.start + at][rows.start - start..][..rows.len()];
                (&*line, out, columns.start + at, rows.start)
            } else {
                let line = &tile[at * width..][..columns.len()];
                let out = &mut self.out[rows.start - start + at][columns.clone()];
                (line, out, rows.start + at, columns.start)
            };
            if is_first {
                out.copy_from_slice(line);
            } else {
                out.iter_mut().zip(line).for_each(|(out, sum)| *out += *sum);
            }
            if is_last {
                self.finish.apply(row, column, out);
            }
        }
    }
}
