//! The singular value decomposition of a matrix.

/// The largest singular values of a matrix with their vectors, the largest first.
///
/// A value keeps its meaning when the signs of both its vectors change; here the largest element of
/// each left vector is positive.
#[derive(Clone, Debug)]
pub(crate) struct Svd {
    pub(crate) values: Vec<f64>,
    /// The left vectors, each with an element for a row.
    pub(crate) left: Vec<Vec<f64>>,
    /// The right vectors, each with an element for a column.
    pub(crate) right: Vec<Vec<f64>>,
}

/// More sweeps than this are not needed: each one squares what is left to do.
const MOST_SWEEPS: usize = 60;

impl Svd {
    /// The decomposition of a matrix in row-major order, by the method of Hestenes: pairs of columns are
    /// rotated until all are orthogonal.
    pub(crate) fn new(matrix: &[f32], rows: usize, columns: usize) -> Self {
        let at = |row: usize, column: usize| f64::from(matrix[row * columns + column]);
        // There are at most as many columns as rows, or the transpose is taken.
        let is_wide = columns > rows;
        let (count, length) = if is_wide {
            (rows, columns)
        } else {
            (columns, rows)
        };
        let element = |vector: usize, place: usize| {
            if is_wide {
                at(vector, place)
            } else {
                at(place, vector)
            }
        };
        let mut scaled: Vec<Vec<f64>> = (0..count)
            .map(|vector| (0..length).map(|place| element(vector, place)).collect())
            .collect();
        let mut turned: Vec<Vec<f64>> = (0..count)
            .map(|vector| {
                (0..count)
                    .map(|place| f64::from(u8::from(vector == place)))
                    .collect()
            })
            .collect();
        for _ in 0..MOST_SWEEPS {
            let mut is_done = true;
            for first in 0..count {
                for second in first + 1..count {
                    let angle = angle(&scaled[first], &scaled[second]);
                    if let Some(angle) = angle {
                        is_done = false;
                        rotate(&mut scaled, first, second, angle);
                        rotate(&mut turned, first, second, angle);
                    }
                }
            }
            if is_done {
                break;
            }
        }
        let mut found: Vec<(f64, Vec<f64>, Vec<f64>)> = scaled
            .into_iter()
            .zip(turned)
            .map(|(vector, other)| {
                let value = dot(&vector, &vector).sqrt();
                let unit = vector
                    .iter()
                    .map(|x| if value > 0.0 { x / value } else { 0.0 });
                let unit: Vec<f64> = unit.collect();
                if is_wide {
                    (value, other, unit)
                } else {
                    (value, unit, other)
                }
            })
            .collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut svd = Self {
            values: Vec::new(),
            left: Vec::new(),
            right: Vec::new(),
        };
        for (value, mut left, mut right) in found {
            let largest = left
                .iter()
                .copied()
                .max_by(|a, b| a.abs().total_cmp(&b.abs()));
            if largest.is_some_and(|largest| largest < 0.0) {
                left.iter_mut().chain(&mut right).for_each(|x| *x = -*x);
            }
            svd.values.push(value);
            svd.left.push(left);
            svd.right.push(right);
        }
        svd
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Sine and cosine of the rotation that makes two vectors orthogonal; `None` if they are.
fn angle(a: &[f64], b: &[f64]) -> Option<(f64, f64)> {
    let (aa, bb, ab) = (dot(a, a), dot(b, b), dot(a, b));
    if ab.abs() <= f64::EPSILON * (aa * bb).sqrt() {
        return None;
    }
    let half = (bb - aa) / (2.0 * ab);
    let tangent = half.signum() / (half.abs() + half.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    Some((cosine * tangent, cosine))
}

fn rotate(vectors: &mut [Vec<f64>], first: usize, second: usize, (sine, cosine): (f64, f64)) {
    let (before, after) = vectors.split_at_mut(second);
    for (a, b) in before[first].iter_mut().zip(&mut after[0]) {
        (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(matrix: &[f32], rows: usize, columns: usize, values: &[f64]) {
        let svd = Svd::new(matrix, rows, columns);
        for (found, expected) in svd.values.iter().zip(values) {
            assert!((found - expected).abs() < 1e-12, "{:?}", svd.values);
        }
        for row in 0..rows {
            for column in 0..columns {
                let sum: f64 = (0..svd.values.len())
                    .map(|k| svd.left[k][row] * svd.values[k] * svd.right[k][column])
                    .sum();
                let expected = f64::from(matrix[row * columns + column]);
                assert!((sum - expected).abs() < 1e-12, "{sum} is not {expected}");
            }
        }
    }

    #[test]
    fn the_parts_multiply_to_the_matrix() {
        // numpy.linalg.svd of the same matrices.
        let matrix = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let values = [9.508_032_000_695_724, 0.772_869_635_673_485];
        check(&matrix, 2, 3, &values);
        let values = [9.525_518_091_565_1, 0.514_300_580_658_644];
        check(&matrix, 3, 2, &values);
        check(&[0.0; 6], 2, 3, &[0.0, 0.0]);
        check(&[3.0], 1, 1, &[3.0]);
    }
}
