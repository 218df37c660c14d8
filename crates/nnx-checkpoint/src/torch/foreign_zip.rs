//! Zip archives that are no checkpoint, by their contents.

use crate::error::{Error, ErrorKind, shown};
use crate::zip::ZipArchive;

/// The folder that macOS adds to its archives.
pub(super) const MACOS: &str = "__MACOSX";

/// Whether `torch.package` wrote the archive.
pub(crate) fn is_package(archive: &ZipArchive) -> bool {
    has(archive, |name| name.ends_with("/.data/extern_modules"))
}

/// Whether `torch.export` or AOTInductor wrote the archive: the newer form says so in an entry, and
/// the older one, until PyTorch 2.7, has the program as JSON at its top.
fn is_exported(archive: &ZipArchive) -> bool {
    archive.entries().iter().any(|entry| {
        let name = entry.name();
        let is_mark = name.ends_with("/archive_format") && entry.size() == 3;
        name == "serialized_exported_program.json"
            || is_mark && archive.data(entry).is_ok_and(|text| &*text == b"pt2")
    })
}

/// The error of an archive that has no `data.pkl` where PyTorch puts it.
pub(super) fn error(archive: &ZipArchive) -> Error {
    let (what, hint) = if is_package(archive) {
        (
            "a torch.package",
            "it is a program that must run to give its model; load it in Python and save the \
             state dict",
        )
    } else if is_exported(archive) {
        (
            "a program of torch.export (.pt2)",
            "load it with `torch.export.load`, and save its `state_dict` as a safetensors file",
        )
    } else if has(archive, |name| name.ends_with(".npy")) {
        (
            "a NumPy archive (.npz)",
            "load it with `numpy.load`, and save its arrays as a safetensors file",
        )
    } else if has(archive, |name| name == "model.weights.h5") {
        (
            "a Keras model",
            "export its weights from Keras as a safetensors file",
        )
    } else if has(archive, |name| name == "data.pkl") {
        return Error::malformed(
            "the archive has its `data.pkl` in no folder, where PyTorch does not look for it",
        );
    } else if let Some(entry) = archive.entries().iter().find(|entry| {
        let name = entry.name();
        name.ends_with("/data.pkl") || name.to_ascii_lowercase().ends_with("data.pkl")
    }) {
        return Error::malformed(format!(
            "the archive has no `data.pkl` in a folder at its top, only `{}`, which PyTorch does \
             not write",
            shown(entry.name())
        ));
    } else {
        (
            "a zip archive without a `data.pkl`",
            "`torch.save` did not write it; unpack it and look for a checkpoint inside",
        )
    };
    Error::new(ErrorKind::NotACheckpoint {
        what: what.to_owned(),
        hint: hint.to_owned(),
    })
}

fn has(archive: &ZipArchive, test: impl Fn(&str) -> bool) -> bool {
    archive.entries().iter().any(|entry| test(entry.name()))
}
