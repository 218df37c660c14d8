//! The checkpoint of a path that is not on the disk.

use std::path::Path;

use crate::failure::Failure;
use crate::hub;
use crate::remote::{Remote, remote_url};

/// The checkpoint of a path in a store or on the Hub; `None` for a path on the disk, whose URL may be
/// `file://…`, and for one on the Hub that must be in the cache because there is no network.
///
/// # Errors
/// When the path is not valid, nothing is there, or it cannot be reached.
pub(crate) fn remote_source(path: &Path) -> Result<Option<Remote>, Failure> {
    match remote_url(path) {
        Some(url) => Remote::in_store(url).map(Some),
        None => hub::folder(path),
    }
}
