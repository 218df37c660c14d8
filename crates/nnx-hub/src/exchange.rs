//! Requests with all that goes wrong on the way: redirects, waiting, trying again, and what a
//! refusal means.

mod refusal;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value as Json;

use crate::digest::Hasher;
use crate::error::{Error, ErrorKind, Result, shown};
use crate::progress::{Event, Progress};
use crate::repo_id::RepoId;
use crate::setters::setters;
use crate::token::Token;
use crate::transport::{Body, Header, Method, Request, Response, Transport, TransportError};
use crate::url;

/// Redirects that are followed for one request.
const MAX_REDIRECTS: usize = 8;
/// Bytes of a JSON reply that are read; a page of a listing has some hundred thousand, and the
/// addresses of a large file's parts a million.
const MAX_JSON_BYTES: u64 = 16 << 20;

/// How often and after what time something is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// Tries in all. Default: 5.
    pub attempts: u32,
    /// The wait after the first failure, which doubles with each. Default: half a second.
    pub first_wait: Duration,
    /// The longest wait that the Hub may ask for; a longer one is an error that says so. Default: a
    /// minute.
    pub max_wait: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 5,
            first_wait: Duration::from_millis(500),
            max_wait: Duration::from_secs(60),
        }
    }
}

impl Retry {
    setters! {
        attempts(attempts: u32) = attempts;
        first_wait(wait: Duration) = wait;
        max_wait(wait: Duration) = wait;
    }

    /// The wait after that many failures.
    pub(crate) fn wait(&self, failures: u32) -> Duration {
        let factor = 1 << failures.saturating_sub(1).min(6);
        self.first_wait.saturating_mul(factor).min(self.max_wait)
    }
}

/// Who asks whom, and how.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) endpoint: String,
    pub(crate) token: Option<Token>,
    pub(crate) retry: Retry,
    pub(crate) progress: Option<Arc<dyn Progress>>,
}

/// A request that may be made more than once.
#[derive(Clone, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) headers: Vec<Header>,
    pub(crate) payload: Payload<'a>,
    pub(crate) place: Place<'a>,
}

/// What a request is about, for errors.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place<'a> {
    pub(crate) repo: Option<&'a RepoId>,
    pub(crate) revision: Option<&'a str>,
    pub(crate) file: Option<&'a str>,
}

/// A body that can be sent again.
#[derive(Clone, Copy)]
pub(crate) enum Payload<'a> {
    Empty,
    Bytes(&'a [u8]),
    /// A part of a file; the function is told how much of it was sent.
    Part {
        path: &'a Path,
        offset: u64,
        len: u64,
        sent: &'a (dyn Fn(u64) + Sync),
        /// Takes what was sent, each byte once however often it was tried.
        hasher: Option<&'a Mutex<Hasher>>,
    },
}

impl std::fmt::Debug for Payload<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Payload")
    }
}

/// Why a try came to nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It may go better next time, after the wait that the Hub asked for.
    Again(Error, Option<Duration>),
    /// It will not.
    Final(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

impl Failure {
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::Again(error, _) | Self::Final(error) => error,
        }
    }
}

