//! A file in the listing of a repository.

use crate::digest::Digest;

/// A file of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeEntry {
    /// Its path in the repository, checked not to lead out of it. It may contain characters that
    /// some systems do not allow in file names, such as `:` and `\\`.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its hash.
    pub digest: Digest,
    /// Its hash in git; for a large file, this is the hash of its LFS pointer. `None` if the
    /// listing lacks it.
    pub(crate) blob_id: Option<String>,
    /// Its hash in the Xet store, if it is there.
    pub(crate) xet_hash: Option<String>,
}
