//! A temporary folder whose path is ASCII.

/// A folder whose path is ASCII, also where the system's folder for temporary files has another one:
/// PyTorch names the folder of an archive's records after the file only in the first.
pub(crate) fn ascii_folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}
