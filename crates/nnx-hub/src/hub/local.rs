//! The files of a folder that is uploaded.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::digest::{self, Digest};
use crate::error::{Error, Result};
use crate::{patterns, safe_path};

/// Bytes of a file by whose look the Hub decides how it is stored.
const SAMPLE_BYTES: u64 = 512;
/// The deepest folder that is entered.
const MAX_DEPTH: usize = 64;

/// What is never uploaded: git's own folder, caches of the `hf` tools, the locks of NNx, and the
/// temporaries that NNx, `huggingface_hub` and this crate write beside what they replace.
const LEFT_OUT: &[&str] = &[
    ".git/",
    "*/.git/",
    ".git",
    "*/.git",
    ".cache/huggingface/",
    "*/.cache/huggingface/",
    ".leases/",
    "*/.leases/",
    "*.incomplete",
];

/// Whether a file's own name is that of a lock or a temporary.
fn is_passing(name: &str) -> bool {
    const LOCKED: &[&str] = &[".pt.lock", ".safetensors.lock"];
    const KEPT: &[&str] = &[
        ".pt.",
        ".safetensors.",
        ".yaml.",
        ".csv.",
        ".json.",
        ".jsonl.",
    ];
    if LOCKED.iter().any(|end| name.ends_with(end)) {
        return true;
    }
    // `.best.lock`, `.last.pt.Ab12cd.tmp`, and `.last.pt.k3x9_0qz` as Python names them.
    name.starts_with('.')
        && (name.ends_with(".lock")
            || name.ends_with(".tmp")
            || KEPT.iter().any(|part| name.contains(part)))
}

/// A file that is to be uploaded.
#[derive(Clone, Debug)]
pub(super) struct LocalFile {
    /// Its name in the repository.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) size: u64,
    pub(super) sha256: Digest,
    pub(super) git_sha1: Digest,
    pub(super) sample: Vec<u8>,
}

impl LocalFile {
    /// Reads a file once, for its hashes.
    fn read(name: String, path: PathBuf) -> Result<Self> {
        let io = |error| Error::io(&path, error);
        let mut file = File::open(&path).map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        let mut sample = Vec::new();
        file.by_ref()
            .take(SAMPLE_BYTES)
            .read_to_end(&mut sample)
            .map_err(io)?;
        let mut whole = sample.as_slice().chain(file);
        let (sha256, git_sha1) = digest::both(&mut whole, size).map_err(io)?;
        Ok(Self {
            name,
            path,
            size,
            sha256,
            git_sha1,
            sample,
        })
    }

    /// Whether it is the file of that hash.
    pub(super) fn is(&self, digest: &Digest) -> bool {
        *digest == self.sha256 || *digest == self.git_sha1
    }
}

/// The files of a folder that the patterns take, in the order of their names. Links to files are
/// followed, links to folders are not.
///
/// # Errors
/// When a file cannot be read, or has a name that a repository cannot have.
pub(super) fn files(
    folder: &Path,
    within: Option<&str>,
    allow: Option<&[String]>,
    ignore: &[String],
) -> Result<Vec<LocalFile>> {
    let mut names = Vec::new();
    list(folder, "", 0, &mut names)?;
    names.sort();
    let left_out: Vec<String> = LEFT_OUT.iter().map(|text| (*text).to_owned()).collect();
    let mut files = Vec::new();
    for name in names {
        let own = name.rsplit('/').next().unwrap_or(&name);
        if is_passing(own) || patterns::any(&name, &left_out) {
            continue;
        }
        if !patterns::takes(&name, allow, ignore) {
            continue;
        }
        let path = folder.join(&name);
        let name = match within.map(|within| within.trim_matches('/')) {
            None | Some("") => name,
            Some(within) => format!("{within}/{name}"),
        };
        safe_path::check(&name)?;
        files.push(LocalFile::read(name, path)?);
    }
    Ok(files)
}

fn list(folder: &Path, prefix: &str, depth: usize, names: &mut Vec<String>) -> Result<()> {
    let io = |error| Error::io(folder, error);
    for entry in fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let path = entry.path();
        let name = entry.file_name().into_string().map_err(|_| {
            Error::io(
                &path,
                std::io::Error::other("a name in a repository is UTF-8"),
            )
        })?;
        let name = format!("{prefix}{name}");
        if entry.file_type().map_err(io)?.is_dir() {
            // What is left out is not entered either.
            let is_own = matches!(name.rsplit('/').next(), Some(".git" | ".leases"));
            let is_staged = name.rsplit('/').next().is_some_and(is_passing);
            if depth < MAX_DEPTH && !is_own && !is_staged {
                list(&path, &format!("{name}/"), depth + 1, names)?;
            }
        } else if path.is_file() {
            names.push(name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_and_temporaries_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "run.yaml",
            "idps.csv",
            "checkpoints/last.pt",
            "checkpoints/last.pt.lock",
            "checkpoints/.last.pt.Ab12cd.tmp",
            "checkpoints/.last.pt.k3x9_0qz",
            ".run.lock",
            ".git/config",
            ".leases/x",
            "Cargo.lock",
            ".gitattributes",
            "sub/.cache/huggingface/x",
            ".save_pretrained.ab12.tmp/config.json",
            "history/.chunk-00000001.jsonl.k3x9_0qz",
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        let taken: Vec<_> = files(folder.path(), Some("a/b"), None, &["*.csv".into()])
            .unwrap()
            .into_iter()
            .map(|file| file.name)
            .collect();
        let expected = [
            "a/b/.gitattributes",
            "a/b/Cargo.lock",
            "a/b/checkpoints/last.pt",
            "a/b/run.yaml",
        ];
        assert_eq!(taken, expected);
    }
}
