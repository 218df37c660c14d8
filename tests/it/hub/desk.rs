//! A client, a cache of its own and a Hub, in memory or on the loopback interface.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nnx_hub::{Event, HttpTransport, Hub, Proxies, RepoId, Retry, Settings, Token, Transport};
use nnx_hub_server::{HubServer, HubState, MemoryTransport, WRITE_TOKEN};
use nnx_tests::fixtures_dir;
use tempfile::TempDir;

pub(super) const REPO: &str = "alice/model";

/// How long a connection may be silent in tests.
const TIMEOUT: Duration = Duration::from_millis(400);

pub(super) enum Server {
    Memory(MemoryTransport),
    Loopback(HubServer),
}

pub(super) struct Desk {
    pub(super) server: Server,
    pub(super) hub: Hub,
    pub(super) cache: TempDir,
    notes: Arc<Mutex<Vec<String>>>,
}

/// A transport without the proxies that the machine may have.
pub(super) fn direct(timeout: Duration) -> HttpTransport {
    HttpTransport::new(timeout).proxies(Proxies::default())
}

pub(super) fn repo() -> RepoId {
    RepoId::parse(REPO).unwrap()
}

pub(super) fn fixture() -> PathBuf {
    fixtures_dir().join("nnx-0.4.1/hub/ff_relu")
}

impl Desk {
    pub(super) fn in_memory() -> Self {
        let transport = MemoryTransport::new();
        let endpoint = transport.endpoint().to_owned();
        let carried: Arc<dyn Transport> = Arc::new(transport.clone());
        Self::with(Server::Memory(transport), endpoint, carried)
    }

    pub(super) fn on_loopback() -> Self {
        let server = HubServer::start().unwrap();
        let endpoint = server.endpoint().to_owned();
        let transport = Arc::new(direct(TIMEOUT));
        Self::with(Server::Loopback(server), endpoint, transport)
    }

    fn with(server: Server, endpoint: String, transport: Arc<dyn Transport>) -> Self {
        let cache = tempfile::tempdir().unwrap();
        let settings = settings(&endpoint, cache.path(), Some(WRITE_TOKEN));
        let notes = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&notes);
        let progress = move |event: &Event<'_>| {
            if let Event::Note(line) = event {
                told.lock().unwrap().push((*line).to_owned());
            }
        };
        let hub = Hub::with_transport(settings, transport)
            .retry(
                Retry::default()
                    .attempts(3)
                    .first_wait(Duration::from_millis(1)),
            )
            .progress(Arc::new(progress));
        Self {
            server,
            hub,
            cache,
            notes,
        }
    }

    pub(super) fn state(&self) -> &HubState {
        match &self.server {
            Server::Memory(transport) => transport,
            Server::Loopback(server) => server,
        }
    }

    /// A client of the same Hub with another token.
    pub(super) fn as_other(&self, token: Option<&str>) -> Hub {
        let settings = settings(self.hub.endpoint(), self.cache.path(), token);
        let transport: Arc<dyn Transport> = match &self.server {
            Server::Memory(transport) => Arc::new(transport.clone()),
            Server::Loopback(_) => Arc::new(direct(TIMEOUT)),
        };
        Hub::with_transport(settings, transport).retry(
            Retry::default()
                .attempts(2)
                .first_wait(Duration::from_millis(1)),
        )
    }

    /// A client of the same Hub and cache that makes no symbolic links.
    pub(super) fn without_symlinks(&self) -> Hub {
        let mut settings = settings(self.hub.endpoint(), self.cache.path(), Some(WRITE_TOKEN));
        settings.symlinks = false;
        let transport: Arc<dyn Transport> = match &self.server {
            Server::Memory(transport) => Arc::new(transport.clone()),
            Server::Loopback(_) => Arc::new(direct(TIMEOUT)),
        };
        Hub::with_transport(settings, transport)
    }

    /// A client of the same Hub over another transport.
    pub(super) fn over(&self, transport: Arc<dyn Transport>) -> Hub {
        let settings = settings(self.hub.endpoint(), self.cache.path(), Some(WRITE_TOKEN));
        let retry = Retry::default().attempts(2);
        Hub::with_transport(settings, transport).retry(retry.first_wait(Duration::from_millis(1)))
    }

    pub(super) fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap().clone()
    }

    /// Puts the files of a fixture into the repository.
    pub(super) fn seed(&self) -> String {
        let files = ["README.md", "config.json", "model.safetensors"];
        let read: Vec<_> = files
            .iter()
            .map(|name| (*name, std::fs::read(fixture().join(name)).unwrap()))
            .collect();
        let borrowed: Vec<_> = read
            .iter()
            .map(|(name, bytes)| (*name, bytes.as_slice()))
            .collect();
        self.state().seed(REPO, &borrowed)
    }
}

pub(super) fn settings(endpoint: &str, cache: &Path, token: Option<&str>) -> Settings {
    let cache = cache.to_str().unwrap();
    let variable = |name: &str| match name {
        "HF_ENDPOINT" => Some(endpoint.to_owned()),
        "HF_HOME" | "HF_HUB_CACHE" => Some(cache.to_owned()),
        _ => None,
    };
    let mut settings = Settings::from_variables(&variable).unwrap();
    settings.token = token.map(|token| Token::new(token).unwrap());
    settings
}
