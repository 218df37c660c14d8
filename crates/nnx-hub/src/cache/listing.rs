//! The files of a repository at a commit. The cache keeps this listing beside the files, so that it
//! can tell without the network whether a snapshot is complete. The form is that of
//! `huggingface_hub` 2, which reads and writes the same files.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};

use serde::{Deserialize, Serialize};

use super::{RepoCache, temporary};
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::safe_path;
use crate::tree_entry::TreeEntry;

/// The version of the form that is read and written.
const FORMAT_VERSION: u64 = 1;
/// The largest listing that is read, in bytes: enough for some hundred thousand files.
const MAX_BYTES: u64 = 64 << 20;

#[derive(Serialize, Deserialize)]
struct CachedTree {
    format_version: u64,
    files: BTreeMap<String, CachedFile>,
}

#[derive(Serialize, Deserialize)]
struct CachedFile {
    size: u64,
    blob_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lfs_sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lfs_size: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    xet_hash: Option<String>,
}

impl CachedFile {
    /// `None` for a file without its hash in git, which the form requires.
    fn from_entry(entry: &TreeEntry) -> Option<Self> {
        let (lfs_sha256, lfs_size) = match &entry.digest {
            Digest::Sha256(hex) => (Some(hex.clone()), Some(entry.size)),
            Digest::GitSha1(_) => (None, None),
        };
        Some(Self {
            size: entry.size,
            blob_id: entry.blob_id.clone()?,
            lfs_sha256,
            lfs_size,
            xet_hash: entry.xet_hash.clone(),
        })
    }

    /// `None` for an entry that no repository can have.
    fn into_entry(self, path: String) -> Option<TreeEntry> {
        safe_path::check_listed(&path).ok()?;
        let digest = match &self.lfs_sha256 {
            Some(hex) => Digest::sha256(hex),
            None => Digest::git_sha1(&self.blob_id),
        };
        Some(TreeEntry {
            path,
            size: self.size,
            digest: digest?,
            blob_id: Some(self.blob_id),
            xet_hash: self.xet_hash,
        })
    }
}

impl RepoCache {
    /// The files of the repository at the commit; `None` if they are not recorded, or recorded in
    /// another form.
    pub(crate) fn listing(&self, commit: &str) -> Option<Vec<TreeEntry>> {
        let file = File::open(self.listing_path(commit)).ok()?;
        let mut text = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut text).ok()?;
        let listing: CachedTree = serde_json::from_slice(&text).ok()?;
        if listing.format_version != FORMAT_VERSION {
            return None;
        }
        let files = listing.files.into_iter();
        files
            .map(|(path, listed)| listed.into_entry(path))
            .collect()
    }

    /// Records the files of the repository at a commit. If the listing cannot be written, for
    /// example because the cache is read-only, it is not available later.
    pub(crate) fn set_listing(&self, commit: &str, entries: &[TreeEntry]) {
        let files = entries.iter();
        let files = files.map(|entry| Some((entry.path.clone(), CachedFile::from_entry(entry)?)));
        if let Some(files) = files.collect::<Option<BTreeMap<_, _>>>() {
            let listing = CachedTree {
                format_version: FORMAT_VERSION,
                files,
            };
            let _ = self.write_listing(commit, &listing);
        }
    }

    fn write_listing(&self, commit: &str, listing: &CachedTree) -> Result<()> {
        let path = self.listing_path(commit);
        let io = |error| Error::io(&path, error);
        let formatter = serde_json::ser::PrettyFormatter::with_indent(b" ");
        let mut text = Vec::new();
        let mut serializer = serde_json::Serializer::with_formatter(&mut text, formatter);
        let written = listing.serialize(&mut serializer);
        written.map_err(|error| io(std::io::Error::other(error)))?;
        // The listing of a commit never changes.
        if fs::read(&path).is_ok_and(|noted| noted == text) {
            return Ok(());
        }
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(io)?;
        let mut file = temporary(folder, "", ".tmp").map_err(io)?;
        file.write_all(&text).map_err(io)?;
        file.persist(&path).map_err(|error| io(error.error))?;
        Ok(())
    }

    fn listing_path(&self, commit: &str) -> std::path::PathBuf {
        self.root.join("trees").join(format!("{commit}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RepoId;
    use crate::cache::CacheCheck;

    fn cache(folder: &tempfile::TempDir) -> RepoCache {
        RepoCache::new(
            folder.path(),
            &RepoId::parse("a/b").unwrap(),
            true,
            CacheCheck::default(),
        )
    }

    /// Written by `huggingface_hub` 2.4.0: `write_tree_cache(folder, "c" * 40, {…})`.
    const OF_PYTHON: &str = concat!(
        "{\n \"format_version\": 1,\n \"files\": {\n",
        "  \"a.txt\": {\n   \"size\": 1,\n",
        "   \"blob_id\": \"1111111111111111111111111111111111111111\"\n  },\n",
        "  \"m/w.bin\": {\n   \"size\": 7,\n",
        "   \"blob_id\": \"2222222222222222222222222222222222222222\",\n",
        "   \"lfs_sha256\": \"3333333333333333333333333333333333333333333333333333333333333333\",\n",
        "   \"lfs_size\": 7,\n",
        "   \"xet_hash\": \"4444444444444444444444444444444444444444444444444444444444444444\"\n",
        "  }\n }\n}",
    );

    #[test]
    fn a_listing_of_python_is_read_and_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, commit) = (cache(&folder), "c".repeat(40));
        let path = cache.listing_path(&commit);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, OF_PYTHON).unwrap();
        let entries = cache.listing(&commit).unwrap();
        let names: Vec<_> = entries.iter().map(|entry| entry.path.as_str()).collect();
        assert_eq!(names, ["a.txt", "m/w.bin"]);
        assert_eq!(entries[1].digest, Digest::Sha256("3".repeat(64)));
        let other = "d".repeat(40);
        cache.set_listing(&other, &entries);
        let again = fs::read_to_string(cache.listing_path(&other)).unwrap();
        assert_eq!(again, OF_PYTHON);
    }

    #[test]
    fn what_is_no_listing_tells_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, commit) = (cache(&folder), "c".repeat(40));
        assert!(cache.listing(&commit).is_none());
        let path = cache.listing_path(&commit);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        for text in [
            "",
            "{}",
            &OF_PYTHON.replace("version\": 1", "version\": 2"),
            &OF_PYTHON.replace("a.txt", "../a.txt"),
            &OF_PYTHON.replace("\"1111", "\"x111"),
            &OF_PYTHON.replace("\"size\": 7", "\"size\": -7"),
        ] {
            assert_ne!(text, OF_PYTHON);
            fs::write(&path, text).unwrap();
            assert!(cache.listing(&commit).is_none(), "{text}");
        }
    }
}
