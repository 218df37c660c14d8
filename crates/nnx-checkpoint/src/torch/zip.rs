//! Reading the zip container (PyTorch 1.6 and later).

use std::collections::HashMap;

use bytes::Bytes;

use super::foreign_zip::{self, is_package};
use super::legacy::load_from_bytes;
use super::load_context::LoadContext;
use super::object::TorchObject;
use super::pickle_location::PickleLocation;
use super::storage_table::{EntryBytes, StorageTable};
use super::{rebuild, torchscript};
use crate::error::{Error, Result, shown, shown_bytes};
use crate::pickle::Graph;
use crate::source::ByteRange;
use crate::zip::ZipArchive;
use crate::{Format, Limits};

/// The newest container version that PyTorch's reader takes.
const MAX_VERSION: u32 = 10;

/// Reads a zip container, or a TorchScript archive, which has the same storages and pickle; the
/// storages' bytes are not read.
pub(super) fn read(bytes: &ByteRange, context: &mut LoadContext) -> Result<TorchObject> {
    read_archive(ZipArchive::parse(bytes, &context.limits)?, context)
}

/// Reads a zip container that is an item of a larger file and must fill the bytes.
pub(super) fn read_item(bytes: &ByteRange, context: &mut LoadContext) -> Result<TorchObject> {
    read_archive(ZipArchive::parse_item(bytes, &context.limits)?, context)
}

fn read_archive(archive: ZipArchive, context: &mut LoadContext) -> Result<TorchObject> {
    let root = root_folder(&archive, context)?;
    check_version(&archive, &root, &context.limits)?;
    let big_endian = match record(&archive, &format!("{root}/byteorder"), &context.limits)? {
        None => false,
        Some(order) => match &*order {
            b"little" => false,
            b"big" => true,
            other => {
                return Err(Error::malformed(format!(
                    "the byte order must be `little` or `big`, got `{}`",
                    shown_bytes(other)
                ))
                .in_entry(&format!("{root}/byteorder")));
            }
        },
    };

    let name = format!("{root}/data.pkl");
    let program = record(&archive, &name, &context.limits)?
        .ok_or_else(|| Error::malformed("the archive has no such entry").in_entry(&name))?;
    let constants = record(&archive, &format!("{root}/constants.pkl"), &context.limits)?;
    if constants.is_some() {
        context.format = Format::TorchScript;
    }
    let mut graph = context.entry(&program, &name)?;
    if let Some(constants) = constants {
        torchscript::add_constants(&mut graph, &constants, &root, context)?;
    }

    let location = PickleLocation::new(Some(&name), 0);
    let nested = load_from_bytes::resolve(&mut graph, Some(&name), context)?;
    let mut storages = storages(&graph, &location, &archive, &root, &nested)?;
    storages.set_archive(archive);
    if big_endian {
        storages.set_big_endian(rebuild::untyped_uses(&graph));
    }
    Ok(TorchObject::new(graph, storages, location))
}

/// The storages that the graph refers to, each a record of the archive.
fn storages(
    graph: &Graph,
    location: &PickleLocation,
    archive: &ZipArchive,
    root: &str,
    nested: &HashMap<String, ByteRange>,
) -> Result<StorageTable> {
    // One text for all names.
    let mut name = String::new();
    // `torch.save` writes the records in the order in which the pickle refers to them.
    let mut next: usize = 0;
    StorageTable::collect(graph, location, |id| {
        if let Some(bytes) = nested.get(id.key) {
            return Ok(EntryBytes::Range(bytes.clone()));
        }
        name.clear();
        name.push_str(root);
        let key = match id.key.strip_prefix(torchscript::CONSTANTS) {
            Some(key) => {
                name.push_str("/constants/");
                key
            }
            None => {
                name.push_str("/data/");
                id.key
            }
        };
        name.push_str(key);
        let entries = archive.entries();
        let is_next = entries.get(next).is_some_and(|entry| entry.name() == name);
        let position = if is_next {
            Some(next)
        } else {
            archive.position(&name)
        };
        let found = position.and_then(|position| Some((position, entries.get(position)?)));
        let (position, entry) = found.ok_or_else(|| {
            Error::malformed(format!(
                "the archive has no record of storage `{}`",
                shown(id.key)
            ))
            .in_entry(&name)
        })?;
        if entry.size() != id.byte_len as u64 {
            return Err(Error::malformed(format!(
                "storage `{}` takes {} bytes by its persistent id, the record holds {}",
                shown(id.key),
                id.byte_len,
                entry.size()
            ))
            .in_entry(&name));
        }
        next = position.saturating_add(1);
        Ok(EntryBytes::Record(position))
    })
}

/// The folder that holds every record: the one with `data.pkl` in it. PyTorch takes the folder of
/// the first entry, which is the same one unless somebody packed the archive anew.
fn root_folder(archive: &ZipArchive, context: &mut LoadContext) -> Result<String> {
    let first = archive
        .entries()
        .first()
        .ok_or_else(|| Error::malformed("the archive has no entry"))?;
    let mut roots = archive.entries().iter().filter_map(|entry| {
        entry
            .name()
            .strip_suffix("/data.pkl")
            .filter(|root| !root.contains('/') && *root != foreign_zip::MACOS)
    });
    let root = roots.next().ok_or_else(|| foreign_zip::error(archive))?;
    if let Some(other) = roots.next() {
        return Err(Error::malformed(format!(
            "two folders hold a `data.pkl`, `{}` and `{}`; which one counts is a matter of the \
             reader",
            shown(root),
            shown(other)
        )));
    }
    if is_package(archive) {
        return Err(foreign_zip::error(archive));
    }
    if first.name().split_once('/').map(|(folder, _)| folder) != Some(root) {
        context.notes.push(format!(
            "the archive's first entry is `{}`, from which PyTorch would take another root folder \
             than `{}`",
            shown(first.name()),
            shown(root)
        ));
    }
    Ok(root.to_owned())
}

/// Checks the container version, which PyTorch requires.
fn check_version(archive: &ZipArchive, root: &str, limits: &Limits) -> Result<()> {
    // TorchScript archives and very old files keep it under the second name.
    for name in [format!("{root}/version"), format!("{root}/.data/version")] {
        let Some(text) = record(archive, &name, limits)? else {
            continue;
        };
        let version = std::str::from_utf8(&text)
            .ok()
            .and_then(|text| text.trim().parse().ok());
        return match version {
            Some(1..=MAX_VERSION) => Ok(()),
            Some(version) => Err(Error::unsupported(format!(
                "container version {version}; versions 1 to {MAX_VERSION} are read"
            ))
            .in_entry(&name)),
            None => Err(Error::malformed(format!(
                "the container version must be a number, got `{}`",
                shown_bytes(&text)
            ))
            .in_entry(&name)),
        };
    }
    Err(Error::unsupported(
        "a zip archive without the entry `version`: `torch.save` did not write it",
    )
    .in_entry(&format!("{root}/version")))
}

/// The bytes of a record that is no storage, if there is one of that name. None takes more than a
/// pickle may, which is checked before it is inflated.
fn record(archive: &ZipArchive, name: &str, limits: &Limits) -> Result<Option<Bytes>> {
    let Some(entry) = archive.entry(name) else {
        return Ok(None);
    };
    let (limit, size) = (limits.max_pickle_bytes, entry.size());
    if size > limit {
        return Err(Error::limit("max_pickle_bytes", limit, size).in_entry(name));
    }
    archive.data(entry).map(Some)
}
