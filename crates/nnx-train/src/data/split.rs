//! Parts of the rows of a data set.

use nnx_net::Generator;

use crate::error::{Error, Result};

/// Cuts the rows of a data set into parts of those sizes, in random order, as
/// `torch.utils.data.random_split` does: one permutation of all rows, cut in sequence.
///
/// # Errors
/// When there are more rows than can be shuffled.
pub fn random_split(sizes: &[usize], generator: &mut Generator) -> Result<Vec<Vec<usize>>> {
    let rows = { sizes.iter() }.try_fold(0_usize, |rows, size| rows.checked_add(*size));
    let rows = rows.ok_or_else(|| Error::configuration("the sizes of the parts overflow"))?;
    let order = generator.permutation(rows)?;
    let mut rest = order.as_slice();
    Ok(sizes
        .iter()
        .map(|size| {
            let (part, others) = rest.split_at(*size);
            rest = others;
            part.to_vec()
        })
        .collect())
}

/// The rows that a table is split into, as NNx's `NNTabularDataset` splits it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Split {
    /// The rows for training: all others.
    pub train: Vec<usize>,
    /// For validation: `⌊rows · val⌋` of them.
    pub val: Vec<usize>,
    /// For the test: `⌊rows · test⌋` of them.
    pub test: Vec<usize>,
}

impl Split {
    /// Splits rows by the shares of validation and test.
    ///
    /// ```
    /// use nnx_net::Generator;
    /// use nnx_train::Split;
    ///
    /// let split = Split::new(20, 0.15, 0.15, &mut Generator::new(3))?;
    /// assert_eq!((split.train.len(), split.val), (14, vec![10, 4, 15]));
    /// # Ok::<(), nnx_train::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the shares are not such that some rows are left for training, or there are more rows than
    /// can be shuffled.
    pub fn new(rows: usize, val: f64, test: f64, generator: &mut Generator) -> Result<Self> {
        let shares = [("validation", val), ("the test", test)];
        for (name, share) in shares {
            if !(0.0..1.0).contains(&share) {
                return Err(Error::configuration(format!(
                    "the share of {name} is at least `0` and below `1`, got `{share}`"
                )));
            }
        }
        if val + test >= 1.0 {
            return Err(Error::configuration(format!(
                "the shares of validation and the test are below `1` together, got `{val}` and `{test}`"
            )));
        }
        let (val, test) = (part(rows, val), part(rows, test));
        let Some(train) = rows.checked_sub(val + test).filter(|train| *train > 0) else {
            return Err(Error::configuration(format!(
                "of `{rows}` rows none is left for training"
            )));
        };
        let mut parts = random_split(&[train, val, test], generator)?.into_iter();
        let mut next = || parts.next().unwrap_or_default();
        Ok(Self {
            train: next(),
            val: next(),
            test: next(),
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "Python computes int(n * share) in float64 too"
)]
fn part(rows: usize, share: f64) -> usize {
    (rows as f64 * share) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refused(rows: usize, (val, test): (f64, f64), expected: &str) {
        let mut generator = Generator::new(1);
        let error = Split::new(rows, val, test, &mut generator).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(generator.to_state(), Generator::new(1).to_state());
    }

    #[test]
    fn shares_that_leave_nothing_are_refused_before_a_draw() {
        let below = "the share of validation is at least `0` and below `1`, got";
        check_refused(9, (1.0, 0.0), &format!("{below} `1`"));
        check_refused(9, (-0.1, 0.0), &format!("{below} `-0.1`"));
        check_refused(9, (f64::NAN, 0.0), &format!("{below} `NaN`"));
        check_refused(
            9,
            (0.5, 0.5),
            "the shares of validation and the test are below `1` together, got `0.5` and `0.5`",
        );
        check_refused(0, (0.1, 0.1), "of `0` rows none is left for training");
    }

    #[test]
    fn parts_are_as_large_as_int_makes_them() {
        // int(29 * 0.1), int(100 * 0.29), int(29 * 0.3)
        for (rows, share, expected) in [(29, 0.1, 2), (100, 0.29, 28), (29, 0.3, 8)] {
            let split = Split::new(rows, share, 0.0, &mut Generator::new(0)).unwrap();
            assert_eq!((split.val.len(), split.test.len()), (expected, 0));
            assert_eq!(split.train.len(), rows - expected);
        }
        assert!(random_split(&[usize::MAX, 1], &mut Generator::new(0)).is_err());
    }
}
