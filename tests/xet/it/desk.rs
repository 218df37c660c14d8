//! A client, a cache of its own, and a Hub with a storage server on the loopback interface.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nnx_hub::{Event, Hub, RepoId, Retry, Settings, SnapshotOptions, Token, UploadOptions};
use nnx_hub_server::{HubServer, Seen, WRITE_TOKEN};
use nnx_xet_tests::XetStorage;
use tempfile::TempDir;

pub(super) const REPO: &str = "alice/model";
pub(super) const FILE: &str = "model.safetensors";

/// How long a connection may be silent in tests.
const TIMEOUT: Duration = Duration::from_secs(3);

pub(super) struct Desk {
    pub(super) server: HubServer,
    pub(super) hub: Hub,
    pub(super) home: TempDir,
    notes: Arc<Mutex<Vec<String>>>,
}

pub(super) fn repo() -> RepoId {
    RepoId::parse(REPO).unwrap()
}

pub(super) fn settings(endpoint: &str, home: &Path) -> Settings {
    let home = home.to_str().unwrap();
    let variable = |name: &str| match name {
        "HF_ENDPOINT" => Some(endpoint.to_owned()),
        "HF_HOME" => Some(home.to_owned()),
        _ => None,
    };
    let mut settings = Settings::from_variables(&variable).unwrap();
    settings.token = Some(Token::new(WRITE_TOKEN).unwrap());
    settings.timeout = TIMEOUT;
    settings
}

pub(super) fn client(settings: Settings, notes: &Arc<Mutex<Vec<String>>>) -> Hub {
    let told = Arc::clone(notes);
    let progress = move |event: &Event<'_>| {
        if let Event::Note(line) = event {
            told.lock().unwrap().push((*line).to_owned());
        }
    };
    let retry = Retry::default().attempts(2);
    Hub::new(settings)
        .unwrap()
        .retry(retry.first_wait(Duration::from_millis(1)))
        .progress(Arc::new(progress))
}

impl Desk {
    pub(super) fn new() -> Self {
        let storage = Arc::new(XetStorage::start().unwrap());
        let server = HubServer::start_with_xet(storage).unwrap();
        let (home, notes) = (tempfile::tempdir().unwrap(), Arc::default());
        let hub = client(settings(server.endpoint(), home.path()), &notes);
        Self {
            server,
            hub,
            home,
            notes,
        }
    }

    /// A client of the same Hub with another home folder, and the folder.
    pub(super) fn other(&self) -> (Hub, TempDir) {
        let home = tempfile::tempdir().unwrap();
        let settings = settings(self.server.endpoint(), home.path());
        (client(settings, &self.notes), home)
    }

    /// Uploads files in one commit.
    pub(super) fn push(&self, files: &[(&str, &[u8])]) -> nnx_hub::Result<nnx_hub::Upload> {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        self.hub
            .upload_folder(folder.path(), &repo(), &UploadOptions::default())
    }

    pub(super) fn pull(&self) -> nnx_hub::Result<PathBuf> {
        self.hub.snapshot(&repo(), &SnapshotOptions::default())
    }

    /// The notes since the last call.
    pub(super) fn notes(&self) -> Vec<String> {
        std::mem::take(&mut self.notes.lock().unwrap())
    }

    /// The requests to the storage.
    pub(super) fn asked_of_xet(&self) -> Vec<Seen> {
        let seen = self.server.seen().into_iter();
        seen.filter(|seen| seen.xet).collect()
    }

    /// Whether large files were transferred the ordinary way.
    pub(super) fn is_ordinary(&self) -> bool {
        self.server.seen().iter().any(|seen| !seen.hub && !seen.xet)
    }
}
