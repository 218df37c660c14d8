//! The two clients: this workspace's and the official one.

use std::path::Path;
use std::process::{Command, Stdio};

use nnx_hub::{Hub, RepoId, Settings, SnapshotOptions, Token, UploadOptions};
use nnx_hub_server::WRITE_TOKEN;

use crate::Result;

/// The script that runs the official client.
const SCRIPT: &str = include_str!("official.py");

/// A client.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Client<'a> {
    /// The crate nnx-hub.
    Rust,
    /// `huggingface_hub` with `hf_xet`, by its interpreter.
    Python(&'a Path),
}

impl Client<'_> {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Python(_) => "Python",
        }
    }

    /// Uploads a folder in one commit.
    pub(crate) fn push(self, endpoint: &str, home: &Path, folder: &Path, repo: &str) -> Result<()> {
        match self {
            Self::Rust => {
                let repo = RepoId::parse(repo)?;
                hub(endpoint, home)?.upload_folder(folder, &repo, &UploadOptions::default())?;
                Ok(())
            }
            Self::Python(python) => {
                let words = ["push".as_ref(), folder, repo.as_ref()];
                official(python, endpoint, home, words)
            }
        }
    }

    /// Copies the files of a repository into a new folder.
    pub(crate) fn pull(self, endpoint: &str, home: &Path, repo: &str, folder: &Path) -> Result<()> {
        match self {
            Self::Rust => {
                let repo = RepoId::parse(repo)?;
                let hub = hub(endpoint, home)?;
                let snapshot = hub.snapshot_files(&repo, &SnapshotOptions::default())?;
                std::fs::create_dir_all(folder)?;
                for file in std::fs::read_dir(snapshot.folder)? {
                    let file = file?;
                    std::fs::copy(file.path(), folder.join(file.file_name()))?;
                }
                Ok(())
            }
            Self::Python(python) => {
                let words = ["pull".as_ref(), repo.as_ref(), folder];
                official(python, endpoint, home, words)
            }
        }
    }
}

fn hub(endpoint: &str, home: &Path) -> Result<Hub> {
    let home = home.to_string_lossy().into_owned();
    let variable = |name: &str| match name {
        "HF_ENDPOINT" => Some(endpoint.to_owned()),
        "HF_HOME" => Some(home.clone()),
        _ => None,
    };
    let mut settings = Settings::from_variables(&variable)?;
    settings.token = Some(Token::new(WRITE_TOKEN)?);
    Ok(Hub::new(settings)?)
}

fn official(python: &Path, endpoint: &str, home: &Path, words: [&Path; 3]) -> Result<()> {
    let output = Command::new(python)
        .args(["-I", "-c", SCRIPT])
        .args(words)
        .env("HF_ENDPOINT", endpoint)
        .env("HF_HOME", home)
        .env("HF_TOKEN", WRITE_TOKEN)
        .env("HF_HUB_DISABLE_TELEMETRY", "1")
        .env("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or_default();
    Err(format!("the official client failed: {last}").into())
}
