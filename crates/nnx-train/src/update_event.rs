//! The event of an update.

/// One committed update of an optimizer, in a training with an objective.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UpdateEvent {
    /// The name of the optimizer; `default` if there is only one.
    pub optimizer: String,
    /// The number of its updates so far, this one included.
    pub update_idx: i64,
    /// The epoch in which the window ended.
    pub epoch_idx: i64,
    /// The batch with which the window ended.
    pub batch_idx: usize,
    /// The number of batches in the window.
    pub microbatches: usize,
    /// The value of each term over the window.
    pub losses: Vec<(String, f64)>,
    /// Their weighted sum.
    pub loss: f64,
}
