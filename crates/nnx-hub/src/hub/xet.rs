//! Xet, the store of the Hub that keeps equal parts of files once: its session and its tokens.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use serde_json::Value as Json;
use xet::error::XetError;
use xet::xet_session::{HeaderMap, HeaderValue, XetConfig, XetSession, XetSessionBuilder, header};

use super::Hub;
use super::repository::text;
use crate::api_request::{ApiRequest, RequestContext};
use crate::error::Result;
use crate::repo_id::RepoId;
use crate::settings::Settings;
use crate::transport::Method;
use crate::url;

/// How often the store is asked for the same part; then the file is transferred the ordinary way.
const ATTEMPTS: usize = 3;
/// The wait after the first failure of the store.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// The session with the store, with its own threads; it is started by the first transfer.
#[derive(Clone)]
pub(crate) struct Xet {
    session: Arc<OnceLock<Session>>,
    /// The folder in which it remembers the parts that it sent.
    cache_dir: PathBuf,
    /// How long the store may be silent.
    pub(super) timeout: Duration,
}

impl Xet {
    /// `None` if the settings turn it off, or if there is no folder for it.
    pub(crate) fn new(settings: &Settings) -> Option<Self> {
        let cache_dir = settings.xet_cache_dir.clone();
        Some(Self {
            session: Arc::default(),
            cache_dir: cache_dir.filter(|_| settings.xet)?,
            timeout: settings.timeout,
        })
    }

    /// The session; `None` if it cannot be started.
    pub(super) fn session(&self) -> Option<&XetSession> {
        let start = || {
            let mut config = XetConfig::new();
            config.client.connect_timeout = self.timeout;
            config.client.read_timeout = self.timeout;
            config.client.retry_max_attempts = ATTEMPTS;
            config.client.retry_base_delay = FIRST_WAIT;
            // The store is asked for files, and told nothing else.
            config.telemetry.enabled = false;
            use_ring();
            let builder =
                XetSessionBuilder::new_with_config(config).with_cache_dir(&self.cache_dir);
            // In a thread of its own, it does not take a runtime of the program for its own.
            let build = || builder.build().ok();
            Session(thread::scope(|scope| {
                scope.spawn(build).join().ok().flatten()
            }))
        };
        self.session.get_or_init(start).0.as_ref()
    }
}

/// A session; `None` if it could not be started.
struct Session(Option<XetSession>);

impl Drop for Session {
    fn drop(&mut self) {
        // A runtime must not be dropped in a thread of another one, which the caller's may be.
        if let Some(session) = self.0.take() {
            thread::spawn(move || drop(session));
        }
    }
}

/// TLS computes with ring, as in the other requests; another choice of the program stays.
fn use_ring() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// What the Hub tells of the store.
pub(super) struct Access {
    pub(super) endpoint: String,
    pub(super) token: String,
    /// In seconds since 1970.
    pub(super) expires: u64,
    /// Where there is another token, and the headers of a request for it.
    pub(super) refresh: (String, HeaderMap),
}

/// Why the store did not deliver or take a file; shown in a note.
pub(super) type Reason = &'static str;

/// The kind of an error of the store. Its text may hold addresses with signatures, so it is not
/// shown.
pub(super) fn reason(error: &XetError) -> Reason {
    match error {
        XetError::Authentication(_) => "the store refuses the token",
        XetError::Network(_) => "the connection to the store failed",
        XetError::RateLimited(_) => "the store refuses more requests",
        XetError::ServerError(_) => "the store is not available",
        XetError::Timeout(_) => "the store is silent",
        XetError::NotFound(_) => "the store does not have it",
        XetError::DataIntegrity(_) => "the store has damaged parts",
        _ => "the transfer failed",
    }
}

impl Hub {
    pub(super) fn has_xet(&self) -> bool {
        self.xet.is_some()
    }

    /// Asks the Hub for the store and a token for it; `action` is `read` or `write`.
    pub(super) fn xet_access(
        &self,
        repo: &RepoId,
        action: &str,
        revision: &str,
        query: &str,
    ) -> Result<Access> {
        let revision_in_url = url::escape(revision, false);
        let path = format!("/api/models/{repo}/xet-{action}-token/{revision_in_url}{query}");
        let context = RequestContext {
            repo: Some(repo),
            revision: Some(revision),
            file: None,
        };
        let url = self.client.url(&path);
        let request = ApiRequest::new(Method::Get, url.clone(), context);
        let reply = self.client.json(&request)?;
        let endpoint = text(&request, &reply, "casUrl")?;
        let is_safe = endpoint.starts_with("https:") || !url.starts_with("https:");
        if url::origin(&endpoint).is_none() || !is_safe {
            return Err(request.protocol("the store of the files has no address that is followed"));
        }
        let mut headers = HeaderMap::new();
        if let Some(token) = &self.client.token
            && let Ok(mut value) = HeaderValue::from_str(&token.bearer())
        {
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        Ok(Access {
            endpoint,
            token: text(&request, &reply, "accessToken")?,
            expires: reply.get("exp").and_then(Json::as_u64).unwrap_or_default(),
            refresh: (url, headers),
        })
    }
}
