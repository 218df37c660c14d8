//! Reading a pickle that `torch.save` did not write.
//!
//! `pickle.dump` of a state dict gives one, with the storages inside (see
//! [`nested`](super::nested)); so does `pickle.dump` of anything else.

use bytes::Bytes;

use super::nested;
use super::object::TorchObject;
use super::opening::Opening;
use super::place::Place;
use super::slot::{SlotSource, Slots};
use crate::error::{Error, Result, shown};

/// Reads a bare pickle.
pub(super) fn read(bytes: &Bytes, opening: &mut Opening) -> Result<TorchObject> {
    let (mut graph, consumed) = opening.pickle(bytes, None, 0)?;
    let rest = bytes.len().saturating_sub(consumed);
    if rest > 0 {
        opening
            .notes
            .push(format!("{rest} bytes follow the pickle"));
    }
    let nested = nested::resolve(&mut graph, None, opening)?;
    let place = Place::default();
    let slots = Slots::collect(&graph, &place, |id| {
        nested
            .get(&id.key)
            .cloned()
            .map(SlotSource::Bytes)
            .ok_or_else(|| {
                Error::malformed(format!(
                    "the pickle refers to storage `{}`, and nothing but the pickle is in the file",
                    shown(&id.key)
                ))
            })
    })?;
    Ok(TorchObject::read(graph, slots, place, None, false))
}
