//! Which files of the cache were verified, so that a file is hashed once and not at every use.
//!
//! `verified.json` is beside `blobs/` and not in it, so that no tool takes it for a file of the
//! repository. It has the hash of each verified file, with its size, times and inode at that moment.
//! A file of which one of these differs was changed or replaced, and is hashed again.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::{RepoCache, temporary};
use crate::digest::Digest;
use crate::mutex::locked;

/// The version of the form that is read and written.
const FORMAT_VERSION: u64 = 1;
/// The largest record that is read, in bytes: enough for some hundred thousand files.
const MAX_BYTES: u64 = 64 << 20;
/// Two writes within one tick of the system's clock give a file the same times. A tick has at most
/// ten milliseconds on Linux.
const TICK: Duration = Duration::from_millis(20);
const NANOSECONDS: i64 = 1_000_000_000;

/// When files of the cache are hashed before they are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CacheCheck {
    /// Never; only sizes are compared.
    Sizes,
    /// If they were never verified, or changed since.
    #[default]
    Changed,
    /// Always.
    Everything,
}

/// What changes when a file is written or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    size: u64,
    /// The times of the last change of the contents and of the inode, in nanoseconds since 1970.
    mtime: i64,
    ctime: i64,
    inode: u64,
}

impl Stamp {
    /// `None` where the system has no times of inodes, or a time is beyond the year 2262.
    #[cfg(unix)]
    pub(crate) fn new(about: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;

        let nanoseconds =
            |seconds: i64, rest: i64| seconds.checked_mul(NANOSECONDS)?.checked_add(rest);
        Some(Self {
            size: about.len(),
            mtime: nanoseconds(about.mtime(), about.mtime_nsec())?,
            ctime: nanoseconds(about.ctime(), about.ctime_nsec())?,
            inode: about.ino(),
        })
    }

    #[cfg(not(unix))]
    pub(crate) fn new(_: &Metadata) -> Option<Self> {
        None
    }

    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        Self::new(&path.metadata().ok()?)
    }

    /// Whether the contents are the same; a link to the file or another mode changes only the time
    /// of the inode.
    fn has_same_contents(&self, other: &Self) -> bool {
        let contents = |stamp: &Self| (stamp.size, stamp.mtime, stamp.inode);
        contents(self) == contents(other)
    }

    /// Waits until a further write would give the file another time; `false` if its times are in
    /// the future, or the file system seems to have times of whole seconds, which a second write
    /// may leave as they are.
    pub(crate) fn settle(&self) -> bool {
        if self.ctime % NANOSECONDS == 0 {
            return false;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_nanos());
        let changed = u128::try_from(self.mtime.max(self.ctime)).unwrap_or_default();
        let Some(age) = now.checked_sub(changed) else {
            return false;
        };
        if let Some(left) = TICK.as_nanos().checked_sub(age) {
            let left = u64::try_from(left).unwrap_or_default();
            std::thread::sleep(Duration::from_nanos(left));
        }
        true
    }
}

/// A verified file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct VerifiedFile {
    hash: String,
    #[serde(flatten)]
    stamp: Stamp,
}

#[derive(Default, Serialize, Deserialize)]
struct Record {
    format_version: u64,
    /// By their paths within the repository's part of the cache.
    files: BTreeMap<String, VerifiedFile>,
}

/// The verified files of a repository: those of the record, and new ones.
#[derive(Debug, Default)]
pub(super) struct VerifiedFiles {
    recorded: OnceLock<BTreeMap<String, VerifiedFile>>,
    new: Mutex<BTreeMap<String, VerifiedFile>>,
}

impl RepoCache {
    /// Whether a file was verified as having that hash, and has not changed since.
    pub(super) fn was_verified(&self, path: &Path, digest: &Digest, stamp: Stamp) -> bool {
        let recorded = self.verified.recorded.get_or_init(|| self.read_record());
        let file = self.key(path).and_then(|key| recorded.get(&key));
        file.is_some_and(|file| file.hash == digest.hex() && file.stamp == stamp)
    }

