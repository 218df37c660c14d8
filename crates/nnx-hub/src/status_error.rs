//! The error for a status other than success.

use std::time::{Duration, SystemTime};

use crate::api_request::ApiRequest;
use crate::error::{Error, ErrorKind, shown};
use crate::http_date;
use crate::retry::Failure;
use crate::token::Token;
use crate::transport::{Method, Response};

/// The number of bytes of an error reply that are read for its message.
const MAX_BYTES: u64 = 64 << 10;

/// The failure for a reply.
pub(crate) fn status_error(
    request: &ApiRequest<'_>,
    response: &mut Response,
    token: Option<&Token>,
) -> Failure {
    let with_token = token.is_some();
    let status = response.status;
    let code = response.header("x-error-code").map(str::to_owned);
    let asked = retry_after(response);
    // If a server repeats what it received, the error must not contain the token.
    let message = message(response, token);
    let context = request.context;
    let repo = || context.repo.map(ToString::to_string).unwrap_or_default();
    let revision = || context.revision.unwrap_or("main").to_owned();
    let not_found = || ErrorKind::RepositoryNotFound {
        repo: repo(),
        anonymous: !with_token,
    };
    let server = || ErrorKind::Server {
        status,
        request: request.shown(),
        message: message.clone(),
    };
    let kind = match (status, code.as_deref(), context.repo, context.file) {
        (_, Some("GatedRepo"), ..) => ErrorKind::Gated { repo: repo() },
        (_, Some("RepoNotFound"), ..) => not_found(),
        (_, Some("RevisionNotFound"), ..) => ErrorKind::RevisionNotFound {
            repo: repo(),
            revision: revision(),
        },
        (404, code, Some(_), Some(file)) if code.is_none_or(|code| code == "EntryNotFound") => {
            ErrorKind::EntryNotFound {
                repo: repo(),
                revision: revision(),
                file: file.to_owned(),
            }
        }
        (401, ..) if message.contains("Invalid credentials") => ErrorKind::TokenRefused,
        // To a user without access, the Hub does not say which repositories exist.
        (401, _, Some(_), _) if !with_token => not_found(),
        (401, ..) if with_token => ErrorKind::TokenRefused,
        (401, ..) => ErrorKind::TokenMissing,
        (403, ..) => ErrorKind::Forbidden {
            repo: context.repo.map(ToString::to_string),
            writing: !matches!(request.method, Method::Get | Method::Head),
            message,
        },
        (412, _, Some(_), _) => ErrorKind::Conflict { repo: repo() },
        (429, ..) => {
            let error = ErrorKind::RateLimited { retry_after: asked };
            return Failure::Transient(error.into(), asked);
        }
        (408 | 500 | 502 | 503 | 504, ..) => return Failure::Transient(server().into(), asked),
        (404 | 405, None, ..) if is_page(&message) => ErrorKind::Protocol {
            request: request.shown(),
            what: "the server answers with a web page, not with the Hub's JSON".to_owned(),
        },
        _ => server(),
    };
    Failure::Permanent(Error::from(kind))
}

fn is_page(message: &str) -> bool {
    message.starts_with('<')
}

/// The wait that the reply requests: `Retry-After` in seconds or as a date, or the time left in the
/// window of a rate limit.
fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = |text: &str| text.trim().parse().ok().map(Duration::from_secs);
    let until = |text: &str| {
        let then = http_date::parse(text.trim())?;
        // The server's own clock, which may be wrong.
        let now = response.header("date").and_then(http_date::parse);
        let wait = then.duration_since(now.unwrap_or_else(SystemTime::now));
        Some(wait.unwrap_or_default())
    };
    let limit = || {
        let limit = response.header("ratelimit")?;
        limit
            .split([';', ','])
            .find_map(|part| seconds(part.trim().strip_prefix("t=")?))
    };
    response
        .header("retry-after")
        .and_then(|text| seconds(text).or_else(|| until(text)))
        .or_else(limit)
}

/// The message of the Hub, in one line.
fn message(response: &mut Response, token: Option<&Token>) -> String {
    let header = response.header("x-error-message").map(str::to_owned);
    let text = response.text(MAX_BYTES);
    let in_json = || {
        let json: serde_json::Value = serde_json::from_str(&text).ok()?;
        let error = json.get("error").or_else(|| json.get("message"))?;
        Some(error.as_str()?.to_owned())
    };
    let mut said = header.or_else(in_json).unwrap_or(text);
    if let Some(token) = token {
        said = token.hidden_in(&said);
    }
    let words: Vec<&str> = said.split_whitespace().collect();
    match words.as_slice() {
        [] => "it gave no reason".to_owned(),
        words => shown(&words.join(" ")),
    }
}
