//! Reading a pickle that `torch.save` did not write.
//!
//! `pickle.dump` of a state dict gives one, with the storages inside (see
//! [`load_from_bytes`](super::legacy::load_from_bytes)); so does `pickle.dump` of anything else.

use super::legacy::load_from_bytes;
use super::load_context::LoadContext;
use super::object::TorchObject;
use super::pickle_location::PickleLocation;
use super::storage_table::{EntryBytes, StorageTable};
use super::stream::Stream;
use crate::error::{Error, Result, shown};
use crate::source::ByteRange;

/// Reads a plain pickle.
pub(super) fn read(bytes: &ByteRange, context: &mut LoadContext) -> Result<TorchObject> {
    let mut stream = Stream::new(bytes, None);
    let (mut graph, _) = stream.pickle(context)?;
    if stream.rest() > 0 {
        context
            .notes
            .push(format!("{} bytes follow the pickle", stream.rest()));
    }
    let nested = load_from_bytes::resolve(&mut graph, None, context)?;
    let location = PickleLocation::default();
    let storages = StorageTable::collect(&graph, &location, |id| {
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
    Ok(TorchObject::new(graph, storages, location))
}
