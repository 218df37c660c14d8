//! The search for the checkpoint in a folder.

mod distributed;
mod listing;

use std::path::{Path, PathBuf};

pub(super) use self::distributed::{not_joined_here, refuse as refuse_distributed};
use self::listing::Listing;
use super::{index, shards};
use crate::error::{Error, ErrorKind, Result, names_in_words};
use crate::open::not_a_checkpoint;
use crate::source::Folder;
use crate::{Limits, LocalFolder, Source, WeightsName, WeightsPart};

/// The names by which weights are found in a folder, as the libraries of the Hugging Face family
/// write them, in the order in which they are looked for. The file of one piece comes before an
/// index, as in `transformers` and in the mixin of `huggingface_hub`, unless it is a shard of it.
const STANDARD_NAMES: &[&str] = &[
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    "diffusion_pytorch_model.safetensors",
    "diffusion_pytorch_model.safetensors.index.json",
    "diffusion_pytorch_model.bin",
    "diffusion_pytorch_model.bin.index.json",
    "adapter_model.safetensors",
    "adapter_model.bin",
    "consolidated.safetensors",
];

/// How many names a message shows.
const SHOWN_NAMES: usize = 5;

/// The weights in a folder.
#[derive(Debug)]
pub(super) struct Weights {
    /// The file or the index, or the shards where there is no index.
    pub(super) files: Files,
    /// Notes for the user.
    pub(super) note: Option<String>,
}

/// Files that are one checkpoint.
#[derive(Debug)]
pub(super) enum Files {
    /// A file, or the index of several.
    One(String),
    /// Shards without an index, in their order.
    Shards(Vec<String>),
}

/// The weights in a folder: those of a standard name; else those of the one variant that is there,
/// all `n` of the files that are named `… of n`, or the one file of Meta's form.
///
/// # Errors
/// When there are no such files; the error says what the folder is, or which files are there.
pub(super) fn weights(folder: &dyn Folder) -> Result<Weights> {
    for name in STANDARD_NAMES {
        if folder.has_file(name)? {
            let name = index_or_name(folder, name)?;
            let note = passed_over(folder, &name)?;
            return Ok(Weights {
                files: Files::One(name),
                note,
            });
        }
    }
    let listing = Listing::read(folder)?;
    distributed::refuse(&listing.files(|_| Some(())))?;
    if let Some(error) = distributed::not_joined(&listing) {
        return Err(error);
    }
    if let Some(found) = consolidated(&listing)
        .or_else(|| variant(folder, &listing))
        .or_else(|| counted(&listing))
    {
        return found;
    }
    Err(nothing(folder, &listing)?)
}

/// Whether a folder on the disk has weights of a standard name.
pub(super) fn has_weights(folder: &Path) -> bool {
    let mut paths = STANDARD_NAMES.iter().map(|name| folder.join(name));
    paths.any(|path| path.is_file())
}

/// Meta's form: one file, or one for each process that the model was split over.
fn consolidated(listing: &Listing) -> Option<Result<Weights>> {
    let files: Vec<&str> = listing.files(|name| {
        let number = name.strip_prefix("consolidated.")?.strip_suffix(".pth")?;
        number
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then_some(())
    });
    match files.as_slice() {
        [] => None,
        [only] => Some(Ok(Weights {
            files: Files::One((*only).to_owned()),
            note: Some(format!("the folder's checkpoint is `{only}`")),
        })),
        files => Some(Err(Error::unsupported(format!(
            "the folder holds a model that was split over {} processes ({}), each with a part of \
             every tensor, which are not joined; convert it with the model's own tool, or open one \
             of the files",
            files.len(),
            listed(files)
        )))),
    }
}

/// The one variant that is there: `model.fp16.safetensors` is the variant `fp16` of the model.
fn variant(folder: &dyn Folder, listing: &Listing) -> Option<Result<Weights>> {
    let kinds = STANDARD_NAMES
        .iter()
        .filter_map(|name| name.rsplit_once('.'));
    let mut files = kinds.filter(|(_, extension)| *extension != "json");
    let variants = files.find_map(|(stem, extension)| {
        let variants = listing.variants(stem, extension);
        (!variants.is_empty()).then_some(variants)
    })?;
    Some(match variants.as_slice() {
        [(variant, file)] => index_or_name(folder, file).map(|name| Weights {
            files: Files::One(name),
            note: Some(format!(
                "the folder has the variant `{variant}` alone, whose file is `{file}`"
            )),
        }),
        variants => {
            let files: Vec<&str> = variants.iter().map(|(_, file)| *file).collect();
            Err(not_a_checkpoint::folder_of(
                "a folder with several variants of one model",
                &format!("open one of {}", listed(&files)),
            ))
        }
    })
}

/// The files whose names count them: `model-00001-of-00002.safetensors`.
fn counted(listing: &Listing) -> Option<Result<Weights>> {
    let sets = listing.counted();
    let complete: Vec<_> = sets.iter().filter(|set| set.missing().is_empty()).collect();
    match (complete.as_slice(), sets.as_slice()) {
        (_, []) => None,
        ([set, ..], _) if complete.iter().all(|other| other.stem == set.stem) => {
            let names = set.files.values().map(|name| (*name).to_owned());
            Some(Ok(Weights {
                files: Files::Shards(names.collect()),
                note: Some(format!(
                    "the shards have no index; all {} that their names count are read",
                    set.count
                )),
            }))
        }
        ([], [set]) => Some(Err(Error::new(ErrorKind::MissingShards {
            count: set.count,
            shards: set.missing(),
        }))),
        _ => None,
    }
}

