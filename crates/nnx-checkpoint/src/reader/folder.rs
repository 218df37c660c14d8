//! The search for the checkpoint in a folder.

mod distributed;
mod listing;

use std::path::{Path, PathBuf};

pub(super) use self::distributed::part as part_of_distributed;
use self::listing::Listing;
use super::{index, shards};
use crate::error::{Error, ErrorKind, Result, names_in_words};
use crate::open::not_a_checkpoint;
use crate::{Limits, Source, WeightsName, WeightsPart};

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
    /// What the user should know.
    pub(super) note: Option<String>,
}

/// Files that are one checkpoint.
#[derive(Debug)]
pub(super) enum Files {
    /// A file, or the index of several.
    One(PathBuf),
    /// Shards without an index, in their order.
    Shards(Vec<PathBuf>),
}

/// The weights in a folder: those of a standard name; else those of the one variant that is there,
/// all `n` of the files that are named `… of n`, or the one file of Meta's form.
///
/// # Errors
/// When there are no such files; the error says what the folder is, or which files are there.
pub(super) fn weights(folder: &Path) -> Result<Weights> {
    let mut paths = STANDARD_NAMES.iter().map(|name| folder.join(name));
    if let Some(path) = paths.find(|path| path.is_file()) {
        let path = index_or_file(path);
        let note = passed_over(&path);
        return Ok(Weights {
            files: Files::One(path),
            note,
        });
    }
    let listing = Listing::read(folder)?;
    if let Some(error) = distributed::folder(&listing) {
        return Err(error);
    }
    if let Some(found) = consolidated(folder, &listing)
        .or_else(|| variant(folder, &listing))
        .or_else(|| counted(folder, &listing))
    {
        return found;
    }
    Err(nothing(folder, &listing))
}

/// Meta's form: one file, or one for each process that the model was split over.
fn consolidated(folder: &Path, listing: &Listing) -> Option<Result<Weights>> {
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
            files: Files::One(folder.join(only)),
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
fn variant(folder: &Path, listing: &Listing) -> Option<Result<Weights>> {
    let kinds = STANDARD_NAMES
        .iter()
        .filter_map(|name| name.rsplit_once('.'));
    let mut files = kinds.filter(|(_, extension)| *extension != "json");
    let variants = files.find_map(|(stem, extension)| {
        let variants = listing.variants(stem, extension);
        (!variants.is_empty()).then_some(variants)
    })?;
    Some(match variants.as_slice() {
        [(variant, file)] => Ok(Weights {
            files: Files::One(index_or_file(folder.join(file))),
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
fn counted(folder: &Path, listing: &Listing) -> Option<Result<Weights>> {
    let sets = listing.counted();
    let complete: Vec<_> = sets.iter().filter(|set| set.missing().is_empty()).collect();
    match (complete.as_slice(), sets.as_slice()) {
        (_, []) => None,
        ([set, ..], _) if complete.iter().all(|other| other.stem == set.stem) => {
            let paths = set.files.values().map(|name| folder.join(name)).collect();
            Some(Ok(Weights {
                files: Files::Shards(paths),
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
fn nothing(folder: &Path, listing: &Listing) -> Error {
    if listing.has("saved_model.pb") {
        return not_a_checkpoint::folder_of(
            "a folder with a TensorFlow SavedModel",
            "load it with TensorFlow or Keras, and save its variables as a safetensors file",
        );
    }
    let files = listing.files(|name| is_meant(name).then_some(()));
    if !files.is_empty() {
        return not_a_checkpoint::folder_of(
            "a folder without weights of a standard name",
            &format!("it holds {}; open the file itself", listed(&files)),
        );
    }
    let has_weights = |name: &&str| {
        let mut paths = STANDARD_NAMES
            .iter()
            .map(|file| folder.join(name).join(file));
        paths.any(|path| path.is_file())
    };
    let folders: Vec<&str> = listing.folders().filter(has_weights).collect();
    if !folders.is_empty() {
        return not_a_checkpoint::folder_of(
            "a folder without weights of a standard name",
            &format!(
                "weights are in its folders {}; open one of them",
                listed(&folders)
            ),
        );
    }
    not_a_checkpoint::folder()
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

/// What to open for a file of weights that was found in a folder: the index beside it, if the file is
/// one of the shards that it names, or if that cannot be told; else the file.
pub fn index_or_file(weights: PathBuf) -> PathBuf {
    let Some(index) = index_of(&weights) else {
        return weights;
    };
    if shards_of(&index).map_or(true, |shards| shards.contains(&weights)) {
        index
    } else {
        weights
    }
}

/// The index of such a file, if it is there, in any of its spellings.
fn index_of(weights: &Path) -> Option<PathBuf> {
    let name = weights.file_name()?;
    let standard = name.to_str().and_then(WeightsName::parse);
    let mut names = match standard {
        Some(name) if *name.part() == WeightsPart::Index => return None,
        Some(name) => name.index().spellings(),
        None => Vec::new(),
    };
    names.push(format!("{}.index.json", name.to_string_lossy()));
    let mut paths = names.into_iter().map(|name| weights.with_file_name(name));
    paths.find(|path| path.is_file())
}

/// Says that there is an index of the same weights beside a file of one piece. One of them may be of
/// an earlier save.
fn passed_over(weights: &Path) -> Option<String> {
    let index = index_of(weights)?;
    let name = |path: &Path| path.file_name().unwrap_or_default().display().to_string();
    Some(format!(
        "the folder has the shards of `{}` as well, which are not read: `{}` comes first",
        name(&index),
        name(weights)
    ))
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
    let limits = Limits::default();
    let read = || -> Result<Vec<PathBuf>> {
        let source = Source::open(path)?;
        let index = index::parse(&source.into(), &limits)?;
        let shards = shards::by_shard(&index.weights, &limits)?;
        let paths = shards.keys();
        paths
            .map(|shard| index::shard_path(folder, shard))
            .collect()
    };
    read().map_err(|error| error.in_path(path))
}
