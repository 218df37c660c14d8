//! Which save of a folder is meant, and which files it has.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::distributed::files;
use crate::error::{DistributedFault, Error, Result, names_in_words, shown};

/// Bytes of the file `latest`: it holds a name.
const MAX_LATEST: u64 = 4096;
/// Names that an error shows.
const SHOWN: usize = 5;

/// Whether a file of that name says which save is the last one.
pub(crate) fn is_latest(name: &str) -> bool {
    name == "latest"
}

/// Whether a file of that name has what one rank has of a save.
pub(crate) fn is_rank_file(name: &str) -> bool {
    OptimName::parse(name).is_some()
        || name.starts_with("zero_pp_rank_") && name.ends_with("_model_states.pt")
}

/// Whether these are the names of the files of a save.
pub(crate) fn is_save(names: &[String]) -> bool {
    names.iter().any(|name| is_rank_file(name))
}

/// Whether one of the folders is a save. One that cannot be listed may be anybody's.
pub(crate) fn single_save(folder: &Path, folders: &[String]) -> bool {
    folders.iter().any(|name| {
        let (names, _) = files::names(&folder.join(name)).unwrap_or_default();
        names.iter().any(|name| OptimName::parse(name).is_some())
    })
}

/// The folder of the save that is meant, and what a user should know of the choice.
///
/// # Errors
/// When `latest` names none, or there is none to be told from others.
pub(super) fn find(folder: &Path) -> Result<(PathBuf, Option<String>)> {
    let latest = folder.join("latest");
    if latest.is_file() {
        let save = folder.join(tag(&latest)?);
        if !save.is_dir() {
            let name = save.file_name().unwrap_or_default().to_string_lossy();
            return Err(Error::distributed(
                DistributedFault::MissingFolder,
                format!(
                    "the file `latest` names the folder `{}`, which is not there; copy it as well",
                    shown(&name)
                ),
            )
            .in_path(&latest));
        }
        return Ok((save, None));
    }
    let (names, folders) = files::names(folder)?;
    if names.iter().any(|name| is_states(name)) {
        return Ok((folder.to_path_buf(), None));
    }
    let mut saves = Vec::new();
    for name in &folders {
        let (names, _) = files::names(&folder.join(name)).unwrap_or_default();
        if names.iter().any(|name| is_states(name)) {
            saves.push(name.as_str());
        }
    }
    match saves.as_slice() {
        [only] => Ok((
            folder.join(only),
            Some(format!(
                "the folder has no file `latest`; its one save `{}` is taken",
                shown(only)
            )),
        )),
        [] => Err(Error::distributed(
            DistributedFault::NoLatest,
            "the folder has neither a file `latest` nor a save of DeepSpeed",
        )),
        several => Err(Error::distributed(
            DistributedFault::NoLatest,
            format!(
                "the folder has {} saves ({}) and no file `latest` that says which is meant; give \
                 one of these folders",
                several.len(),
                names_in_words(several, SHOWN)
            ),
        )),
    }
}

/// The name in a file `latest` or `latest_universal`.
///
/// # Errors
/// When it is none, or a path.
pub(in crate::distributed) fn tag(latest: &Path) -> Result<String> {
    let read = || -> Result<String> {
        let mut bytes = Vec::new();
        fs::File::open(latest)?
            .take(MAX_LATEST)
            .read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let name = text.trim();
        let is_name = !name.is_empty()
            && !name.contains(['/', '\\', ':', '\0'])
            && !matches!(name, "." | "..");
        if is_name {
            return Ok(name.to_owned());
        }
        Err(Error::distributed(
            DistributedFault::PathTraversal,
            format!(
                "expected the name of a folder beside the file, found `{}`",
                shown(name)
            ),
        ))
    };
    read().map_err(|error| error.in_path(latest))
}

fn is_states(name: &str) -> bool {
    name.ends_with("_model_states.pt") || OptimName::parse(name).is_some()
}

/// The files of a save.
#[derive(Debug)]
pub(super) struct SaveFiles {
    /// The optimizer states, by their ranks.
    pub(super) optim: Vec<(u64, String)>,
    /// `mp_rank_00_model_states.pt`.
    pub(super) model: Vec<(u64, String)>,
    /// `zero_pp_rank_R_mp_rank_00_model_states.pt`, by their ranks.
    pub(super) rank_models: Vec<(u64, String)>,
}

impl SaveFiles {
    /// Lists the files of a save.
    ///
    /// # Errors
    /// When they tell that the model was split in another way than ZeRO's.
    pub(super) fn list(save: &Path) -> Result<Self> {
        let (names, folders) = files::names(save)?;
        if folders.iter().any(|name| name == "offloaded_tensors") {
            return Err(Error::distributed(
                DistributedFault::Offloaded,
                "the state was offloaded to NVMe and is in the folder `offloaded_tensors`, which is \
                 not read; load the training with DeepSpeed and save it again",
            )
            .in_path(save));
        }
        let mut listed = Self {
            optim: Vec::new(),
            model: Vec::new(),
            rank_models: Vec::new(),
        };
        for name in names {
            let is_split = name.starts_with("layer_") || name.starts_with("expp_rank_");
            if is_split && name.ends_with(".pt") {
                return Err(split(&name, save));
            }
            if let Some(found) = OptimName::parse(&name) {
                if found.model_rank != 0 {
                    return Err(split(&name, save));
                }
                listed.optim.push((found.rank, name));
            } else if let Some(rank) = name.strip_suffix("_model_states.pt") {
                if let Some(rank) = rank.strip_prefix("mp_rank_") {
                    let rank = number(rank).unwrap_or(u64::MAX);
                    if rank != 0 {
                        return Err(split(&name, save));
                    }
                    listed.model.push((rank, name));
                } else if let Some((rank, model_rank)) = pair(rank) {
                    if model_rank != 0 {
                        return Err(split(&name, save));
                    }
                    listed.rank_models.push((rank, name));
                }
            }
        }
        // As numbers: 10 is behind 9.
        listed.optim.sort();
        listed.rank_models.sort();
        Ok(listed)
    }
}

fn split(name: &str, save: &Path) -> Error {
    Error::distributed(
        DistributedFault::TensorParallel,
        format!(
            "`{}` is a part of a model that was split by tensor, pipeline or expert parallelism, \
             whose slices only the model's code can join; run DeepSpeed's `ds_to_universal`",
            shown(name)
        ),
    )
    .in_path(save)
}

/// The numbers in the name of a file of optimizer states.
struct OptimName {
    rank: u64,
    model_rank: u64,
}

impl OptimName {
    /// `[bf16_]zero_pp_rank_R_mp_rank_MM_optim_states.pt`; very old names lack the last underscore
    /// but one.
    fn parse(name: &str) -> Option<Self> {
        let name = name
            .strip_prefix("bf16_")
            .or_else(|| name.strip_prefix("fp16_"))
            .unwrap_or(name);
        let name = name.strip_suffix("optim_states.pt")?;
        let (rank, model_rank) = pair(name.strip_suffix('_').unwrap_or(name))?;
        Some(Self { rank, model_rank })
    }
}

/// `zero_pp_rank_R_mp_rank_MM`.
fn pair(name: &str) -> Option<(u64, u64)> {
    let (rank, model_rank) = name
        .strip_prefix("zero_pp_rank_")?
        .split_once("_mp_rank_")?;
    Some((number(rank)?, number(model_rank)?))
}

fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}
