//! The order of the rows of an epoch, drawn as PyTorch's `DataLoader` draws it.

use nnx_net::Generator;

use crate::error::{Error, Result};

/// The rules of an epoch's order.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) rows: usize,
    pub(crate) batch_size: usize,
    pub(crate) shuffle: bool,
    pub(crate) drop_last: bool,
    /// The generator of its own; without one the default generator decides.
    pub(crate) generator: Option<Generator>,
}

impl Order {
    /// The rules, where they make sense.
    ///
    /// # Errors
    /// When a batch would have no row, or there is nothing to shuffle.
    pub(crate) fn check(self) -> Result<Self> {
        if self.batch_size == 0 {
            return Err(Error::configuration(
                "a loader needs a batch size of at least `1`, got `0`",
            ));
        }
        if self.shuffle && self.rows == 0 {
            return Err(Error::configuration(
                "a loader that shuffles needs at least one row, got none",
            ));
        }
        Ok(self)
    }

    /// The number of batches of an epoch.
    pub(crate) fn batches(&self) -> usize {
        if self.drop_last {
            self.rows / self.batch_size
        } else {
            self.rows.div_ceil(self.batch_size)
        }
    }

    /// The rows of an epoch in order. The base seed is drawn whether it is needed or not, as PyTorch
    /// does for workers that it does not start.
    ///
    /// # Errors
    /// When there are more rows than can be shuffled.
    pub(crate) fn draw(&mut self, default: &mut Generator) -> Result<Vec<usize>> {
        let source = self.generator.as_mut().unwrap_or(&mut *default);
        source.next_i64();
        if !self.shuffle {
            return Ok((0..self.rows).collect());
        }
        Ok(match &mut self.generator {
            Some(own) => own.permutation(self.rows)?,
            None => {
                let seed = default.next_i64().unsigned_abs();
                Generator::new(seed).permutation(self.rows)?
            }
        })
    }

    /// Draws what PyTorch draws when an epoch's rows are used up: with a generator of its own another
    /// order, of which it needs no row.
    ///
    /// # Errors
    /// As for [`draw`](Self::draw).
    pub(crate) fn exhaust(&mut self) -> Result<()> {
        if let (true, Some(own)) = (self.shuffle, &mut self.generator) {
            own.permutation(self.rows)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(rows: usize, batch_size: usize) -> Order {
        Order {
            rows,
            batch_size,
            shuffle: false,
            drop_last: false,
            generator: None,
        }
    }

    #[test]
    fn orders_that_make_no_sense_are_refused() {
        let error = order(3, 0).check().unwrap_err();
        assert!(error.to_string().contains("at least `1`"), "{error}");
        let empty = Order {
            shuffle: true,
            ..order(0, 1)
        };
        // RandomSampler: num_samples should be a positive integer value, but got num_samples=0
        let error = empty.check().unwrap_err();
        assert!(error.to_string().contains("at least one row"), "{error}");
        assert_eq!(order(0, 1).check().unwrap().batches(), 0);
    }

    #[test]
    fn the_last_batch_counts_unless_it_is_dropped() {
        for (rows, size, all, full) in [(7, 3, 3, 2), (6, 3, 2, 2), (2, 3, 1, 0)] {
            let mut order = order(rows, size);
            assert_eq!(order.batches(), all);
            order.drop_last = true;
            assert_eq!(order.batches(), full);
        }
    }

    #[test]
    fn what_does_not_shuffle_draws_its_base_seed_alone() {
        let (mut default, mut expected) = (Generator::new(1), Generator::new(1));
        let mut order = order(3, 2);
        assert_eq!(order.draw(&mut default).unwrap(), [0, 1, 2]);
        order.exhaust().unwrap();
        expected.next_u64();
        assert_eq!(default.to_state(), expected.to_state());
    }
}