    /// Notes that a file has that hash, and had this stamp before it was hashed.
    pub(super) fn add_verified(&self, path: &Path, digest: &Digest, stamp: Stamp) {
        if let Some(key) = self.key(path) {
            let hash = digest.hex().to_owned();
            locked(&self.verified.new).insert(key, VerifiedFile { hash, stamp });
        }
    }

    /// Notes the file that a download has put into the cache, and into a snapshot where there are no
    /// links.
    pub(crate) fn add_downloaded(
        &self,
        (commit, name): (&str, &str),
        digest: &Digest,
        stamp: Option<Stamp>,
    ) {
        let Some(stamp) = stamp else { return };
        for path in [self.blob(digest), self.snapshot(commit).join(name)] {
            let is_file = path.symlink_metadata().is_ok_and(|about| about.is_file());
            if is_file && Stamp::from_path(&path).is_some_and(|now| now.has_same_contents(&stamp)) {
                self.add_verified(&path, digest, stamp);
            }
        }
    }

    /// Records the new verified files for later processes. If the record cannot be written, for
    /// example because the cache is read-only, they are hashed again.
    pub(crate) fn record_verified(&self) {
        let new = std::mem::take(&mut *locked(&self.verified.new));
        if !new.is_empty() {
            let _ = self.write_record(self.settled(new));
        }
    }

    /// The files that nobody wrote since they were verified, with their present stamps.
    fn settled(&self, files: BTreeMap<String, VerifiedFile>) -> BTreeMap<String, VerifiedFile> {
        let now = |key: &str, file: &VerifiedFile| {
            let stamp = Stamp::from_path(&self.root.join(key));
            stamp.filter(|now| now.has_same_contents(&file.stamp))
        };
        let stamped = files.into_iter().filter_map(|(key, mut file)| {
            file.stamp = now(&key, &file)?;
            file.stamp.settle().then_some((key, file))
        });
        let mut files: BTreeMap<_, _> = stamped.collect();
        files.retain(|key, file| now(key, file) == Some(file.stamp));
        files
    }

    fn write_record(&self, new: BTreeMap<String, VerifiedFile>) -> io::Result<()> {
        // Without the lock, files that another process adds at this moment are hashed again.
        let _lock = super::lock::locked(&self.root, &self.root.join("verified.lock"));
        let recorded = self.read_record();
        let mut files = recorded.clone();
        files.extend(new);
        files.retain(|key, _| self.root.join(key).is_file());
        if files == recorded {
            return Ok(());
        }
        let record = Record {
            format_version: FORMAT_VERSION,
            files,
        };
        let mut file = temporary(&self.root, ".verified.", ".tmp")?;
        file.write_all(&serde_json::to_vec(&record)?)?;
        file.persist(self.record_path())?;
        Ok(())
    }

    /// The recorded files; none if there is no record, or one of another form.
    fn read_record(&self) -> BTreeMap<String, VerifiedFile> {
        let read = || -> io::Result<Record> {
            let mut text = Vec::new();
            File::open(self.record_path())?
                .take(MAX_BYTES)
                .read_to_end(&mut text)?;
            Ok(serde_json::from_slice(&text)?)
        };
        let record = read().ok();
        let record = record.filter(|record| record.format_version == FORMAT_VERSION);
        record.unwrap_or_default().files
    }

    fn record_path(&self) -> PathBuf {
        self.root.join("verified.json")
    }

    /// The name of a file in the record; `None` for a path that is not Unicode.
    fn key(&self, path: &Path) -> Option<String> {
        Some(path.strip_prefix(&self.root).ok()?.to_str()?.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::Stamp;

    #[test]
    fn a_time_of_whole_seconds_settles_never() {
        let stamp = |ctime| Stamp {
            size: 1,
            mtime: 1_700_000_000_000_000_000,
            ctime,
            inode: 1,
        };
        assert!(!stamp(1_700_000_000_000_000_000).settle());
        // The time of the contents can be set to any value, and does not count.
        assert!(stamp(1_700_000_000_000_000_001).settle());
    }
}
