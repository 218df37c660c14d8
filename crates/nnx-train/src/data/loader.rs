//! Batches in random order.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use nnx_net::{Batch, Generator};

use super::dataset::Dataset;
use super::order::Order;
use crate::error::{Error, Result};
use crate::loader::{Loader, Pass};

/// Gives the samples of a data set in batches, as PyTorch's `DataLoader` without workers: the same
/// rows in the same order, and the same random numbers drawn.
///
/// While a batch is trained, another thread makes the next one.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use nnx_train::{DataLoader, TensorDataset};
///
/// let inputs = Tensor::zeros((10, 2), candle_core::DType::F32, &Device::Cpu)?;
/// let targets = Tensor::zeros(10, candle_core::DType::I64, &Device::Cpu)?;
/// let data = TensorDataset::new([inputs], targets)?;
/// let loader = DataLoader::builder(data).batch_size(4).shuffle(true).build()?;
/// # let _ = loader;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DataLoader {
    dataset: Arc<dyn Dataset>,
    order: Order,
}

/// Builds a [`DataLoader`].
pub struct DataLoaderBuilder {
    dataset: Arc<dyn Dataset>,
    order: Order,
}

impl DataLoader {
    /// A loader of a data set.
    pub fn builder(dataset: impl Dataset + 'static) -> DataLoaderBuilder {
        Self::shared(Arc::new(dataset))
    }

    /// A loader of a data set that others use too.
    pub fn shared(dataset: Arc<dyn Dataset>) -> DataLoaderBuilder {
        let order = Order {
            rows: dataset.rows(),
            batch_size: 1,
            shuffle: false,
            drop_last: false,
            generator: None,
        };
        DataLoaderBuilder { dataset, order }
    }

    /// The data set.
    pub fn dataset(&self) -> &Arc<dyn Dataset> {
        &self.dataset
    }
}

impl DataLoaderBuilder {
    /// The samples of a batch. Default: 1.
    #[must_use]
    pub fn batch_size(mut self, batch_size: usize) -> Self {
        self.order.batch_size = batch_size;
        self
    }

    /// Whether each epoch has another order. Default: no, the samples come in their own order.
    #[must_use]
    pub fn shuffle(mut self, shuffle: bool) -> Self {
        self.order.shuffle = shuffle;
        self
    }

    /// Whether the last batch is left out where it is smaller. Default: no.
    #[must_use]
    pub fn drop_last(mut self, drop_last: bool) -> Self {
        self.order.drop_last = drop_last;
        self
    }

    /// A generator of the loader's own, which decides the orders instead of the default one; a
    /// checkpoint keeps its state. Default: none.
    #[must_use]
    pub fn generator(mut self, generator: impl Into<Option<Generator>>) -> Self {
        self.order.generator = generator.into();
        self
    }

    /// The loader.
    ///
    /// # Errors
    /// When the batch size is 0, or there is no sample to shuffle.
    pub fn build(self) -> Result<DataLoader> {
        Ok(DataLoader {
            dataset: self.dataset,
            order: self.order.check()?,
        })
    }
}

impl Loader for DataLoader {
    fn pass(&mut self, default: &mut Generator) -> Result<Pass<'_>> {
        let rows = self.order.draw(default)?;
        let batches = Batches::start(self.dataset.clone(), rows, &self.order)?;
        Ok(Box::new(Rows {
            batches,
            left: self.order.batches(),
            order: Some(&mut self.order),
        }))
    }

    fn batches(&self) -> Option<usize> {
        Some(self.order.batches())
    }

    fn generators(&mut self) -> Vec<&mut Generator> {
        self.order.generator.iter_mut().collect()
    }
}

/// The batches of a pass, made by another thread.
struct Batches {
    made: Receiver<Result<Batch>>,
}

impl Batches {
    fn start(dataset: Arc<dyn Dataset>, rows: Vec<usize>, order: &Order) -> Result<Self> {
        let (count, size) = (order.batches(), order.batch_size);
        // The thread waits with a finished batch in its hands, which is the one ahead.
        let (sender, made) = sync_channel(0);
        let make = move || give(dataset.as_ref(), rows.chunks(size).take(count), &sender);
        thread::Builder::new()
            .name("nnx-batches".to_owned())
            .spawn(make)?;
        Ok(Self { made })
    }
}

