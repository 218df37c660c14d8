//! The hidden folder in which a save writes its files.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use crate::error::{Error, Result};

const PREFIX: &str = ".save_pretrained.";
const SUFFIX: &str = ".tmp";

/// Removes the temporary files of pushes that were killed. Every push does so too; a program can
/// call this at its start, so that they do not wait for the next push.
pub fn remove_abandoned() {
    sweep(&std::env::temp_dir());
}

/// A hidden folder in the target folder; it is removed on drop. The next save removes one that a
/// killed process left.
#[derive(Debug)]
pub(crate) struct Staging {
    folder: TempDir,
    /// The lock that marks the folder as used; `None` where folders cannot be locked.
    _held: Option<File>,
}

impl Staging {
    /// Creates one in that folder.
    ///
    /// # Errors
    /// When the operating system returns an error.
    pub(crate) fn new_in(target: &Path) -> io::Result<Self> {
        sweep(target);
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .suffix(SUFFIX)
            .tempdir_in(target)?;
        let held = File::open(folder.path()).ok();
        Ok(Self {
            _held: held.filter(|folder| folder.lock().is_ok()),
            folder,
        })
    }

    /// Creates one for a push, in the system's folder of temporary files.
    ///
    /// # Errors
    /// When the operating system returns an error.
    pub(crate) fn new_temporary() -> Result<Self> {
        let folder = std::env::temp_dir();
        Self::new_in(&folder).map_err(|error| Error::io(&folder, error))
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// How long another process may take from creating its folder to locking it.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Removes folders that are not locked. An empty one is kept for a while, because another process
/// may be about to lock it.
fn sweep(target: &Path) {
    for entry in fs::read_dir(target).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_one = name
            .to_str()
            .is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if !is_one || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let path = entry.path();
        let Ok(folder) = File::open(&path) else {
            continue;
        };
        let has_files = || fs::read_dir(&path).is_ok_and(|mut files| files.next().is_some());
        let is_old = || {
            let made = folder.metadata().and_then(|about| about.modified());
            made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > PATIENCE))
        };
        if folder.try_lock().is_ok() && (has_files() || is_old()) {
            // A folder that cannot be removed is left.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_save_has_left_goes_and_what_is_in_use_stays() {
        let target = tempfile::tempdir().unwrap();
        let left = target.path().join(".save_pretrained.ab12Cd.tmp");
        fs::create_dir_all(left.join("sub")).unwrap();
        fs::write(left.join("model.safetensors"), "half of it").unwrap();
        let empty = target.path().join(".save_pretrained.zZ99zZ.tmp");
        fs::create_dir(&empty).unwrap();
        let foreign = target.path().join(".save_pretrained.tmp.txt");
        fs::write(&foreign, "mine").unwrap();
        let one = Staging::new_in(target.path()).unwrap();
        assert!(!left.exists() && empty.exists());
        let long_ago = std::time::SystemTime::now() - 2 * PATIENCE;
        File::open(&empty).unwrap().set_modified(long_ago).unwrap();
        fs::write(one.path().join("config.json"), "{}").unwrap();
        let other = Staging::new_in(target.path()).unwrap();
        assert!(one.path().join("config.json").exists());
        assert!(foreign.exists() && !empty.exists());
        let paths = [one.path().to_owned(), other.path().to_owned()];
        drop((one, other));
        assert!(paths.iter().all(|path| !path.exists()));
    }
}
