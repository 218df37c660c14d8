//! Copying files of the cache into another folder.

use std::fs::File;
use std::path::Path;

use super::{FolderWriter, is_of_model, same};
use crate::error::{Error, ErrorKind, Result};
use crate::safe_path;

/// Copies files from one folder, such as a [snapshot](crate::Hub::snapshot), into another one,
/// which is created if it is absent. Links are followed.
///
/// All names are checked before a file is opened. The files are written to temporary names and then
/// renamed, weights first and `config.json` last. A copy that fails before the renames leaves the
/// folder unchanged. A link at the path of a file is replaced. If the files include all weights of
/// a model, weights of an earlier copy under other names are removed, because they would be read in
/// place of the new ones, or beside them.
///
/// Weights and configurations that remain beside new ones must be those of `from`, which may have
/// more files than are copied.
///
/// # Errors
/// [`ErrorKind::OtherVersion`] when weights or a configuration of another version would remain beside
/// new ones, and nothing is copied;
/// [`ErrorKind::UnsafePath`] when a name leads out of the folder, or through a link in it;
/// [`ErrorKind::Io`] when the operating system returns an error.
pub fn copy_files(from: &Path, names: &[impl AsRef<str>], to: &Path) -> Result<()> {
    for name in names {
        safe_path::check(name.as_ref())?;
        refuse_links(to, name.as_ref())?;
    }
    let mut writer = FolderWriter::new(to, u64::MAX)?;
    for name in names {
        let path = from.join(name.as_ref());
        let mut source = File::open(&path).map_err(|error| Error::io(&path, error))?;
        writer.file_with(name.as_ref(), |out| {
            std::io::copy(&mut source, out).map(|_| ())
        })?;
    }
    if names.iter().any(|name| is_of_model(name.as_ref())) {
        let (_, mut kept) = writer.earlier();
        kept.retain(|name| !same(&from.join(name), &to.join(name)));
        if !kept.is_empty() {
            return Err(Error::from(ErrorKind::OtherVersion {
                folder: to.to_path_buf(),
                files: kept,
            }));
        }
    }
    writer.place_all()
}

/// Refuses a name with a folder that is a link, because it leads elsewhere.
fn refuse_links(folder: &Path, name: &str) -> Result<()> {
    let parents = Path::new(name).ancestors().skip(1);
    for parent in parents.filter(|parent| !parent.as_os_str().is_empty()) {
        let about = folder.join(parent).symlink_metadata();
        if about.is_ok_and(|about| about.is_symlink()) {
            return Err(Error::from(ErrorKind::UnsafePath {
                path: name.to_owned(),
                why: "one of its folders is a link",
            }));
        }
    }
    Ok(())
}
