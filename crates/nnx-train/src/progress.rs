//! Showing how far a training is.

use nnx_params::NNIterationDataPoint;

/// Told how far a training is, for example to draw a bar. Every method does nothing by default.
pub trait Progress {
    /// The training begins. `batches` is the number of batches of all epochs, if it is known.
    fn begin(&mut self, batches: Option<usize>) {
        let _ = batches;
    }

    /// A batch was trained.
    fn batch(&mut self, record: &NNIterationDataPoint) {
        let _ = record;
    }

    /// An epoch was saved. The record is its last one; `shown` is NNx's text for it: `error=0.2500,
    /// lr=0.0100`.
    fn epoch(&mut self, record: &NNIterationDataPoint, shown: &str) {
        let (_, _) = (record, shown);
    }

    /// The training ends.
    fn end(&mut self) {}
}

impl<P: Progress + ?Sized> Progress for &mut P {
    fn begin(&mut self, batches: Option<usize>) {
        (**self).begin(batches);
    }

    fn batch(&mut self, record: &NNIterationDataPoint) {
        (**self).batch(record);
    }

    fn epoch(&mut self, record: &NNIterationDataPoint, shown: &str) {
        (**self).epoch(record, shown);
    }

    fn end(&mut self) {
        (**self).end();
    }
}
