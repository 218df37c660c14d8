//! Checkpoint fixtures and the real library's values for each.

use std::path::PathBuf;

use nnx_params::Value;

use crate::Json;

/// The versions of the library that wrote fixtures.
pub const LIBRARY_VERSIONS: [&str; 2] = ["0.2.3", "0.4.1"];

/// A checkpoint that the real library wrote, in up to three forms.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// The version of the library.
    pub version: &'static str,
    /// The name, such as `ff_relu`.
    pub name: String,
    /// The side-car.
    pub sidecar: Json,
}

/// The forms of a checkpoint file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// torch's zip container.
    Zip,
    /// torch's legacy stream.
    Legacy,
    /// A safetensors file.
    SafeTensors,
}

/// A tensor as the real library saved it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedTensor {
    /// The key in the state dict.
    pub name: String,
    /// PyTorch's name of the dtype.
    pub dtype: String,
    /// Elements along each dimension.
    pub shape: Vec<usize>,
    /// Over the row-major little-endian bytes.
    pub sha256: String,
    /// Equal numbers are one storage.
    pub storage: usize,
}

/// A bare state dict, no checkpoint.
pub const BARE_STATE_DICT: &str = "export_state_dict";

/// The folder of the fixtures.
pub fn fixtures_dir() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures"))
}

impl Fixture {
    /// Every checkpoint fixture of both versions, in the order of version and name.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for version in LIBRARY_VERSIONS {
            let dir = Self::dir_of(version);
            let mut names: Vec<String> = std::fs::read_dir(&dir)
                .unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
                .map(|entry| entry.expect("a directory entry").file_name())
                .filter_map(|name| name.to_str()?.strip_suffix(".json").map(str::to_owned))
                .collect();
            names.sort();
            names.retain(|name| name != BARE_STATE_DICT);
            all.extend(names.into_iter().map(|name| {
                let sidecar = Json::read(&dir.join(format!("{name}.json")));
                Self {
                    version,
                    name,
                    sidecar,
                }
            }));
        }
        assert!(all.len() > 50, "only {} fixtures found", all.len());
        all
    }

    /// The fixtures whose net is `FEED_FWD` and whose file is an NNCheckpoint.
    pub fn feed_forward() -> Vec<Self> {
        let mut all = Self::all();
        all.retain(|fixture| fixture.net().as_deref() == Some("feed_fwd"));
        assert!(
            all.len() > 20,
            "only {} feed-forward fixtures found",
            all.len()
        );
        all
    }

    fn dir_of(version: &str) -> PathBuf {
        fixtures_dir().join(format!("nnx-{version}/checkpoints"))
    }

    /// Version and name, as reports print it.
    pub fn label(&self) -> String {
        format!("{}/{}", self.version, self.name)
    }

    /// The registered name of the net, where the checkpoint has one.
    pub fn net(&self) -> Option<String> {
        match self.sidecar.find("model_params_state")?.find("net")?.0 {
            Value::Str(net) => Some(net),
            _ => None,
        }
    }

    /// The files, each with its form.
    pub fn files(&self) -> Vec<(Form, PathBuf)> {
        let files = self.sidecar.get("files");
        let found: Vec<_> = [
            ("zip", Form::Zip),
            ("legacy", Form::Legacy),
            ("safetensors", Form::SafeTensors),
        ]
        .into_iter()
        .filter_map(|(key, form)| {
            let name = files.find(key)?.get("name").text().to_owned();
            Some((form, Self::dir_of(self.version).join(name)))
        })
        .collect();
        assert!(!found.is_empty(), "{} has no file", self.label());
        found
    }

    /// The tensors, in the order of the side-car.
    pub fn tensors(&self) -> Vec<ExpectedTensor> {
        self.sidecar
            .get("tensors")
            .items()
            .iter()
            .filter(|value| value.find("non_tensor").is_none())
            .map(|tensor| ExpectedTensor {
                name: tensor.get("name").text().to_owned(),
                dtype: tensor.get("dtype").text().to_owned(),
                shape: tensor.get("shape").items().iter().map(Json::size).collect(),
                sha256: tensor.get("sha256").text().to_owned(),
                storage: tensor.get("storage").size(),
            })
            .collect()
    }

    /// The keys of the state dict in the order in which the real library gives them after loading.
    pub fn key_order(&self, form: Form) -> Vec<String> {
        match form {
            Form::Zip | Form::Legacy => self.sidecar.get("pickle_key_order").texts(),
            Form::SafeTensors => self
                .sidecar
                .get("files")
                .get("safetensors")
                .get("loaded_key_order")
                .texts(),
        }
    }

    /// The module tree of the state dict's `_metadata`: paths and versions; empty for a mapping
    /// without that attribute.
    pub fn modules(&self) -> Vec<(String, i64)> {
        let entries = self.sidecar.get("metadata").items();
        entries
            .iter()
            .map(|entry| match &entry.items()[..] {
                [path, about] => {
                    let version = i64::try_from(about.get("version").size());
                    (path.text().to_owned(), version.expect("a version"))
                }
                other => panic!("{other:?} is no entry of a module tree"),
            })
            .collect()
    }
}
