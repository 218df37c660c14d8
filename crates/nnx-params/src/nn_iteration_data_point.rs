//! The record of one training iteration.

use crate::fields::{Fields, keeps_unknown, mapping, split_state};
use crate::{MonitorRecord, NNEvaluationDataPoint, Number, Result, State, Value};

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
pub struct NNIterationDataPoint {
    lr: Number,
    iter_idx: Number,
    epoch_idx: Number,
    batch_idx: Number,
    train_edp: NNEvaluationDataPoint,
    val_edp: Option<NNEvaluationDataPoint>,
    train_summary: Option<NNEvaluationDataPoint>,
    selection: Option<MonitorRecord>,
    update_count: Option<Number>,
    unknown: State,
}

impl NNIterationDataPoint {
    /// The Python class.
    pub const CLASS: &'static str = "NNIterationDataPoint";

    /// The fields in the order of declaration, in which a pickle lists them; NNx 0.2.3 has the
    /// first six.
    pub const FIELDS: &'static [&'static str] = &[
        "lr",
        "iter_idx",
        "epoch_idx",
        "batch_idx",
        "train_edp",
        "val_edp",
        "train_summary",
        "selection",
        "update_count",
    ];

    /// A record of the learning rate, the indices (all from 0) and the training metrics.
    ///
    /// Python checks none of these numbers, so that any is accepted and kept as it is.
    pub fn new(
        lr: impl Into<Number>,
        iter_idx: impl Into<Number>,
        epoch_idx: impl Into<Number>,
        batch_idx: impl Into<Number>,
        train_edp: NNEvaluationDataPoint,
    ) -> Self {
        Self {
            lr: lr.into(),
            iter_idx: iter_idx.into(),
            epoch_idx: epoch_idx.into(),
            batch_idx: batch_idx.into(),
            train_edp,
            val_edp: None,
            train_summary: None,
            selection: None,
            update_count: None,
            unknown: State::new(),
        }
    }

    /// Builds from the constructor's arguments, a nested object being its state.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected or of a wrong type, or a nested state is not valid.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        let nested = |field: &str, value: &Value| {
            NNEvaluationDataPoint::from_state(mapping(Self::CLASS, field, value)?)
        };
        let optional = |field: &str| fields.optional(field, |value| nested(field, value));
        Ok(Self {
            lr: fields.number("lr")?,
            iter_idx: fields.number("iter_idx")?,
            epoch_idx: fields.number("epoch_idx")?,
            batch_idx: fields.number("batch_idx")?,
            train_edp: nested("train_edp", fields.required("train_edp")?)?,
            val_edp: optional("val_edp")?,
            train_summary: optional("train_summary")?,
            selection: fields.optional("selection", |value| {
                MonitorRecord::from_state(mapping(Self::CLASS, "selection", value)?)
            })?,
            update_count: fields.optional_number("update_count")?,
            unknown: State::new(),
        })
    }

    /// Builds from what [`state`](Self::state) returns: the nested form that checkpoints hold.
    ///
    /// # Errors
    ///
    /// A key is missing, a value is of a wrong type, or a nested state is not valid.
    pub fn from_state(state: &State) -> Result<Self> {
        let required = ["train_edp", "lr", "iter_idx", "epoch_idx", "batch_idx"];
        let (known, unknown) = split_state(Self::CLASS, state, &required, Self::FIELDS)?;
        let mut point = Self::from_fields(&known)?;
        point.unknown = unknown;
        Ok(point)
    }

    /// The serialised form, key for key as Python writes it, metrics nested.
    pub fn state(&self) -> State {
        self.state_with(NNEvaluationDataPoint::state, MonitorRecord::state)
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown), at every level.
    pub fn full_state(&self) -> State {
        self.state_with(NNEvaluationDataPoint::full_state, MonitorRecord::full_state)
            .followed_by(&self.unknown)
    }

    fn state_with(
        &self,
        edp_state: fn(&NNEvaluationDataPoint) -> State,
        selection_state: fn(&MonitorRecord) -> State,
    ) -> State {
        let mut state = State::from_iter([
            ("lr", self.lr),
            ("iter_idx", self.iter_idx),
            ("epoch_idx", self.epoch_idx),
            ("batch_idx", self.batch_idx),
        ]);
        state.insert("train_edp", edp_state(&self.train_edp));
        state.insert("val_edp", self.val_edp.as_ref().map(edp_state));
        if let Some(train_summary) = &self.train_summary {
            state.insert("train_summary", edp_state(train_summary));
        }
        if let Some(selection) = &self.selection {
            state.insert("selection", selection_state(selection));
        }
        if let Some(update_count) = self.update_count {
            state.insert("update_count", update_count);
        }
        state
    }

    keeps_unknown!();

    /// The learning rate.
    pub fn lr(&self) -> Number {
        self.lr
    }

    /// The iteration within the training session, from 0.
    pub fn iter_idx(&self) -> Number {
        self.iter_idx
    }

    /// The epoch, from 0.
    pub fn epoch_idx(&self) -> Number {
        self.epoch_idx
    }

    /// The batch within the epoch, from 0.
    pub fn batch_idx(&self) -> Number {
        self.batch_idx
    }

    /// The metrics of the training batch.
    pub fn train_edp(&self) -> &NNEvaluationDataPoint {
        &self.train_edp
    }

    /// The metrics of the validation after the epoch.
    pub fn val_edp(&self) -> Option<&NNEvaluationDataPoint> {
        self.val_edp.as_ref()
    }

    /// The metrics of the whole training epoch.
    pub fn train_summary(&self) -> Option<&NNEvaluationDataPoint> {
        self.train_summary.as_ref()
    }

    /// The decision of the monitor after the epoch.
    pub fn selection(&self) -> Option<&MonitorRecord> {
        self.selection.as_ref()
    }

    /// The number of updates of the weights so far.
    pub fn update_count(&self) -> Option<Number> {
        self.update_count
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
