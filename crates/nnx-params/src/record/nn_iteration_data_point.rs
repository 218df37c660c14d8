//! The record of one training iteration.

use crate::class::{number, object, optional, python_class, required, state_methods};
use crate::number::Number;
use crate::record::monitor_record::MonitorRecord;
use crate::record::nn_evaluation_data_point::NNEvaluationDataPoint;
use crate::value::State;

python_class! {
    class {
        /// The record of one training iteration; the last one of an epoch also carries the validation.
        ///
        /// ```
        /// use nnx_params::{NNEvaluationDataPoint, NNIterationDataPoint};
        ///
        /// let train = NNEvaluationDataPoint::builder().loss(0.5).build()?;
        /// let point = NNIterationDataPoint::new(0.01, 7, 1, 3, train.clone()).with_val_edp(train);
        /// assert!(point.val_edp().is_some());
        /// assert_eq!(NNIterationDataPoint::from_state(&point.state())?, point);
        /// # Ok::<(), nnx_params::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        NNIterationDataPoint { unknown: State } in "nnx.nn.params.nn_iteration_data_point";
        required: &["train_edp", "lr", "iter_idx", "epoch_idx", "batch_idx"];
    }
    fields {
        /// The learning rate.
        lr: Number => Number = required(number);
        /// The iteration within the training session, from 0.
        iter_idx: Number => Number = required(number);
        /// The epoch, from 0.
        epoch_idx: Number => Number = required(number);
        /// The batch within the epoch, from 0.
        batch_idx: Number => Number = required(number);
        /// The metrics of the training batch.
        train_edp: NNEvaluationDataPoint => &NNEvaluationDataPoint = required(object);
        /// The metrics of the validation after the epoch.
        val_edp: Option<NNEvaluationDataPoint> => Option<&NNEvaluationDataPoint> =
            optional(object).always();
        /// The metrics of the whole training epoch.
        train_summary: Option<NNEvaluationDataPoint> => Option<&NNEvaluationDataPoint> =
            optional(object);
        /// The decision of the monitor after the epoch.
        selection: Option<MonitorRecord> => Option<&MonitorRecord> = optional(object);
        /// The number of updates of the weights so far.
        update_count: Option<Number> => Option<Number> = optional(number);
    }
}

impl NNIterationDataPoint {
    state_methods!();

    /// A record of the learning rate, the indices (all from 0) and the training metrics.
    ///
    /// Python does not check these numbers, so any is accepted and kept as it is.
    pub fn new(
        lr: impl Into<Number>,
        iter_idx: impl Into<Number>,
        epoch_idx: impl Into<Number>,
        batch_idx: impl Into<Number>,
        train_edp: NNEvaluationDataPoint,
    ) -> Self {
        Self {
            unknown: State::new(),
            lr: lr.into(),
            iter_idx: iter_idx.into(),
            epoch_idx: epoch_idx.into(),
            batch_idx: batch_idx.into(),
            train_edp,
            val_edp: None,
            train_summary: None,
            selection: None,
            update_count: None,
        }
    }

    /// The same record with other validation metrics.
    #[must_use]
    pub fn with_val_edp(mut self, val_edp: impl Into<Option<NNEvaluationDataPoint>>) -> Self {
        self.val_edp = val_edp.into();
        self
    }

    /// The same record with another summary of the epoch and another decision of the monitor.
    #[must_use]
    pub fn with_epoch_summary(
        mut self,
        train_summary: impl Into<Option<NNEvaluationDataPoint>>,
        selection: impl Into<Option<MonitorRecord>>,
    ) -> Self {
        self.train_summary = train_summary.into();
        self.selection = selection.into();
        self
    }

    /// The same record with another number of updates.
    #[must_use]
    pub fn with_update_count(mut self, update_count: impl Into<Option<Number>>) -> Self {
        self.update_count = update_count.into();
        self
    }
}

#[cfg(test)]
mod tests;
