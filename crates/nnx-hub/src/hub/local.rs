//! The files of a folder that is uploaded.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::digest::{self, Digest, Hasher};
use crate::error::{Error, ErrorKind, Result};
use crate::{patterns, safe_path};

/// The number of bytes by which the Hub decides how a file is stored.
const SAMPLE_BYTES: u64 = 512;
/// The greatest depth of folders that are searched.
const MAX_DEPTH: usize = 64;

/// Files that are never uploaded: git's folder, caches of the `hf` tools, the locks of NNx, and the
/// temporary files that NNx, `huggingface_hub` and this crate write.
const LEFT_OUT: &[&str] = &[
    ".git/",
    "*/.git/",
    ".git",
    "*/.git",
    ".cache/huggingface/",
    "*/.cache/huggingface/",
    ".leases/",
    "*/.leases/",
];

/// The files that NNx locks in place of the files beside them.
const LOCKS: &[&str] = &[".run.lock", ".best.lock", ".admission.lock", ".bundle.lock"];

/// Whether the name of a file is that of a lock or a temporary file of NNx.
fn is_passing(name: &str) -> bool {
    const LOCKED: &[&str] = &[".pt.lock", ".safetensors.lock"];
    const REPLACED: &[&str] = &[".pt", ".safetensors", ".yaml", ".csv", ".json", ".jsonl"];
    if LOCKS.contains(&name) || LOCKED.iter().any(|end| name.ends_with(end)) {
        return true;
    }
    let Some(hidden) = name.strip_prefix('.') else {
        return false;
    };
    let is_random = |text: &str, count: usize| {
        text.len() == count
            && text
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || it == b'_')
    };
    let made = [".nnx-tmp", ".tmp"]
        .iter()
        .find_map(|suffix| hidden.strip_suffix(suffix));
    match made {
        // `.model.safetensors.Ab12cd.nnx-tmp`, `.save_pretrained.Ab12cd.tmp`.
        Some(made) => made
            .rsplit_once('.')
            .is_some_and(|(_, tail)| is_random(tail, 6)),
        // `.last.pt.k3x9_0qz`: the temporary file of a run's save, here and in Python.
        None => hidden.rsplit_once('.').is_some_and(|(target, tail)| {
            is_random(tail, 8) && REPLACED.iter().any(|end| target.ends_with(end))
        }),
    }
}

/// A file to upload. It is hashed when its hash is needed for the first time, and only with the kind
/// of hash that is needed: a large file is read once.
#[derive(Clone, Debug)]
pub(super) struct LocalFile {
    /// Its name in the repository.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) size: u64,
    pub(super) sample: Vec<u8>,
    sha256: OnceLock<Digest>,
    git_sha1: OnceLock<Digest>,
}

impl LocalFile {
    /// Reads the beginning of a file.
    fn open(name: String, path: PathBuf) -> Result<Self> {
        let io = |error| Error::io(&path, error);
        let mut file = File::open(&path).map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        let mut sample = Vec::new();
        file.by_ref()
            .take(SAMPLE_BYTES)
            .read_to_end(&mut sample)
            .map_err(io)?;
        Ok(Self {
            name,
            path,
            size,
            sample,
            sha256: OnceLock::new(),
            git_sha1: OnceLock::new(),
        })
    }

    /// The hash as that of a large file.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`] when the file has another size than before, or an error of the disk.
    pub(super) fn sha256(&self) -> Result<&Digest> {
        self.hash(&self.sha256, Hasher::sha256)
    }

    /// The hash as that of a file that is not large.
    ///
    /// # Errors
    /// As for [`sha256`](Self::sha256).
    pub(super) fn git_sha1(&self) -> Result<&Digest> {
        self.hash(&self.git_sha1, || Hasher::git_sha1(self.size))
    }

    fn hash<'a>(
        &self,
        known: &'a OnceLock<Digest>,
        hasher: impl FnOnce() -> Hasher,
    ) -> Result<&'a Digest> {
        if let Some(known) = known.get() {
            return Ok(known);
        }
        let io = |error| Error::io(&self.path, error);
        let mut file = File::open(&self.path).map_err(io)?;
        if file.metadata().map_err(io)?.len() != self.size {
            return Err(self.changed());
        }
        let digest = digest::hash(&mut file, hasher()).map_err(io)?;
        Ok(known.get_or_init(|| digest))
    }

    /// Whether the file has that hash.
    ///
    /// # Errors
    /// As for [`sha256`](Self::sha256).
    pub(super) fn is(&self, digest: &Digest) -> Result<bool> {
        let own = match digest {
            Digest::Sha256(_) => self.sha256(),
            Digest::GitSha1(_) => self.git_sha1(),
        };
        Ok(own? == digest)
    }

    /// The error that the file changed while it was uploaded.
    #[cold]
    pub(super) fn changed(&self) -> Error {
        Error::from(ErrorKind::Changed {
            file: self.name.clone(),
        })
    }
}