/// The error of a folder without weights, with the files and folders that may be meant.
///
/// # Errors
/// When a folder cannot be looked into.
fn nothing(folder: &dyn Folder, listing: &Listing) -> Result<Error> {
    if listing.has("saved_model.pb") {
        return Ok(not_a_checkpoint::folder_of(
            "a folder with a TensorFlow SavedModel",
            "load it with TensorFlow or Keras, and save its variables as a safetensors file",
        ));
    }
    let files = listing.files(|name| is_meant(name).then_some(()));
    if !files.is_empty() {
        return Ok(not_a_checkpoint::folder_of(
            "a folder without weights of a standard name",
            &format!("it holds {}; open the file itself", listed(&files)),
        ));
    }
    let mut folders = Vec::new();
    for name in listing.folders() {
        for file in STANDARD_NAMES {
            if folder.has_file(&format!("{name}/{file}"))? {
                folders.push(name);
                break;
            }
        }
    }
    if !folders.is_empty() {
        return Ok(not_a_checkpoint::folder_of(
            "a folder without weights of a standard name",
            &format!(
                "weights are in its folders {}; open one of them",
                listed(&folders)
            ),
        ));
    }
    Ok(not_a_checkpoint::folder())
}

/// Whether a file has the name of a checkpoint.
fn is_meant(name: &str) -> bool {
    const EXTENSIONS: &[&str] = &[
        "bin",
        "ckpt",
        "h5",
        "gguf",
        "msgpack",
        "onnx",
        "pdparams",
        "pickle",
        "pkl",
        "pt",
        "pt2",
        "pth",
        "safetensors",
    ];
    let extension = Path::new(name).extension().and_then(|text| text.to_str());
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str()))
}

fn listed(names: &[&str]) -> String {
    names_in_words(names, SHOWN_NAMES)
}

/// The file to open for weights that were found in a folder: the index beside it, if the file is
/// one of the shards that it names, or if that cannot be told; else the file.
pub fn index_or_file(weights: PathBuf) -> PathBuf {
    let parent = weights.parent().unwrap_or(Path::new(""));
    let Some(name) = weights.file_name().and_then(|name| name.to_str()) else {
        return weights;
    };
    match index_or_name(&LocalFolder::new(parent, true), name) {
        Ok(found) if found != name => weights.with_file_name(found),
        _ => weights,
    }
}

/// [`index_or_file`], by the names in a folder.
///
/// # Errors
/// When the folder cannot be looked into.
fn index_or_name(folder: &dyn Folder, weights: &str) -> Result<String> {
    let Some(index) = index_of(folder, weights)? else {
        return Ok(weights.to_owned());
    };
    let is_shard = shard_names(folder, &index, &Limits::default())
        .map_or(true, |shards| shards.iter().any(|shard| shard == weights));
    Ok(if is_shard { index } else { weights.to_owned() })
}

/// The index of such a file, if it is there, in any of its spellings.
///
/// # Errors
/// When the folder cannot be looked into.
fn index_of(folder: &dyn Folder, weights: &str) -> Result<Option<String>> {
    let mut names = match WeightsName::parse(weights) {
        Some(name) if *name.part() == WeightsPart::Index => return Ok(None),
        Some(name) => name.index().spellings(),
        None => Vec::new(),
    };
    names.push(format!("{weights}.index.json"));
    for name in names {
        if folder.has_file(&name)? {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Says that there is an index of the same weights beside a file of one piece. One of them may be of
/// an earlier save.
///
/// # Errors
/// When the folder cannot be looked into.
fn passed_over(folder: &dyn Folder, weights: &str) -> Result<Option<String>> {
    let index = index_of(folder, weights)?;
    Ok(index.map(|index| {
        format!(
            "the folder has the shards of `{index}` as well, which are not read: `{weights}` comes \
             first"
        )
    }))
}

/// The files that the index of a sharded checkpoint names, each once. Whether they are there is not
/// looked at.
///
/// # Errors
/// When the index cannot be read or is none, names more files than
/// [`Limits::max_shards`](crate::Limits::max_shards), or one that is outside its folder.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let index = folder.path().join("model.safetensors.index.json");
/// let weights = r#"{"a": "1.safetensors", "b": "2.safetensors", "c": "1.safetensors"}"#;
/// std::fs::write(&index, format!(r#"{{"metadata": {{}}, "weight_map": {weights}}}"#))?;
/// let shards = nnx_checkpoint::shards_of(&index)?;
/// assert_eq!(shards, ["1.safetensors", "2.safetensors"].map(|name| folder.path().join(name)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn shards_of(index: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
    let path = index.as_ref();
    let folder = path.parent().unwrap_or(Path::new(""));
    let read = || -> Result<Vec<PathBuf>> {
        let source = Source::open(path)?;
        let index = index::parse(&source.into(), &Limits::default())?;
        let shards = shards::by_shard(&index.weights, &Limits::default())?;
        Ok(shards.keys().map(|shard| folder.join(shard)).collect())
    };
    read().map_err(|error| error.in_path(path))
}

/// The names of the files that an index in a folder names.
///
/// # Errors
/// As for [`shards_of`].
fn shard_names(folder: &dyn Folder, index: &str, limits: &Limits) -> Result<Vec<String>> {
    let index = index::parse(&folder.open(index)?, limits)?;
    let shards = shards::by_shard(&index.weights, limits)?;
    Ok(shards.keys().map(|&shard| shard.to_owned()).collect())
}
