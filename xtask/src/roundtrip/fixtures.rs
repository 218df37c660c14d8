//! The checkpoints of built-in nets that the real library wrote.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nnx_params::{Nets, Value, python_text};

use super::compare::Form;
use super::facts::{Facts, Input};
use super::json;
use crate::Result;

/// The releases whose files are kept, newest first.
const RELEASES: [&str; 2] = ["0.4.1", "0.2.3"];

/// One checkpoint in all its forms.
#[derive(Debug)]
pub(super) struct Fixture {
    pub(super) expected: Facts,
    /// The batch for the forward pass: the side-car's, which has an expected output, or any.
    pub(super) input: Input,
    pub(super) files: Vec<File>,
}

/// A file of a fixture.
#[derive(Debug)]
pub(super) struct File {
    /// As in `cross_read.json`: `nnx-0.4.1/ff_relu.pt`.
    pub(super) name: String,
    pub(super) path: PathBuf,
}

impl File {
    pub(super) fn form(&self) -> Form {
        form(&self.path)
    }
}

/// The form of a file with the suffix that NNx gives it.
pub(super) fn form(path: &Path) -> Form {
    match path.extension() {
        Some(extension) if extension == "safetensors" => Form::SafeTensors,
        _ => Form::Pickle,
    }
}

/// Every fixture of a built-in network, by release and name.
///
/// # Errors
/// When a side-car cannot be read, or there are no fixtures.
pub(super) fn built_in(fixtures: &Path) -> Result<Vec<Fixture>> {
    let mut found = Vec::new();
    for release in RELEASES {
        for (name, files) in files_of(fixtures, release)? {
            let path = sidecar(fixtures, release, &name)?;
            let read = || read_fixture(&path, files);
            if let Some(fixture) = read().map_err(|error| format!("{}: {error}", path.display()))? {
                found.push(fixture);
            }
        }
    }
    if found.is_empty() {
        Err(format!("no fixture of a built-in network in {}", fixtures.display()).into())
    } else {
        Ok(found)
    }
}

/// The result of the release `reader` for every checkpoint fixture: the class or the exception.
///
/// # Errors
/// When the file is missing or has another form.
pub(super) fn cross_read(fixtures: &Path, reader: &str) -> Result<BTreeMap<String, String>> {
    let path = fixtures.join(format!("nnx-{reader}/cross_read.json"));
    let text =
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let whole = python_text::json_loads(&text)?;
    let Value::Map(results) = json::field(&whole, "results")? else {
        return Err(format!("{}: `results` is no object", path.display()).into());
    };
    let outcome = |(name, value): (&str, &Value)| match value {
        Value::Str(outcome) => Ok((name.to_owned(), outcome.clone())),
        _ => Err(format!("{}: `{name}` is no string", path.display()).into()),
    };
    results.iter().map(outcome).collect()
}

fn read_fixture(sidecar: &Path, files: Vec<File>) -> Result<Option<Fixture>> {
    let value = python_text::json_loads(&std::fs::read_to_string(sidecar)?)?;
    let model_params = json::optional(&value, "model_params_state");
    let net = model_params.and_then(|state| json::optional(state, "net"));
    let Some(Value::Str(net)) = net else {
        return Ok(None);
    };
    let net: Nets = net.parse()?;
    let input = match json::optional(&value, "forward") {
        Some(forward) => Input::from_forward(forward)?,
        None if net != Nets::FeedFwd => {
            return Err(format!("a fixture of `{net}` needs an input").into());
        }
        None => Input::plain(json::size(
            json::field(&value, "net_params_state")?,
            "input_dim",
        )?),
    };
    Ok(Some(Fixture {
        expected: Facts::from_sidecar(&value)?,
        input,
        files,
    }))
}

/// The checkpoint files of a release, by the name before the first dot.
fn files_of(fixtures: &Path, release: &str) -> Result<BTreeMap<String, Vec<File>>> {
    let folder = fixtures.join(format!("nnx-{release}/checkpoints"));
    let mut files: BTreeMap<String, Vec<File>> = BTreeMap::new();
    let entries =
        std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let full = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let (stem, suffix) = full.split_once('.').unwrap_or((&full, ""));
        if !suffix.ends_with("json") {
            files.entry(stem.into()).or_default().push(File {
                name: format!("nnx-{release}/{full}"),
                path,
            });
        }
    }
    for files in files.values_mut() {
        files.sort_by(|a, b| a.name.cmp(&b.name));
    }
    Ok(files)
}

/// The side-car of a fixture. One file of 0.2.3 has none; its script gave it the content of the
/// file with the same name of 0.4.1.
fn sidecar(fixtures: &Path, release: &str, name: &str) -> Result<PathBuf> {
    [release]
        .iter()
        .chain(&RELEASES)
        .map(|release| fixtures.join(format!("nnx-{release}/checkpoints/{name}.json")))
        .find(|path| path.exists())
        .ok_or_else(|| format!("the fixture `{name}` of {release} has no side-car").into())
}
