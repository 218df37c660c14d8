//! Universal checkpoints of DeepSpeed: a folder for each parameter, as `ds_to_universal` writes them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::files::{self, RankFiles};
use super::paths::PathPart;
use super::state::{State, joined_flat};
use super::torch_file::{TorchFile, shape};
use super::zero::tag;
use crate::error::{DistributedFault, Error, Result, names_in_words, shown};
use crate::open::{OpenOptions, OpenedTorch};
use crate::tensor::TensorChunk;
use crate::{CheckpointPart, Format, Tensor};

/// The file that names the folder.
pub(crate) const LATEST_UNIVERSAL: &str = "latest_universal";
/// The folder of the parameters.
const PARAMETERS: &str = "zero";
/// Names that a note shows.
const SHOWN: usize = 4;
/// The file with the value of a parameter.
const VALUE: &str = "fp32.pt";

/// Opens a universal checkpoint: the float32 parameters, or with that part the moments of the
/// optimizer.
///
/// # Errors
/// When the folder that is named is not there, or a file in it is not what is expected.
pub(super) fn open(folder: &Path, options: &OpenOptions) -> Result<OpenedTorch> {
    let root = find(folder)?;
    let files = RankFiles::new(&root);
    let shapes = flat_shapes(&root, &files, options)?;
    let parameters = root.join(PARAMETERS);
    let (_, names) = files::names(&parameters)?;
    // The part is chosen by the names of the files.
    let mut state = State::default();
    let folders: HashSet<&str> = names.iter().map(String::as_str).collect();
    let lost = shapes.keys().map(String::as_str);
    let lost: Vec<&str> = lost.filter(|name| !folders.contains(name)).collect();
    if !lost.is_empty() {
        state.notes.push(format!(
            "the model states have the shapes of {}, of which there are no folders: a name for the \
             values of another parameter, or a folder that was not copied",
            names_in_words(&lost, SHOWN)
        ));
    }
    for name in &names {
        let parameter = parameters.join(name);
        let (present, _) = files::names(&parameter)?;
        if !present.iter().any(|file| file == VALUE) {
            return Err(missing(&format!(
                "the folder of the parameter `{}` has no `{VALUE}`",
                shown(name)
            ))
            .in_path(&parameter));
        }
        for file in &present {
            let Some(kind) = file.strip_suffix(".pt") else {
                continue;
            };
            let (full, path) = match (kind, options.part) {
                ("fp32", CheckpointPart::All | CheckpointPart::Model) => {
                    (name.clone(), PathPart::top(name))
                }
                ("fp32", CheckpointPart::Optimizer)
                | (_, CheckpointPart::All | CheckpointPart::Model) => {
                    continue;
                }
                (kind, CheckpointPart::Optimizer) => {
                    let full = format!("{name}.{kind}");
                    let keys = [name.as_str(), kind].map(|key| PathPart::Key(key.to_owned()));
                    (full, keys.to_vec())
                }
            };
            let opened = TorchFile::open(&files, &parameter.join(file), options)?;
            // The number of a step is no moment of each element.
            let stated = shapes.get(name).filter(|_| kind != "step");
            let tensor = tensor(&opened, stated);
            match tensor.map_err(|error| error.in_tensor(&full).in_path(&opened.path))? {
                Some(tensor) => state.tensor(&full, path, &tensor)?,
                None => {
                    let value = opened.value(opened.graph().root());
                    state.value(&full, path, &value)?;
                }
            }
            state.name_globals(&format!("{name}/{file}"), opened.globals);
        }
    }
    state.notes.push(format!(
        "the universal checkpoint has a folder for each of {} parameters",
        names.len()
    ));
    state.finish(Format::DeepSpeedUniversal, options.nested)
}

/// The folder with the parameters.
fn find(folder: &Path) -> Result<PathBuf> {
    if folder.join(PARAMETERS).is_dir() {
        return Ok(folder.to_path_buf());
    }
    let latest = folder.join(LATEST_UNIVERSAL);
    let name = tag(&latest)?;
    let root = folder.join(&name);
    if root.join(PARAMETERS).is_dir() {
        return Ok(root);
    }
    Err(Error::distributed(
        DistributedFault::MissingFolder,
        format!(
            "the file `{LATEST_UNIVERSAL}` names the folder `{}`, in which there is no folder \
             `{PARAMETERS}`",
            shown(&name)
        ),
    )
    .in_path(&latest))
}

/// Whether a folder of those names is one of parameters.
pub(crate) fn is_universal(files: &[String], folders: &[String]) -> bool {
    let has_states = files.iter().any(|name| name.ends_with("_model_states.pt"));
    files.iter().any(|name| name == LATEST_UNIVERSAL)
        || has_states && folders.iter().any(|name| name == PARAMETERS)
}

/// The tensor of a file: alone, or with what is known of it. Stage 3 leaves it flat, and the model
/// states have its shape.
///
/// # Errors
/// When a flat tensor has other elements than the shape.
fn tensor(file: &TorchFile, stated: Option<&Vec<usize>>) -> Result<Option<Tensor>> {
    let root = file.graph().root();
    let node = file.get("param").unwrap_or(root);
    let Some(tensor) = file.tensor(node)? else {
        return Ok(None);
    };
    let is_flat = tensor.shape().len() == 1 && node == root;
    let Some(shape) = stated.filter(|shape| is_flat && tensor.shape() != shape.as_slice()) else {
        return Ok(Some(tensor));
    };
    let (expected, found) = (element_count(shape), tensor.elements());
    if expected != Some(found) {
        return Err(Error::distributed(
            DistributedFault::SizeMismatch,
            format!(
                "the model states have the shape {shape:?} for the parameter, whose file holds {found} \
                 elements"
            ),
        ));
    }
    let chunk = TensorChunk {
        offsets: vec![0],
        tensor: tensor.clone(),
    };
    joined_flat(tensor.dtype(), shape, vec![chunk]).map(Some)
}

/// The elements of a tensor of that shape.
fn element_count(shape: &[usize]) -> Option<usize> {
    shape.iter().copied().try_fold(1, usize::checked_mul)
}

#[cold]
fn missing(what: &str) -> Error {
    Error::distributed(
        DistributedFault::MissingFile,
        format!("{what}; copy the whole checkpoint"),
    )
}

/// The shapes that the model states have for the parameters.
fn flat_shapes(
    root: &Path,
    files: &RankFiles,
    options: &OpenOptions,
) -> Result<IndexMap<String, Vec<usize>>> {
    let (names, _) = files::names(root)?;
    let first = names.iter().find(|name| name.ends_with("_model_states.pt"));
    let mut shapes = IndexMap::new();
    let Some(name) = first else {
        return Ok(shapes);
    };
    let file = TorchFile::open(files, &root.join(name), options)?;
    let graph = file.graph();
    let groups = file.get("param_shapes");
    let groups = groups.map(|groups| graph.sequence(groups).map_or(vec![groups], <[_]>::to_vec));
    for group in groups.unwrap_or_default() {
        for (name, node) in file.pairs(group)? {
            let sizes = shape(graph, node).unwrap_or_default().into_iter();
            let sizes = sizes.map(|size| usize::try_from(size).ok());
            if let Some(sizes) = sizes.collect::<Option<Vec<usize>>>()
                && element_count(&sizes).is_some()
            {
                shapes.insert(name, sizes);
            }
        }
    }
    Ok(shapes)
}
