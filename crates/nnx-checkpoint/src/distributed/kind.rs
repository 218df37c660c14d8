//! Which kind of checkpoint several processes wrote, by the names of the files.

use std::path::{Path, PathBuf};

use super::dcp::{METADATA_NAME, rank_of_metadata};
use super::hf::{self, rank_of_shard};
use super::ranks::{RankStem, stems};
use super::{files, universal, zero};
use crate::CheckpointPart;
use crate::error::{DistributedFault, Error, Result, names_in_words};
use crate::open::OpenOptions;

/// Names that an error shows.
const SHOWN: usize = 5;

/// What several processes wrote into a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DistributedKind {
    /// `torch.distributed.checkpoint`.
    TorchDcp,
    /// DeepSpeed's ZeRO.
    Zero,
    /// A universal checkpoint of DeepSpeed.
    Universal,
    /// `torch.distributed.checkpoint` in safetensors files.
    SafeTensors,
    /// A file of `torch.save` for each rank: those of one stem.
    RankPickles(RankStem),
}

/// A folder that several processes wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recognized {
    pub(crate) folder: PathBuf,
    pub(crate) kind: DistributedKind,
    /// What a user should know of the choice.
    pub(crate) note: Option<String>,
}

impl Recognized {
    fn new(folder: &Path, kind: DistributedKind) -> Self {
        Self {
            folder: folder.to_path_buf(),
            kind,
            note: None,
        }
    }

    /// The checkpoint of several processes in a folder, if it is one. Some kinds come only behind
    /// weights of a standard name, `has_weights`.
    ///
    /// # Errors
    /// When there are several to choose from.
    pub(crate) fn in_folder(
        folder: &Path,
        has_weights: bool,
        options: &OpenOptions,
    ) -> Result<Option<Self>> {
        if let Some(found) = Self::before_weights(folder)? {
            return Ok(Some(found));
        }
        if has_weights {
            return Ok(None);
        }
        Self::behind_weights(folder, options)
    }

    fn before_weights(folder: &Path) -> Result<Option<Self>> {
        let (names, folders) = files::names(folder)?;
        let found = |kind| Ok(Some(Self::new(folder, kind)));
        if names.iter().any(|name| is_dcp(name)) {
            return found(DistributedKind::TorchDcp);
        }
        if universal::is_universal(&names, &folders) {
            return found(DistributedKind::Universal);
        }
        let is_zero = names.iter().any(|name| zero::is_latest(name))
            || zero::is_save(&names)
            || zero::single_save(folder, &folders);
        if is_zero {
            return found(DistributedKind::Zero);
        }
        Ok(None)
    }

    /// What comes behind weights of a standard name: pieces in safetensors files, files of ranks, and
    /// folders within this one.
    fn behind_weights(folder: &Path, options: &OpenOptions) -> Result<Option<Self>> {
        let part = options.part;
        let (names, folders) = files::names(folder)?;
        let has_pieces = names.iter().any(|name| rank_of_shard(name).is_some())
            || hf::has_pieces(folder, &names, options)?;
        if has_pieces {
            return Ok(Some(Self::new(folder, DistributedKind::SafeTensors)));
        }
        let all = stems(names.iter().map(String::as_str));
        let is_wanted = |stem: &&RankStem| {
            !stem.is_extra() && stem.is_optimizer() == (part == CheckpointPart::Optimizer)
        };
        let wanted: Vec<&RankStem> = all.iter().filter(is_wanted).collect();
        let found = match wanted.as_slice() {
            [] => all.first(),
            [only] => Some(*only),
            several => {
                let names: Vec<String> = several.iter().map(|stem| stem.in_words()).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                return Err(choose(&names));
            }
        };
        if let Some(stem) = found {
            let kind = DistributedKind::RankPickles(stem.clone());
            return Ok(Some(Self::new(folder, kind)));
        }
        Self::below(folder, &folders, part)
    }

    /// The checkpoint in a folder within this one.
    fn below(folder: &Path, folders: &[String], part: CheckpointPart) -> Result<Option<Self>> {
        let mut found = Vec::new();
        for name in folders {
            // A folder that cannot be listed may be anybody's.
            let (names, _) = files::names(&folder.join(name)).unwrap_or_default();
            if names.iter().any(|name| is_dcp(name)) {
                found.push(name.as_str());
            }
        }
        // accelerate writes the model and each optimizer into folders of their own.
        let start = match part {
            CheckpointPart::Optimizer => "optimizer",
            _ => "pytorch_model_fsdp",
        };
        let of_part: Vec<&str> = found
            .iter()
            .copied()
            .filter(|name| name.starts_with(start))
            .collect();
        let only = match (found.as_slice(), of_part.as_slice()) {
            ([], _) => return Ok(None),
            ([only], _) | (_, [only]) => *only,
            (several, _) => return Err(choose(several)),
        };
        let others = found.iter().filter(|name| **name != only).copied();
        let others: Vec<&str> = others.collect();
        let note = if others.is_empty() {
            format!("the folder's checkpoint is in its folder `{only}`")
        } else {
            format!(
                "the folder `{only}` is read, and not {}",
                names_in_words(&others, SHOWN)
            )
        };
        Ok(Some(Self {
            note: Some(note),
            ..Self::new(&folder.join(only), DistributedKind::TorchDcp)
        }))
    }

    /// The checkpoint that a file is a part of, as its name tells.
    pub(crate) fn of_file(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let kind = if is_dcp(name) {
            DistributedKind::TorchDcp
        } else if name == universal::LATEST_UNIVERSAL {
            DistributedKind::Universal
        } else if zero::is_latest(name) || zero::is_rank_file(name) {
            DistributedKind::Zero
        } else if rank_of_shard(name).is_some() {
            DistributedKind::SafeTensors
        } else {
            return None;
        };
        Some(Self::new(folder_of(path), kind))
    }

    /// The checkpoint that a file with pieces of tensors is a part of, where files of other ranks are
    /// beside it.
    pub(crate) fn of_pieces(path: &Path) -> Option<Self> {
        let (stem, _) = RankStem::parse(path.file_name()?.to_str()?)?;
        let folder = folder_of(path);
        let (names, _) = files::names(folder).ok()?;
        let has_others = stem.files(&names).len() > 1;
        has_others.then(|| Self::new(folder, DistributedKind::RankPickles(stem)))
    }

    /// The pieces in safetensors files beside a file.
    pub(crate) fn of_safetensors(path: &Path) -> Self {
        Self::new(folder_of(path), DistributedKind::SafeTensors)
    }
}

/// Whether a file of that name is a part of such a checkpoint, and nothing by itself.
pub(crate) fn is_part(name: &str) -> bool {
    is_dcp(name) || zero::is_rank_file(name) || rank_of_shard(name).is_some()
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn is_dcp(name: &str) -> bool {
    name == METADATA_NAME || rank_of_metadata(name).is_some() || name.ends_with(".distcp")
}

fn choose(names: &[&str]) -> Error {
    Error::distributed(
        DistributedFault::ChooseFolder,
        format!(
            "the folder has {} checkpoints: {}; give one of them",
            names.len(),
            names_in_words(names, SHOWN)
        ),
    )
}