/// Makes batches until there is no more, one cannot be made, or nobody takes them.
fn give<'a>(
    dataset: &dyn Dataset,
    batches: impl Iterator<Item = &'a [usize]>,
    sender: &SyncSender<Result<Batch>>,
) {
    for rows in batches {
        let batch = dataset.batch(rows);
        let failed = batch.is_err();
        if sender.send(batch).is_err() || failed {
            return;
        }
    }
}

/// The rest of a pass.
struct Rows<'a> {
    batches: Batches,
    left: usize,
    /// Until the end of the pass is reached, or a batch could not be made.
    order: Option<&'a mut Order>,
}

impl Iterator for Rows<'_> {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        let order = self.order.take()?;
        if self.left == 0 {
            return order.exhaust().err().map(Err);
        }
        let batch =
            self.batches.made.recv().unwrap_or_else(|_| {
                Err(Error::data("the data set gave no batch, its thread ended"))
            });
        if batch.is_ok() {
            self.left -= 1;
            self.order = Some(order);
        }
        Some(batch)
    }
}

impl fmt::Debug for DataLoader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataLoader")
            .field("order", &self.order)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for DataLoaderBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataLoaderBuilder")
            .field("order", &self.order)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Tensor};

    use super::*;
    use crate::data::tensors::TensorDataset;

    fn numbered(rows: u32) -> TensorDataset {
        let numbers = Tensor::arange(0, rows, &Device::Cpu).unwrap();
        TensorDataset::new([numbers.clone()], numbers).unwrap()
    }

    fn rows_of(batch: &Batch) -> Vec<u32> {
        batch.targets.to_vec1().unwrap()
    }

    #[test]
    fn an_abandoned_pass_draws_nothing_more() {
        let mut own = Generator::new(5);
        let loader = DataLoader::builder(numbered(10)).batch_size(3);
        let loader = loader.shuffle(true).generator(own.clone());
        let mut loader = loader.build().unwrap();
        let mut pass = loader.pass(&mut Generator::new(0)).unwrap();
        pass.next().unwrap().unwrap();
        pass.next().unwrap().unwrap();
        drop(pass);
        // The base seed and one order: the second order belongs to the end of a pass.
        own.next_i64();
        let order = own.permutation(10).unwrap();
        assert_eq!(loader.generators()[0].to_state(), own.to_state());

        // A whole pass draws the order that is not used.
        let mut again = DataLoader::builder(numbered(10)).batch_size(10);
        again = again.shuffle(true).generator(Generator::new(5));
        let mut again = again.build().unwrap();
        let batches: Vec<_> = again.pass(&mut Generator::new(0)).unwrap().collect();
        let found = rows_of(batches[0].as_ref().unwrap());
        let expected: Vec<u32> = order.iter().map(|row| *row as u32).collect();
        assert_eq!((batches.len(), found), (1, expected));
        own.permutation(10).unwrap();
        assert_eq!(again.generators()[0].to_state(), own.to_state());
    }

    #[test]
    fn a_data_set_without_rows_gives_no_batch() {
        let mut loader = DataLoader::builder(numbered(0)).build().unwrap();
        assert_eq!(loader.batches(), Some(0));
        assert_eq!(loader.pass(&mut Generator::new(0)).unwrap().count(), 0);
        assert!(
            DataLoader::builder(numbered(0))
                .shuffle(true)
                .build()
                .is_err()
        );
    }

    /// Fails or panics at one row.
    struct Broken(bool);

    impl Dataset for Broken {
        fn rows(&self) -> usize {
            5
        }

        fn batch(&self, rows: &[usize]) -> Result<Batch> {
            if rows == [2] {
                assert!(!self.0, "a data set may panic");
                return Err(Error::data("row `2` is lost"));
            }
            numbered(5).batch(rows)
        }
    }

    #[track_caller]
    fn check_broken(panics: bool, expected: &str) {
        let mut loader = DataLoader::builder(Broken(panics)).build().unwrap();
        let mut default = Generator::new(0);
        let mut pass = loader.pass(&mut default).unwrap();
        assert_eq!(rows_of(&pass.next().unwrap().unwrap()), [0]);
        assert_eq!(rows_of(&pass.next().unwrap().unwrap()), [1]);
        let error = pass.next().unwrap().unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert!(pass.next().is_none());
    }

    #[test]
    fn a_batch_that_cannot_be_made_ends_the_pass_with_its_error() {
        check_broken(false, "row `2` is lost");
        check_broken(true, "the data set gave no batch, its thread ended");
    }
}
