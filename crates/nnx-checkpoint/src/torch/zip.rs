//! Reading the zip container (PyTorch 1.6 and later).

use bytes::Bytes;

use super::object::TorchObject;
use super::slot::{SlotSource, Slots};
use crate::error::{Error, Result};
use crate::zip::ZipArchive;
use crate::{Limits, pickle};

/// The newest container version that PyTorch's reader takes.
const MAX_VERSION: u32 = 10;

/// Reads a zip container; the storages' bytes are not touched.
pub(super) fn read(bytes: &Bytes, limits: &Limits) -> Result<TorchObject> {
    let archive = ZipArchive::parse(bytes, limits)?;
    let root = root_folder(&archive)?;
    check_version(&archive, &root)?;
    let swap = match record(&archive, &format!("{root}/byteorder"))? {
        None => false,
        Some(order) => match &*order {
            b"little" => false,
            b"big" => true,
            other => {
                return Err(Error::malformed(format!(
                    "the byte order must be `little` or `big`, got `{}`",
                    other.escape_ascii()
                ))
                .in_entry(&format!("{root}/byteorder")));
            }
        },
    };

    let name = format!("{root}/data.pkl");
    let program = record(&archive, &name)?.ok_or_else(|| {
        let script = archive.entry(&format!("{root}/constants.pkl")).is_some();
        Error::unsupported(if script {
            "a TorchScript archive is not read"
        } else {
            "a zip archive without the entry `data.pkl`: `torch.save` did not write it"
        })
        .in_entry(&name)
    })?;
    let (graph, _) = pickle::read(&program, limits).map_err(|error| error.in_entry(&name))?;

    let slots = Slots::collect(&graph, |id| {
        let name = format!("{root}/data/{}", id.key);
        let entry = archive.entry(&name).ok_or_else(|| {
            Error::malformed(format!("the archive has no record of storage `{}`", id.key))
                .in_entry(&name)
        })?;
        if entry.size() != id.byte_len as u64 {
            return Err(Error::malformed(format!(
                "storage `{}` takes {} bytes by its persistent id, the record holds {}",
                id.key,
                id.byte_len,
                entry.size()
            ))
            .in_entry(&name));
        }
        Ok(SlotSource::Record(name))
    })?;
    Ok(TorchObject::read(graph, slots, Some(archive), swap))
}

/// The folder that holds every record; PyTorch takes it from the first entry.
fn root_folder(archive: &ZipArchive) -> Result<String> {
    let first = archive
        .entries()
        .first()
        .ok_or_else(|| Error::malformed("the archive has no entry"))?
        .name();
    let (root, _) = first.split_once('/').ok_or_else(|| {
        Error::unsupported(
            "the archive's first entry lies in no folder: `torch.save` did not write it",
        )
        .in_entry(first)
    })?;
    Ok(root.to_owned())
}

/// Checks the container version, which PyTorch requires.
fn check_version(archive: &ZipArchive, root: &str) -> Result<()> {
    // TorchScript archives and very old files keep it under the second name.
    for name in [format!("{root}/version"), format!("{root}/.data/version")] {
        let Some(text) = record(archive, &name)? else {
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
                text.escape_ascii()
            ))
            .in_entry(&name)),
        };
    }
    Err(Error::unsupported(
        "a zip archive without the entry `version`: `torch.save` did not write it",
    )
    .in_entry(&format!("{root}/version")))
}

/// The bytes of a record, if there is one of that name.
fn record(archive: &ZipArchive, name: &str) -> Result<Option<Bytes>> {
    archive
        .entry(name)
        .map(|entry| archive.data(entry))
        .transpose()
}
