//! The client of the Hub's API: redirects, the token, retries and the meaning of error statuses.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use serde_json::Value as Json;

use crate::api_request::{ApiRequest, Payload};
use crate::digest::Hasher;
use crate::error::{Error, ErrorKind, Result, shown};
use crate::mutex::locked;
use crate::progress::{Event, Progress};
use crate::retry::{Failure, Retry};
use crate::status_error::status_error;
use crate::token::Token;
use crate::transport::{Body, Header, Method, Request, Response, Transport, TransportError};
use crate::url;

/// Redirects that are followed for one request.
const MAX_REDIRECTS: usize = 8;
/// The largest JSON reply that is read, in bytes. A page of a listing has some hundred thousand
/// bytes, and the URLs for the parts of a large file a million.
const MAX_JSON_BYTES: u64 = 16 << 20;

/// The server, the token and the way there, shared by all requests.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) endpoint: String,
    pub(crate) token: Option<Token>,
    pub(crate) retry: Retry,
    pub(crate) progress: Option<Arc<dyn Progress>>,
}

impl Client {
    /// A URL on the Hub.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.endpoint)
    }

    pub(crate) fn note(&self, line: &str) {
        if let Some(progress) = &self.progress {
            progress.on(&Event::Note(line));
        }
    }

    pub(crate) fn notify(&self, event: &Event<'_>) {
        if let Some(progress) = &self.progress {
            progress.on(event);
        }
    }

    /// Whether a URL is on the Hub itself. Only such a request gets the token.
    fn is_same_origin(&self, url: &str) -> bool {
        url::origin(url).is_some_and(|origin| url::origin(&self.endpoint) == Some(origin))
    }

    /// Sends a request, repeats it if that may help, and reads the reply.
    ///
    /// # Errors
    /// The last failure.
    pub(crate) fn send<T>(
        &self,
        request: &ApiRequest<'_>,
        mut read: impl FnMut(Response) -> Result<T, Failure>,
    ) -> Result<T> {
        let mut failures = 0;
        loop {
            let failure = match self.try_send(request).and_then(&mut read) {
                Ok(read) => return Ok(read),
                Err(failure) => failure,
            };
            failures += 1;
            self.backoff(failure, failures)?;
        }
    }

    /// Waits after a failure, before the next attempt; see [`Retry::backoff`].
    ///
    /// # Errors
    /// The failure itself if there is no next attempt.
    pub(crate) fn backoff(&self, failure: Failure, failures: u32) -> Result<()> {
        self.retry
            .backoff(failure, failures, |line| self.note(line))
    }

    /// [`send`](Self::send) for a reply in JSON.
    ///
    /// # Errors
    /// As for [`send`](Self::send), and when the reply is not JSON.
    pub(crate) fn json(&self, request: &ApiRequest<'_>) -> Result<Json> {
        self.send(request, |response| json(request, response))
    }

    /// Sends a request once, and follows its redirects.
    ///
    /// # Errors
    /// When there is no reply, or its status is an error.
    pub(crate) fn try_send(&self, request: &ApiRequest<'_>) -> Result<Response, Failure> {
        let first = url::origin(&request.url)
            .ok_or_else(|| request.protocol("the URL scheme must be `http` or `https`"))?;
        let mut target = request.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut headers = request.headers.clone();
            if url::origin(&target).as_ref() != Some(&first) {
                headers.retain(|(name, _)| !matches!(name.as_ref(), "authorization" | "cookie"));
            }
            let has_own = headers.iter().any(|(name, _)| name == "authorization");
            let token = self
                .token
                .as_ref()
                .filter(|_| !has_own && self.is_same_origin(&target));
            if let Some(token) = token {
                headers.push(("authorization".into(), token.bearer()));
            }
            let mut response = self.carry(request, &target, headers)?;
            let location = response.header("location");
            match (response.status, location) {
                (200..=299, _) => return Ok(response),
                (301 | 302 | 303 | 307 | 308, Some(location)) => {
                    let next = url::join(&target, location).ok_or_else(|| {
                        request.protocol("it is redirected to an address that is not followed")
                    })?;
                    check_redirect(request, response.status, &first, &next)?;
                    if target.starts_with("https:") && !next.starts_with("https:") {
                        return Err(request
                            .protocol("it is redirected away from a secure connection")
                            .into());
                    }
                    target = next;
                }
                _ => return Err(status_error(request, &mut response, self.token.as_ref())),
            }
        }
        Err(request.protocol("it is redirected too often").into())
    }

    fn carry(
        &self,
        request: &ApiRequest<'_>,
        url: &str,
        headers: Vec<Header>,
    ) -> Result<Response, Failure> {
        let send = |body: Body<'_>| {
            let exchange = Request::new(request.method, url.to_owned(), headers, body);
            self.transport
                .send(exchange)
                .map_err(|error| request.transport_error(error))
        };
        match request.payload {
            Payload::Empty => send(Body::Empty),
            Payload::Bytes(bytes) => send(Body::Bytes(bytes)),
            Payload::Part {
                path,
                offset,
                len,
                sent,
                hasher,
            } => {
                let io = |error| Error::io(path, error);
                let mut file = File::open(path).map_err(io)?;
                file.seek(SeekFrom::Start(offset)).map_err(io)?;
                let mut counting = Counting {
                    inner: file.take(len),
                    count: 0,
                    len,
                    is_short: false,
                    report: sent,
                    hasher: hasher.map(|hasher| locked(hasher).clone()),
                };
                let response = send(Body::Reader(&mut counting, len));
                if counting.is_short {
                    let file = path.display().to_string();
                    return Err(Failure::Permanent(ErrorKind::Changed { file }.into()));
                }
                let response = response?;
                // After an error or a redirect, the body is sent again.
                let is_taken = (200..=299).contains(&response.status);
                if let (true, Some(hasher), Some(sent)) = (is_taken, hasher, counting.hasher) {
                    *locked(hasher) = sent;
                }
                Ok(response)
            }
        }
    }
}

