//! The checkpoints of the phases of a training.

use nnx_params::Checkpoints;

/// The tag under which the checkpoint of an epoch is kept beside `last`, of so many epochs; `None`
/// for most epochs.
///
/// ```
/// use nnx_params::Checkpoints;
/// use nnx_train::phase_tag;
///
/// assert_eq!(phase_tag(0, 8), Some(Checkpoints::First));
/// assert_eq!(phase_tag(3, 8), Some(Checkpoints::Q2));
/// assert_eq!(phase_tag(4, 8), None);
/// ```
pub fn phase_tag(epoch: usize, n_epochs: usize) -> Option<Checkpoints> {
    if epoch == 0 {
        return Some(Checkpoints::First);
    }
    let quarters = [Checkpoints::Q1, Checkpoints::Q2, Checkpoints::Q3];
    let ends = (1..).map(|quarter: usize| quarter.saturating_mul(n_epochs) / 4);
    let mut phases = quarters.into_iter().zip(ends);
    phases
        .find(|(_, end)| epoch.checked_add(1) == Some(*end))
        .map(|(tag, _)| tag)
}
