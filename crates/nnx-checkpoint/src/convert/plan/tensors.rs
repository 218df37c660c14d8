//! Safetensors files.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::shards;
use super::{Container, Expected, FilePlan, Piece, Plan, say_format};
use crate::Tensor;
use crate::convert::options::{ConvertOptions, SharedTensors};
use crate::convert::selection::{SelectedTensor, Transform, is_loose};
use crate::convert::target::{Target, TargetFile};
use crate::error::Result;
use crate::reader::is_alias;
use crate::safetensors::lay_out;
use crate::shards::{Sized, split};

/// Plans the files for these tensors.
///
/// # Errors
/// When the format cannot hold one, or two have one name.
pub(in crate::convert) fn plan(
    mut items: Vec<SelectedTensor>,
    mut metadata: IndexMap<String, String>,
    target: &Target<'_>,
    options: &ConvertOptions,
    transform: &mut Transform<'_>,
) -> Result<Plan> {
    let mut notes = Vec::new();
    if options.tied == SharedTensors::Aliased {
        alias(&mut items, &mut metadata, &mut notes);
    }
    for item in &mut items {
        item.tensor = transform
            .apply(&item.tensor, false)
            .map_err(|error| error.in_tensor(&item.name))?;
    }
    let sizes = items.iter().map(|item| Sized {
        bytes: item.tensor.byte_len() as u64,
        storage: item.tensor.storage().identity(),
    });
    let groups = split(sizes, options.max_shard_size);
    let names = shards::names(target, groups.len());
    let mut files = Vec::new();
    for (group, name) in groups.iter().zip(&names) {
        let items: Vec<&SelectedTensor> = group.iter().filter_map(|&at| items.get(at)).collect();
        files.push(file(&items, &metadata, options, target.file(name))?);
    }
    let held = groups.iter().map(|group| {
        let items = group.iter().filter_map(|&at| items.get(at));
        items.map(|item| item.name.as_str()).collect()
    });
    let index = shards::index(target, &names, &files, held, &metadata)?;
    Ok(Plan {
        files,
        index,
        cast: transform.cast,
        dropped: Vec::new(),
        dropped_metadata: Vec::new(),
        notes,
    })
}

fn file(
    items: &[&SelectedTensor],
    metadata: &IndexMap<String, String>,
    options: &ConvertOptions,
    target: TargetFile,
) -> Result<FilePlan> {
    let tensors: Vec<(&str, &Tensor)> = items
        .iter()
        .map(|item| (item.name.as_str(), &item.tensor))
        .collect();
    let metadata = (!metadata.is_empty()).then_some(metadata);
    let layout = lay_out(&tensors, metadata, &options.limits)?;
    let mut pieces = Vec::new();
    let mut expected = Vec::new();
    for index in layout.order {
        let Some(&(name, tensor)) = tensors.get(index) else {
            continue;
        };
        expected.push(Expected {
            name: name.to_owned(),
            dtype: tensor.dtype(),
            shape: tensor.shape().to_vec(),
        });
        pieces.push(Piece {
            label: name.to_owned(),
            storage: tensor
                .row_major(&options.limits)
                .map_err(|error| error.in_tensor(name))?,
        });
    }
    Ok(FilePlan {
        target,
        container: Container::SafeTensors {
            header: layout.header,
        },
        pieces,
        expected,
    })
}

/// Leaves the names out under which a tensor is written already, and notes each of them in the
/// metadata with the name that was kept: the first one in the alphabet.
fn alias(
    items: &mut Vec<SelectedTensor>,
    metadata: &mut IndexMap<String, String>,
    notes: &mut Vec<String>,
) {
    let mut kept: HashMap<(usize, crate::Dtype, Vec<usize>), String> = HashMap::new();
    let key = |tensor: &Tensor| {
        (
            tensor.storage().identity(),
            tensor.dtype(),
            tensor.shape().to_vec(),
        )
    };
    let is_whole = |tensor: &Tensor| tensor.byte_len() > 0 && !is_loose(tensor);
    for item in items.iter().filter(|item| is_whole(&item.tensor)) {
        let name = kept
            .entry(key(&item.tensor))
            .or_insert_with(|| item.name.clone());
        if item.name < *name {
            name.clone_from(&item.name);
        }
    }
    items.retain(|item| {
        let Some(name) = kept.get(&key(&item.tensor)) else {
            return true;
        };
        // A text that is there already is not replaced; the name stays a tensor then.
        let stays = !is_whole(&item.tensor)
            || *name == item.name
            || !is_alias(&item.name, name)
            || metadata.contains_key(&item.name);
        if stays {
            if is_whole(&item.tensor) && *name != item.name && !is_alias(&item.name, name) {
                notes.push(format!(
                    "`{}` is the same as `{name}` and written with its bytes: names without a dot \
                     are no aliases",
                    item.name
                ));
            }
            return true;
        }
        notes.push(format!("`{}` is an alias of `{name}`", item.name));
        metadata.insert(item.name.clone(), name.clone());
        say_format(metadata);
        false
    });
}
