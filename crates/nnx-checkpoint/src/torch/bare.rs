//! Reading a pickle that `torch.save` did not write.
//!
//! `pickle.dump` of a state dict gives one, with the storages inside (see
//! [`nested`](super::legacy::nested)); so does `pickle.dump` of anything else.

use super::legacy::nested;
use super::object::TorchObject;
use super::opening::Opening;
use super::place::Place;
use super::storage_table::{EntryBytes, StorageTable};
use super::stream::Stream;
use crate::error::{Error, Result, shown};
use crate::source::ByteRange;

/// Reads a bare pickle.
pub(super) fn read(bytes: &ByteRange, opening: &mut Opening) -> Result<TorchObject> {
    let mut stream = Stream::new(bytes, None);
    let (mut graph, _) = stream.pickle(opening)?;
    if stream.rest() > 0 {
        opening
            .notes
            .push(format!("{} bytes follow the pickle", stream.rest()));
    }
    let nested = nested::resolve(&mut graph, None, opening)?;
    let place = Place::default();
    let storages = StorageTable::collect(&graph, &place, |id| {
        nested
            .get(id.key)
            .cloned()
            .map(EntryBytes::Range)
            .ok_or_else(|| {
                Error::malformed(format!(
                    "the pickle refers to storage `{}`, and nothing but the pickle is in the file",
                    shown(id.key)
                ))
            })
    })?;
    Ok(TorchObject::new(graph, storages, place))
}