impl<'a> Call<'a> {
    pub(crate) fn new(method: Method, url: String, place: Place<'a>) -> Self {
        Self {
            method,
            url,
            headers: Vec::new(),
            payload: Payload::Empty,
            place,
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn payload(mut self, payload: Payload<'a>) -> Self {
        self.payload = payload;
        self
    }

    pub(crate) fn json(self, bytes: &'a [u8]) -> Self {
        self.header("content-type", "application/json")
            .payload(Payload::Bytes(bytes))
    }

    /// Method and path, for errors.
    pub(crate) fn shown(&self) -> String {
        format!("{} {}", self.method.name(), url::shown(&self.url))
    }

    pub(crate) fn protocol(&self, what: impl Into<String>) -> Error {
        Error::from(ErrorKind::Protocol {
            request: self.shown(),
            what: what.into(),
        })
    }

    pub(crate) fn transport_error(&self, error: TransportError) -> Failure {
        let request = self.shown();
        match error {
            TransportError::Timeout => Failure::Again(ErrorKind::Timeout { request }.into(), None),
            TransportError::Broken(what) => {
                Failure::Again(ErrorKind::Network { request, what }.into(), None)
            }
            TransportError::Impossible(what) => {
                Failure::Final(ErrorKind::Network { request, what }.into())
            }
        }
    }
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

    pub(crate) fn tell(&self, event: &Event<'_>) {
        if let Some(progress) = &self.progress {
            progress.on(event);
        }
    }

    /// Whether a URL is on the Hub itself, which alone gets the token.
    fn is_home(&self, url: &str) -> bool {
        url::origin(url).is_some_and(|origin| url::origin(&self.endpoint) == Some(origin))
    }

    /// Makes a request, again where that may help, and reads its reply.
    ///
    /// # Errors
    /// The last failure.
    pub(crate) fn send<T>(
        &self,
        call: &Call<'_>,
        mut read: impl FnMut(Response) -> Result<T, Failure>,
    ) -> Result<T> {
        let mut failures = 0;
        loop {
            let failure = match self.once(call).and_then(&mut read) {
                Ok(read) => return Ok(read),
                Err(failure) => failure,
            };
            failures += 1;
            self.pause(failure, failures)?;
        }
    }

    /// Waits after a failure that may not come again.
    ///
    /// # Errors
    /// The failure, where another try is of no use.
    pub(crate) fn pause(&self, failure: Failure, failures: u32) -> Result<()> {
        let (error, asked) = match failure {
            Failure::Final(error) => return Err(error),
            Failure::Again(error, asked) => (error, asked),
        };
        // Who asks for no wait at all would be asked again at once, each time.
        let wait = self.retry.wait(failures).max(asked.unwrap_or_default());
        if failures >= self.retry.attempts || wait > self.retry.max_wait {
            return Err(error);
        }
        self.note(&format!("{error}; trying again"));
        std::thread::sleep(wait);
        Ok(())
    }

    /// [`send`](Self::send) for a reply in JSON.
    ///
    /// # Errors
    /// As for [`send`](Self::send), and when the reply is something else.
    pub(crate) fn json(&self, call: &Call<'_>) -> Result<Json> {
        self.send(call, |response| json(call, response))
    }

    /// Makes a request once, and follows its redirects.
    ///
    /// # Errors
    /// When there is no reply, or one that refuses.
    pub(crate) fn once(&self, call: &Call<'_>) -> Result<Response, Failure> {
        let first = url::origin(&call.url)
            .ok_or_else(|| call.protocol("the URL is none of `http` or `https`"))?;
        let mut target = call.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut headers = call.headers.clone();
            if url::origin(&target).as_ref() != Some(&first) {
                headers.retain(|(name, _)| !matches!(name.as_ref(), "authorization" | "cookie"));
            }
            let has_own = headers.iter().any(|(name, _)| name == "authorization");
            let token = self
                .token
                .as_ref()
                .filter(|_| !has_own && self.is_home(&target));
            if let Some(token) = token {
                headers.push(("authorization".into(), token.bearer()));
            }
            let mut response = self.carry(call, &target, headers)?;
            let location = response.header("location");
            match (response.status, location) {
                (200..=299, _) => return Ok(response),
                (301 | 302 | 303 | 307 | 308, Some(location)) => {
                    let next = url::join(&target, location).ok_or_else(|| {
                        call.protocol("it is redirected to an address that is not followed")
                    })?;
                    check_redirect(call, response.status, &first, &next)?;
                    if target.starts_with("https:") && !next.starts_with("https:") {
                        return Err(call
                            .protocol("it is redirected away from a secure connection")
                            .into());
                    }
                    target = next;
                }
                _ => return Err(refusal::of(call, &mut response, self.token.as_ref())),
            }
        }
        Err(call.protocol("it is redirected again and again").into())
    }

    fn carry(&self, call: &Call<'_>, url: &str, headers: Vec<Header>) -> Result<Response, Failure> {
        let send = |body: Body<'_>| {
            let request = Request::new(call.method, url.to_owned(), headers, body);
            self.transport
                .send(request)
                .map_err(|error| call.transport_error(error))
        };
        match call.payload {
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
                    told: sent,
                    hasher: hasher.map(|hasher| locked(hasher).clone()),
                };
                let response = send(Body::Reader(&mut counting, len));
                if counting.is_short {
                    let file = path.display().to_string();
                    return Err(Failure::Final(ErrorKind::Changed { file }.into()));
                }
                let response = response?;
                // What is refused or redirected is sent again.
                let is_taken = (200..=299).contains(&response.status);
                if let (true, Some(hasher), Some(sent)) = (is_taken, hasher, counting.hasher) {
                    *locked(hasher) = sent;
                }
                Ok(response)
            }
        }
    }
}

/// Refuses redirects that lose what is sent, or that lead what is for the Hub elsewhere.
fn check_redirect(call: &Call<'_>, status: u16, first: &str, next: &str) -> Result<()> {
    let sends = !matches!(call.method, Method::Get | Method::Head);
    if sends && !matches!(status, 307 | 308) {
        return Err(call.protocol(format!(
            "it is redirected with the status {status}, which drops what is sent"
        )));
    }
    if call.method == Method::Post && url::origin(next).as_deref() != Some(first) {
        return Err(call.protocol("what is sent is redirected to another server"));
    }
    Ok(())
}

/// The reply's body as JSON.
pub(crate) fn json(call: &Call<'_>, mut response: Response) -> Result<Json, Failure> {
    let is_html = response
        .header("content-type")
        .is_some_and(|kind| kind.contains("html"));
    if let Some(coding) = response.header("content-encoding")
        && coding != "identity"
    {
        let what = format!(
            "the reply is packed (`{}`), which was not asked for",
            shown(coding)
        );
        return Err(call.protocol(what).into());
    }
    let mut bytes = Vec::new();
    let mut body = response.body.by_ref().take(MAX_JSON_BYTES + 1);
    body.read_to_end(&mut bytes)
        .map_err(|error| call.transport_error(TransportError::of_read(&error)))?;
    if bytes.len() as u64 > MAX_JSON_BYTES {
        let what = format!("the reply has more than {MAX_JSON_BYTES} bytes");
        return Err(call.protocol(what).into());
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        if is_html || bytes.trim_ascii_start().starts_with(b"<") {
            return call
                .protocol("the server answers with a web page, not with the Hub's JSON")
                .into();
        }
        let may_be_cut = error.is_eof();
        let error = call.protocol(format!("the reply is no JSON: {error}"));
        // A reply without a length may end anywhere.
        match may_be_cut {
            true => Failure::Again(error, None),
            false => Failure::Final(error),
        }
    })
}

/// What a lock guards; a thread that panicked has left it whole.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells how much was read, and fails where it ends too early: a client that promised more would
/// wait for it.
struct Counting<'a, R> {
    inner: R,
    count: u64,
    len: u64,
    /// Whether the file ended too early.
    is_short: bool,
    told: &'a (dyn Fn(u64) + Sync),
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
        (self.told)(self.count);
        Ok(read)
    }
}
