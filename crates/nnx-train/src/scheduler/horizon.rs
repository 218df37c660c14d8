//! How long a training is.

/// How many steps a schedule will take: its defaults are computed from this number.
///
/// ```
/// use nnx_train::Horizon;
///
/// let horizon = Horizon::new(10).with_updates(50);
/// assert_eq!(horizon.updates(), Some(50));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    epochs: usize,
    updates: Option<usize>,
}

impl Horizon {
    /// A training of that many epochs, whose number of updates is not known.
    pub fn new(epochs: usize) -> Self {
        Self {
            epochs,
            updates: None,
        }
    }

    /// Sets the number of updates, if it is known.
    #[must_use]
    pub fn with_updates(mut self, updates: impl Into<Option<usize>>) -> Self {
        self.updates = updates.into();
        self
    }

    /// The epochs.
    pub fn epochs(self) -> usize {
        self.epochs
    }

    /// The updates, if they are known.
    pub fn updates(self) -> Option<usize> {
        self.updates
    }
}