/// Refuses redirects that drop the body, or that send the Hub's requests to another server.
fn check_redirect(request: &ApiRequest<'_>, status: u16, first: &str, next: &str) -> Result<()> {
    let sends = !matches!(request.method, Method::Get | Method::Head);
    if sends && !matches!(status, 307 | 308) {
        return Err(request.protocol(format!(
            "it is redirected with the status {status}, which drops what is sent"
        )));
    }
    if request.method == Method::Post && url::origin(next).as_deref() != Some(first) {
        return Err(request.protocol("the upload is redirected to another server"));
    }
    Ok(())
}

/// The reply's body as JSON.
pub(crate) fn json(request: &ApiRequest<'_>, mut response: Response) -> Result<Json, Failure> {
    let is_html = response
        .header("content-type")
        .is_some_and(|kind| kind.contains("html"));
    if let Some(coding) = response.header("content-encoding")
        && coding != "identity"
    {
        let what = format!(
            "the reply is compressed (`{}`), which was not requested",
            shown(coding)
        );
        return Err(request.protocol(what).into());
    }
    let mut bytes = Vec::new();
    let mut body = response.body.by_ref().take(MAX_JSON_BYTES + 1);
    body.read_to_end(&mut bytes)
        .map_err(|error| request.transport_error(TransportError::from_read_error(&error)))?;
    if bytes.len() as u64 > MAX_JSON_BYTES {
        let what = format!("the reply has more than {MAX_JSON_BYTES} bytes");
        return Err(request.protocol(what).into());
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        if is_html || bytes.trim_ascii_start().starts_with(b"<") {
            return request
                .protocol("the server answers with a web page, not with the Hub's JSON")
                .into();
        }
        let may_be_cut = error.is_eof();
        let error = request.protocol(format!("the reply is not JSON: {error}"));
        // A reply without a stated length may end anywhere.
        if may_be_cut {
            Failure::Transient(error, None)
        } else {
            Failure::Permanent(error)
        }
    })
}

/// Reports the number of bytes that were read, and fails if the file ends too early. Otherwise the
/// HTTP client, which announced more bytes, would wait for them.
struct Counting<'a, R> {
    inner: R,
    count: u64,
    len: u64,
    /// Whether the file ended too early.
    is_short: bool,
    report: &'a (dyn Fn(u64) + Sync),
    hasher: Option<Hasher>,
}

impl<R: Read> Read for Counting<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        if read == 0 && self.count < self.len && !buffer.is_empty() {
            self.is_short = true;
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(hasher) = &mut self.hasher {
            hasher.update(buffer.get(..read).unwrap_or_default());
        }
        self.count = self.count.saturating_add(read as u64);
        (self.report)(self.count);
        Ok(read)
    }
}
