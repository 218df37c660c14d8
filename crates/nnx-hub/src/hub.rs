//! The client of the Hub.

mod commit;
mod download;
mod lfs;
mod local;
mod preupload;
mod remote_file;
mod repo_folder;
mod repository;
mod side_by_side;
mod snapshot;
mod tree;
mod upload;
mod upload_options;
#[cfg(not(feature = "xet"))]
mod without_xet;
#[cfg(feature = "xet")]
mod xet;
#[cfg(feature = "xet")]
mod xet_download;
#[cfg(feature = "xet")]
mod xet_upload;

use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::remote_file::RemoteFile;
pub use self::repo_folder::RepoFolder;
pub use self::repository::{Identity, RepoInfo};
pub use self::snapshot::{Snapshot, SnapshotOptions};
pub use self::upload::Upload;
pub use self::upload_options::UploadOptions;
use crate::cache::{CacheCheck, RepoCache};
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::progress::Progress;
use crate::repo_id::RepoId;
use crate::retry::Retry;
use crate::settings::Settings;
use crate::token::Token;
use crate::transport::{Request, Response, Transport, TransportError};

/// A client of the Hub; cloning is cheap.
///
/// ```no_run
/// use nnx_hub::{Hub, RepoId};
///
/// # fn main() -> nnx_hub::Result<()> {
/// let hub = Hub::from_env()?;
/// let repo = RepoId::parse("owner/name")?;
/// for file in hub.tree(&repo, "main")? {
///     println!("{} {}", file.path, file.size);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Hub {
    client: Client,
    cache_dir: Option<PathBuf>,
    symlinks: bool,
    offline: bool,
    check: CacheCheck,
    max_workers: NonZeroUsize,
    /// `None` over a transport of the caller, which decides how the network is reached.
    #[cfg(feature = "xet")]
    xet: Option<xet::Xet>,
}

impl Hub {
    /// A client with the settings that the `hf` tools use; see [`Settings`].
    ///
    /// # Errors
    /// [`ErrorKind::FeatureMissing`] without the feature `online`, unless `HF_HUB_OFFLINE` is set;
    /// [`ErrorKind::Settings`] when a variable of the environment has no usable value.
    pub fn from_env() -> Result<Self> {
        Self::new(Settings::from_env()?)
    }

    /// A client with the given settings.
    ///
    /// # Errors
    /// [`ErrorKind::FeatureMissing`] without the feature `online`, unless the settings are offline.
    pub fn new(settings: Settings) -> Result<Self> {
        if settings.offline {
            return Ok(Self::with_transport(settings, Arc::new(NoTransport)));
        }
        let transport = online(&settings)?;
        #[cfg(feature = "xet")]
        let xet = xet::Xet::new(&settings);
        let hub = Self::with_transport(settings, transport);
        #[cfg(feature = "xet")]
        let hub = Self { xet, ..hub };
        Ok(hub)
    }

    /// A client that uses the cache alone.
    ///
    /// # Errors
    /// [`ErrorKind::Settings`] when a variable of the environment has no usable value.
    pub(crate) fn offline_from_env() -> Result<Self> {
        let mut settings = Settings::from_env()?;
        settings.offline = true;
        Self::new(settings)
    }

    /// A client over the given transport.
    pub fn with_transport(settings: Settings, transport: Arc<dyn Transport>) -> Self {
        Self {
            client: Client {
                transport,
                endpoint: settings.endpoint.trim_end_matches('/').to_owned(),
                token: settings.token.filter(|token| !token.is_empty()),
                retry: Retry::default(),
                progress: None,
            },
            cache_dir: settings.cache_dir,
            symlinks: settings.symlinks,
            offline: settings.offline,
            check: CacheCheck::default(),
            max_workers: side_by_side::default_workers(),
            #[cfg(feature = "xet")]
            xet: None,
        }
    }

    /// A client with the endpoint and the cache of a client of the crate `hf-hub`. That client does
    /// not show its token, so the token is given again; all other settings are those of the
    /// environment.
    ///
    /// ```no_run
    /// use nnx_hub::{Hub, Token};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let token = "hf_…";
    /// let client = hf_hub::HFClient::builder().token(token).build()?;
    /// let hub = Hub::from_hf_hub(&client, Some(Token::new(token)?))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`from_env`](Self::from_env).
    #[cfg(feature = "hf-hub")]
    pub fn from_hf_hub(client: &hf_hub::HFClient, token: Option<Token>) -> Result<Self> {
        let mut settings = Settings::from_env()?;
        settings.endpoint = client.endpoint().to_owned();
        settings.cache_dir = Some(client.cache_dir().to_path_buf());
        settings.token = token;
        Self::new(settings)
    }

