//! The storage server, and the way to it.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nnx_hub::{HttpTransport, Proxies, Request, Response, Transport, TransportError};
use nnx_hub_server::XetStore;
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use xet_client::cas_client::{
    DeletionControlableClient, DirectAccessClient, LocalClient, LocalServer,
};
use xet_runtime::core::XetContext;

/// How long the server may be silent.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A storage server that listens until it is dropped. Its files are in a temporary folder.
pub struct XetStorage {
    address: String,
    files: Arc<LocalClient>,
    /// The SHA-256 of each file, by its hash in the storage.
    known: Mutex<BTreeMap<String, String>>,
    transport: HttpTransport,
    stop: Option<oneshot::Sender<()>>,
    runtime: Runtime,
    _folder: TempDir,
}

impl XetStorage {
    /// Listens on a free port.
    ///
    /// # Errors
    /// When the server cannot be started.
    pub fn start() -> Result<Self, Box<dyn Error + Send + Sync>> {
        let folder = tempfile::tempdir()?;
        let runtime = Runtime::new()?;
        let (listener, files) = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let files = LocalClient::new(XetContext::default()?, folder.path()).await?;
            Ok::<_, Box<dyn Error + Send + Sync>>((listener, files))
        })?;
        let address = listener.local_addr()?;
        let server = LocalServer::from_client(
            files.clone(),
            Some(files.clone()),
            address.ip().to_string(),
            address.port(),
        );
        let (stop, stopped) = oneshot::channel();
        runtime.spawn(async move { server.serve_until_stopped(listener, stopped).await });
        Ok(Self {
            address: format!("http://{address}"),
            files,
            known: Mutex::default(),
            transport: HttpTransport::new(TIMEOUT).proxies(Proxies::default()),
            stop: Some(stop),
            runtime,
            _folder: folder,
        })
    }

    /// The bytes of a file, by its hash in the storage.
    fn read(&self, hash: &str) -> Option<Vec<u8>> {
        let entries = self.runtime.block_on(self.files.list_file_shard_entries());
        let (hash, _) = entries
            .ok()?
            .into_iter()
            .find(|(entry, _)| entry.hex() == hash)?;
        let bytes = self.runtime.block_on(self.files.get_file_data(&hash, None));
        Some(bytes.ok()?.to_vec())
    }

    /// The SHA-256 of a file, by its hash in the storage.
    fn sha256(&self, hash: &str) -> Option<String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sha256) = known.get(hash) {
            return Some(sha256.clone());
        }
        let digest = Sha256::digest(self.read(hash)?);
        let sha256: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        known.insert(hash.to_owned(), sha256.clone());
        Some(sha256)
    }
}

impl Transport for XetStorage {
    fn send(&self, mut request: Request<'_>) -> Result<Response, TransportError> {
        request.url = format!("{}{}", self.address, request.url);
        self.transport.send(request)
    }
}

impl XetStore for XetStorage {
    fn find(&self, sha256: &str) -> Option<(String, Vec<u8>)> {
        let entries = self.runtime.block_on(self.files.list_file_shard_entries());
        let mut hashes = entries.ok()?.into_iter().map(|(hash, _)| hash.hex());
        let hash = hashes.find(|hash| self.sha256(hash).as_deref() == Some(sha256))?;
        let bytes = self.read(&hash)?;
        Some((hash, bytes))
    }
}

impl fmt::Debug for XetStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("XetStorage")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Drop for XetStorage {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }
}