/// The files of a folder.
#[derive(Debug, Default)]
pub(super) struct LocalFiles {
    /// The files that the patterns select, in the order of their names.
    pub(super) files: Vec<LocalFile>,
    /// The names of the files that are never uploaded, even if the patterns select them.
    pub(super) left_out: Vec<String>,
}

/// The files of a folder. Links to files are followed, links to folders are not.
///
/// # Errors
/// When a file cannot be read, or has a name that a repository cannot have.
pub(super) fn files(
    folder: &Path,
    within: Option<&str>,
    allow: Option<&[String]>,
    ignore: &[String],
) -> Result<LocalFiles> {
    let mut names = Vec::new();
    list(folder, "", 0, &mut names)?;
    names.sort();
    let left_out: Vec<String> = LEFT_OUT.iter().map(|text| (*text).to_owned()).collect();
    let mut found = LocalFiles::default();
    for name in names {
        let own = name.rsplit('/').next().unwrap_or(&name);
        if is_passing(own) || name.ends_with('/') || patterns::any(&name, &left_out) {
            found.left_out.push(name);
            continue;
        }
        if !patterns::takes(&name, allow, ignore) {
            continue;
        }
        let path = folder.join(&name);
        let name = match within {
            None => name,
            Some(within) => format!("{within}/{name}"),
        };
        safe_path::check(&name)?;
        found.files.push(LocalFile::open(name, path)?);
    }
    Ok(found)
}

/// The names of all files below a folder. A folder that is not searched is listed with a slash at
/// its end.
fn list(folder: &Path, prefix: &str, depth: usize, names: &mut Vec<String>) -> Result<()> {
    let io = |error| Error::io(folder, error);
    for entry in fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let path = entry.path();
        let own = entry.file_name().into_string().map_err(|_| {
            Error::io(
                &path,
                std::io::Error::other("a name in a repository is UTF-8"),
            )
        })?;
        let name = format!("{prefix}{own}");
        if entry.file_type().map_err(io)?.is_dir() {
            let is_left_out = matches!(own.as_str(), ".git" | ".leases") || is_passing(&own);
            if is_left_out || depth >= MAX_DEPTH {
                names.push(format!("{name}/"));
            } else {
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

    /// The files of a folder that are uploaded, and the files that are left out.
    fn judged(names: &[&str], within: Option<&str>) -> (Vec<String>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        let found = files(folder.path(), within, None, &["*.csv".into()]).unwrap();
        let taken = found.files.into_iter().map(|file| file.name).collect();
        (taken, found.left_out)
    }

    #[test]
    fn locks_and_temporaries_are_left_out() {
        let left_out = [
            ".git/config",
            ".leases/x",
            ".run.lock",
            ".save_pretrained.ab12Cd.tmp/config.json",
            "checkpoints/.last.pt.Ab12Cd34",
            "checkpoints/.last.pt.Ab12cd.nnx-tmp",
            "checkpoints/.last.pt.k3x9_0qz",
            "checkpoints/last.pt.lock",
            "history/.chunk-00000001.jsonl.k3x9_0qz",
            "sub/.cache/huggingface/x",
        ];
        let taken = ["checkpoints/last.pt", "idps.csv", "run.yaml"];
        let (found, others) = judged(&[&left_out[..], &taken].concat(), Some("a/b"));
        assert_eq!(found, ["a/b/checkpoints/last.pt", "a/b/run.yaml"]);
        let documented = left_out.map(|name| match name.split_once('/') {
            Some((folder, _)) if name.starts_with('.') => format!("{folder}/"),
            _ => name.to_owned(),
        });
        assert_eq!(others, documented);
    }

    #[test]
    fn what_a_user_names_so_is_taken() {
        let names = [
            ".config.yaml.swp",
            ".foo.json.bak",
            ".gitattributes",
            ".keep.csv.d/f",
            ".x.tmp",
            ".y.lock",
            "Cargo.lock",
            "m.incomplete",
            "notes.pt.Ab12cd.tmp",
        ];
        assert_eq!(
            judged(&names, None),
            (names.map(str::to_owned).into(), vec![])
        );
    }
}