    /// Sets the retry policy.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.client.retry = retry;
        self
    }

    /// Sets the receiver of progress events.
    #[must_use]
    pub fn progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.client.progress = Some(progress);
        self
    }

    /// Sets whether all files in the cache are hashed before they are used (`true`), or none and only
    /// their sizes are compared (`false`). By default, files are hashed that were never verified, or
    /// whose size, times or inode changed since. Downloads are always hashed.
    #[must_use]
    pub fn verify_cached(mut self, verify: bool) -> Self {
        self.check = if verify {
            CacheCheck::Everything
        } else {
            CacheCheck::Sizes
        };
        self
    }

    /// Sets how many files are transferred or hashed at the same time, at most 64. Default: one for
    /// each core, up to eight.
    #[must_use]
    pub fn max_workers(mut self, workers: NonZeroUsize) -> Self {
        self.max_workers = workers;
        self
    }

    /// The Hub's address.
    pub fn endpoint(&self) -> &str {
        &self.client.endpoint
    }

    /// The folder of the cache; `None` if no setting names it and there is no home folder.
    pub fn cache_dir(&self) -> Option<&Path> {
        self.cache_dir.as_deref()
    }

    /// The part of the cache that belongs to a repository.
    ///
    /// # Errors
    /// [`ErrorKind::Settings`] when there is no folder to keep the cache in.
    fn repo_cache(&self, repo: &RepoId) -> Result<RepoCache> {
        let folder = self.cache_dir().ok_or_else(|| {
            Error::from(ErrorKind::Settings {
                what: "there is no home folder to keep the cache in; set `HF_HUB_CACHE`".to_owned(),
            })
        })?;
        Ok(RepoCache::new(folder, repo, self.symlinks, self.check))
    }

    /// The same client with the overrides of a single call.
    pub(crate) fn overridden(
        mut self,
        token: Option<&Token>,
        cache_dir: Option<&Path>,
        progress: Option<&Arc<dyn Progress>>,
    ) -> Self {
        if let Some(token) = token {
            self.client.token = Some(token.clone()).filter(|token| !token.is_empty());
        }
        if let Some(cache_dir) = cache_dir {
            self.cache_dir = Some(cache_dir.to_path_buf());
        }
        if let Some(progress) = progress {
            self.client.progress = Some(Arc::clone(progress));
        }
        self
    }

    /// The receiver of progress events.
    pub(crate) fn receiver(&self) -> Option<&Arc<dyn Progress>> {
        self.client.progress.as_ref()
    }

    /// # Errors
    /// [`ErrorKind::Offline`] when only local files may be used.
    fn need_network(&self, what: &'static str) -> Result<()> {
        if self.offline {
            return Err(Error::from(ErrorKind::Offline { what }));
        }
        Ok(())
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub")
            .field("endpoint", &self.client.endpoint)
            .field("token", &self.client.token)
            .field("cache_dir", &self.cache_dir)
            .field("offline", &self.offline)
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "online")]
fn online(settings: &Settings) -> Result<Arc<dyn Transport>> {
    use crate::http_transport::HttpTransport;

    let transport = match &settings.certificates {
        None => HttpTransport::new(settings.timeout),
        Some(file) => HttpTransport::trusting(file, settings.timeout)?,
    };
    Ok(Arc::new(transport.proxies(settings.proxies.clone())))
}

#[cfg(not(feature = "online"))]
fn online(_: &Settings) -> Result<Arc<dyn Transport>> {
    Err(Error::from(ErrorKind::FeatureMissing {
        what: "reaching the Hub",
        feature: "online",
    }))
}

/// A transport that refuses every request.
struct NoTransport;

impl Transport for NoTransport {
    fn send(&self, _: Request<'_>) -> Result<Response, TransportError> {
        Err(TransportError::Impossible(
            "only local files may be used".to_owned(),
        ))
    }
}

#[cfg(test)]
mod tests;
