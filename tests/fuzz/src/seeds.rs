//! The seeds of a mutator: the fixtures, whole and in parts.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use nnx_checkpoint::{Format, Limits, pickle, sniff, zip::ZipArchive};

use crate::body::Body;
use crate::random::Random;

/// Bytes of a seed, at most: long ones are slow and hide small changes.
const MAX_SEED: usize = 1 << 15;
/// Pickles at the start of a legacy file.
const LEGACY_PICKLES: usize = 5;
/// Made-up seeds for a body that reads no format.
const MADE_UP: u64 = 64;

/// Every fixture that is a file of a model, in the order of the paths.
///
/// # Panics
/// When the fixtures cannot be read or are not there.
pub fn fixtures() -> Vec<Bytes> {
    let mut paths = Vec::new();
    collect(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures")),
        &mut paths,
    );
    paths.sort();
    let files = paths.iter().map(|path| {
        let bytes =
            std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Bytes::from(bytes)
    });
    let files: Vec<_> = files.filter(|bytes| bytes.len() <= MAX_SEED).collect();
    assert!(files.len() > 200, "only {} fixtures", files.len());
    files
}

/// Whether a file is the metadata of `torch.distributed.checkpoint`.
fn is_metadata(file: &[u8]) -> bool {
    let class = b"torch.distributed.checkpoint.metadata";
    sniff(file) == Some(Format::Pickle) && file.windows(class.len()).any(|part| part == class)
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    let entries =
        std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("a directory entry").path();
        let suffix = path.extension().unwrap_or_default();
        if path.is_dir() {
            collect(&path, paths);
        } else if !["json", "md", "py"].iter().any(|other| suffix == *other) {
            paths.push(path);
        }
    }
}

/// The seeds of a body.
///
/// # Panics
/// When the fixtures cannot be read or give the body none.
pub fn seeds(body: Body) -> Vec<Vec<u8>> {
    let files = fixtures();
    let of = |formats: &[Option<Format>]| -> Vec<Bytes> {
        let files = files.iter().filter(|file| formats.contains(&sniff(file)));
        files.cloned().collect()
    };
    let archives = || of(&[Some(Format::TorchZip)]);
    let mut seeds = match body.name {
        "sniff" => files.clone(),
        "pickle" => files.iter().flat_map(programs).collect(),
        "zip" => with_unguarded(archives()),
        "safetensors" => of(&[Some(Format::SafeTensors), None]),
        "distributed" => files
            .iter()
            .filter(|file| is_metadata(file))
            .cloned()
            .collect(),
        "write" => made_up(),
        "yaml" | "history" => of(&[None]),
        _ => {
            let mut seeds = with_unguarded(archives());
            seeds.extend(of(&[
                Some(Format::TorchLegacy),
                Some(Format::Pickle),
                Some(Format::Tar),
            ]));
            seeds.extend(files.iter().flat_map(programs));
            if ["checkpoint", "convert", "reader", "remote"].contains(&body.name) {
                seeds.extend(of(&[Some(Format::SafeTensors), None]));
            }
            seeds
        }
    };
    if body.name == "convert" {
        // Every wish is tried with some file.
        for (wish, seed) in (0..16).cycle().zip(&mut seeds) {
            *seed = [&[wish], &seed[..]].concat().into();
        }
    }
    if body.name == "remote" {
        // Every request fails with some file, and some files are read as large ones.
        for (plan, seed) in (0..=u8::MAX).cycle().zip(&mut seeds) {
            let plan: Vec<u8> = (0..16).map(|at| plan.wrapping_mul(at * 2 + 1)).collect();
            *seed = [&plan[..], &seed[..]].concat().into();
        }
    }
    seeds.sort();
    seeds.dedup();
    assert!(
        seeds.len() > 20,
        "only {} seeds for `{}`",
        seeds.len(),
        body.name
    );
    seeds.into_iter().map(Vec::from).collect()
}

/// The pickles in a file.
fn programs(file: &Bytes) -> Vec<Bytes> {
    let limits = Limits::default();
    if let Ok(archive) = ZipArchive::parse(file, &limits) {
        let pickles = archive
            .entries()
            .iter()
            .filter(|entry| entry.name().ends_with(".pkl"));
        return pickles
            .filter_map(|entry| archive.data(entry).ok())
            .collect();
    }
    let mut programs = Vec::new();
    let mut rest = file.clone();
    while programs.len() < LEGACY_PICKLES && rest.first() == Some(&0x80) {
        let Ok((_, consumed)) = pickle::read(&rest, &limits) else {
            break;
        };
        programs.push(rest.split_to(consumed));
    }
    programs
}

/// The archives, and each once more without checksums: a change to a record then goes unnoticed.
fn with_unguarded(archives: Vec<Bytes>) -> Vec<Bytes> {
    const CENTRAL: &[u8] = b"PK\x01\x02";
    const CHECKSUM_AT: usize = 16;
    let unguarded = archives.iter().map(|archive| {
        let mut bytes = archive.to_vec();
        for at in 0..bytes.len() {
            if bytes[at..].starts_with(CENTRAL)
                && let Some(checksum) = bytes.get_mut(at + CHECKSUM_AT..at + CHECKSUM_AT + 4)
            {
                checksum.fill(0);
            }
        }
        Bytes::from(bytes)
    });
    let unguarded: Vec<_> = unguarded.collect();
    [archives, unguarded].concat()
}

fn made_up() -> Vec<Bytes> {
    let one = |seed| {
        let mut random = Random::new(seed);
        let length = random.below(1 << 11);
        (0..length)
            .map(|_| random.next().to_le_bytes()[0])
            .collect()
    };
    (0..MADE_UP).map(one).collect()
}
