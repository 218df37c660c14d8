//! Files of the cache in a folder of one's own.

use std::fs::File;
use std::path::Path;

use super::{FolderWriter, is_of_model};
use crate::error::{Error, ErrorKind, Result};
use crate::safe_path;

/// Copies files from one folder, such as a [snapshot](crate::Hub::snapshot), into another one, which
/// is made if it is absent. What links lead to is copied.
///
/// The files are written beside their places and then moved there, weights first and `config.json`
/// last, so that a copy that fails before that leaves the folder as it was. A link that stands in a
/// file's place is replaced. Where all weights of a model are among the files, those of an earlier
/// copy under names that these do not have are removed: they would be read in their place, or beside
/// them.
///
/// Gives the names of weights and configurations that the folder has of an earlier copy beside
/// weights or a configuration that are new: where a part was copied alone, they need not fit.
///
/// # Errors
/// [`ErrorKind::UnsafePath`] when a name leads out of the folder, or over a link within it;
/// [`ErrorKind::Io`] when the operating system refuses.
pub fn copy_files(from: &Path, names: &[impl AsRef<str>], to: &Path) -> Result<Vec<String>> {
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
    let kept = writer.place_all()?;
    let matters = names.iter().any(|name| is_of_model(name.as_ref()));
    Ok(if matters { kept } else { Vec::new() })
}

/// Refuses a name one of whose folders is a link: it leads elsewhere.
fn refuse_links(folder: &Path, name: &str) -> Result<()> {
    let parents = Path::new(name).ancestors().skip(1);
    for parent in parents.filter(|parent| !parent.as_os_str().is_empty()) {
        let about = folder.join(parent).symlink_metadata();
        if about.is_ok_and(|about| about.is_symlink()) {
            return Err(Error::from(ErrorKind::UnsafePath {
                path: name.to_owned(),
                why: "a link stands where a folder of it belongs",
            }));
        }
    }
    Ok(())
}
