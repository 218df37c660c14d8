//! The error type of the crate.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nnx_checkpoint::StateDictMismatch;

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of a model's own code; `?` converts any error into it.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// An error; one word wide, so that results stay small.
///
/// [`kind`](Error::kind) gives the cause. Its text never contains a token or a signed URL.
#[derive(Debug)]
pub struct Error(Box<ErrorKind>);

/// The causes that a caller handles differently.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A model folder lacks a required file.
    #[error("`{}` has no `{file}`; {hint}", folder.display())]
    MissingFile {
        /// The folder.
        folder: PathBuf,
        /// The name of the file, or of the files one of which is needed.
        file: String,
        /// The advice to the user.
        hint: &'static str,
    },
    /// `config.json` is not a valid configuration of the model.
    #[error("`{}`: {what}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// The problem, with the key where there is one.
        what: String,
    },
    /// The weights cannot be read or written.
    #[error(transparent)]
    Weights(#[from] nnx_checkpoint::Error),
    /// The weights do not fit the model.
    #[error("the weights do not fit the model: {0}")]
    Mismatch(StateDictMismatch),
    /// The model's own code failed.
    #[error("{0}")]
    Model(BoxError),
    /// The model does not know an option.
    #[error("there is no option `{option}`; {}", known_options(known))]
    UnknownOption {
        /// The option.
        option: String,
        /// The options that the model knows.
        known: Vec<String>,
    },
    /// A file name would lead out of its folder or repository.
    #[error("`{path}` is not the name of a file in its folder: {why}")]
    UnsafePath {
        /// The name.
        path: String,
        /// The reason why it is unsafe.
        why: &'static str,
    },
    /// The text is neither a repository id nor the path of a folder.
    #[error("`{id}` is neither an existing folder nor a repository id: {why}")]
    RepoId {
        /// The given text.
        id: String,
        /// The rule that the text breaks.
        why: &'static str,
    },
    /// The text cannot be a branch, tag or commit.
    #[error("`{revision}` is not a revision: {why}")]
    Revision {
        /// The given text.
        revision: String,
        /// The rule that the text breaks.
        why: &'static str,
    },
    /// The repository does not exist, or the owner of the token may not see it.
    #[error(
        "there is no repository `{repo}`; {}",
        if *anonymous {
            "if it is private, log in with `hf auth login` or set `HF_TOKEN`"
        } else {
            "check the name, and that the token may read it if it is private"
        }
    )]
    RepositoryNotFound {
        /// The repository.
        repo: String,
        /// Whether the request had no token.
        anonymous: bool,
    },
    /// The repository exists, but the branch, tag or commit does not.
    #[error(
        "the repository `{repo}` has no revision `{revision}`; list its branches on its page, or leave the revision out for `main`"
    )]
    RevisionNotFound {
        /// The repository.
        repo: String,
        /// The revision.
        revision: String,
    },
    /// The repository and the revision exist, but the file does not.
    #[error("the repository `{repo}` has no file `{file}` at `{revision}`")]
    EntryNotFound {
        /// The repository.
        repo: String,
        /// The revision.
        revision: String,
        /// The file.
        file: String,
    },
    /// The files of the repository are only for accounts that were granted access.
    #[error(
        "the files of `{repo}` are gated: ask for access on its page, then use a token of that account"
    )]
    Gated {
        /// The repository.
        repo: String,
    },
    /// The Hub does not know the token.
    #[error(
        "the Hub does not accept the token; log in again with `hf auth login`, or correct `HF_TOKEN`"
    )]
    TokenRefused,
    /// The call needs a token, and there is none.
    #[error("the call needs a token; log in with `hf auth login`, or set `HF_TOKEN`")]
    TokenMissing,
    /// The token is valid, but does not allow the request.
    #[error(
        "not allowed{}: {message}; use a token with the permission to {}",
        in_repo(repo.as_deref()),
        if *writing { "write" } else { "read it" }
    )]
    Forbidden {
        /// The repository, if the request names one.
        repo: Option<String>,
        /// Whether the request changes something.
        writing: bool,
        /// The message of the Hub.
        message: String,
    },
    /// Too many requests.
    #[error("too many requests: the Hub asks to wait{}", wait(*retry_after))]
    RateLimited {
        /// How long, if the Hub said.
        retry_after: Option<Duration>,
    },
    /// The Hub answered with a status that has no other kind.
    #[error("the Hub answered {status} to `{request}`: {message}")]
    Server {
        /// The HTTP status.
        status: u16,
        /// Method and path of the request, without its query.
        request: String,
        /// The message of the Hub.
        message: String,
    },
    /// The server does not speak the Hub's protocol.
    #[error(
        "`{request}`: {what}; check the endpoint (`HF_ENDPOINT`), and that no proxy or login page is in between"
    )]
    Protocol {
        /// Method and path of the request, without its query.
        request: String,
        /// The problem with the request or its reply.
        what: String,
    },
    /// The server cannot be reached, or the connection broke in every attempt.
    #[error("`{request}`: {what}")]
    Network {
        /// Method and path of the request, without its query.
        request: String,
        /// An event of a transfer.
        what: String,
    },
    /// The server sent nothing for too long.
    #[error("`{request}`: no answer within the time allowed")]
    Timeout {
        /// Method and path of the request, without its query.
        request: String,
    },
    /// Two downloads of a file did not match the size and hash that the repository states.
    #[error(
        "two downloads of `{file}` were damaged: expected {expected}, got {found}; nothing was kept, download it again later"
    )]
    Corrupt {
        /// The file.
        file: String,
        /// The size and hash that the repository states.
        expected: String,
        /// The size and hash of the bytes that arrived.
        found: String,
    },
    /// Only the cache may be used, and it lacks the repository.
    #[error("`{repo}` at `{revision}` is not in the cache `{}`, and only local files may be used; download it once with the network, or unset `HF_HUB_OFFLINE`", cache.display())]
    NotCached {
        /// The repository.
        repo: String,
        /// The revision.
        revision: String,
        /// The cache.
        cache: PathBuf,
    },
    /// Only the cache may be used, and it has only some of the files.
    #[error(
        "the cache has `{repo}` at `{revision}` only in part: {} missing or damaged ({}), and only local files may be used; download it once with the network, or unset `HF_HUB_OFFLINE`",
        match missing.len() { 1 => "a file is".to_owned(), more => format!("{more} files are") },
        first_of(missing)
    )]
    IncompleteSnapshot {
        /// The repository.
        repo: String,
        /// The revision.
        revision: String,
        /// The names of the files.
        missing: Vec<String>,
    },
    /// The call needs the network, which may not be used.
    #[error("{what} needs the network, and only local files may be used; unset `HF_HUB_OFFLINE`")]
    Offline {
        /// The purpose of the call, such as `uploading`.
        what: &'static str,
    },
    /// Another commit was made in the meantime.
    #[error("`{repo}` changed while the upload was made; nothing was committed, upload again")]
    Conflict {
        /// The repository.
        repo: String,
    },
    /// The reply to a commit was lost, and it is unknown whether the commit was made.
    #[error(
        "the reply to the commit was lost, and it is unknown whether `{repo}` has it; look at its page before you upload again"
    )]
    CommitUnknown {
        /// The repository.
        repo: String,
    },
    /// `.gitignore` keeps weights out of the repository.
    #[error(
        "nothing was uploaded to `{repo}`, because its `.gitignore` ignores weights: {}; remove them from `.gitignore`, or allow weights to be ignored",
        first_of(files)
    )]
    WeightsIgnored {
        /// The repository.
        repo: String,
        /// The names of all ignored files that hold weights.
        files: Vec<String>,
    },
    /// A local file changed while it was uploaded.
    #[error("`{file}` changed while it was uploaded; upload again")]
    Changed {
        /// The file.
        file: String,
    },
    /// A folder has weights or a configuration of another version beside the files that are copied.
    #[error(
        "nothing was copied, because `{}` has files of another version beside the new ones: {}; copy all files of the version, or remove these",
        folder.display(),
        first_of(files)
    )]
    OtherVersion {
        /// The folder.
        folder: PathBuf,
        /// The names of the files of another version.
        files: Vec<String>,
    },
    /// The crate was built without the feature that the call needs.
    #[error(
        "{what} needs the feature `{feature}` of nnx-hub, which this program was built without; add to Cargo.toml: nnx-hub = {{ version = \"{version}\", features = [\"{feature}\"] }}",
        version = env!("CARGO_PKG_VERSION")
    )]
    FeatureMissing {
        /// The purpose of the call, such as `reaching the Hub`.
        what: &'static str,
        /// The feature.
        feature: &'static str,
    },
    /// A setting is not usable.
    #[error("{what}")]
    Settings {
        /// The problem and its remedy.
        what: String,
    },
    /// The operating system returned an error.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

fn known_options(known: &[String]) -> String {
    match known {
        [] => "the model takes none".to_owned(),
        _ => format!("the model takes `{}`", known.join("`, `")),
    }
}

/// Names that a message lists.
const SHOWN_NAMES: usize = 3;

fn first_of(names: &[String]) -> String {
    let first = names.iter().take(SHOWN_NAMES);
    let mut first: Vec<String> = first.map(|name| format!("`{}`", shown(name))).collect();
    if let Some(more @ 1..) = names.len().checked_sub(SHOWN_NAMES) {
        first.push(format!("{more} more"));
    }
    first.join(", ")
}

/// Characters of a text from outside that a message shows.
const SHOWN_CHARACTERS: usize = 300;

/// A text from outside as a message shows it: control characters are escaped, and a long text is
/// cut.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::new();
    for (index, character) in text.chars().enumerate() {
        if index == SHOWN_CHARACTERS {
            out.push('…');
            break;
        }
        if character.is_control() {
            out.extend(character.escape_default())
        } else {
            out.push(character)
        }
    }
    out
}

fn in_repo(repo: Option<&str>) -> String {
    repo.map(|repo| format!(" in `{repo}`")).unwrap_or_default()
}

fn wait(time: Option<Duration>) -> String {
    let time = time.filter(|time| !time.is_zero());
    time.map(|time| format!(" {} s", time.as_secs()))
        .unwrap_or_default()
}

impl ErrorKind {
    /// The stable name of the kind in `snake_case`, for scripts. An error of the weights has the
    /// name that nnx-checkpoint gives it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::MissingFile { .. } => "missing_file",
            Self::Config { .. } => "config",
            Self::Weights(error) => error.kind().name(),
            Self::Mismatch(_) => "mismatch",
            Self::Model(_) => "model",
            Self::UnknownOption { .. } => "unknown_option",
            Self::UnsafePath { .. } => "unsafe_path",
            Self::RepoId { .. } => "repo_id",
            Self::Revision { .. } => "revision",
            Self::RepositoryNotFound { .. } => "repository_not_found",
            Self::RevisionNotFound { .. } => "revision_not_found",
            Self::EntryNotFound { .. } => "entry_not_found",
            Self::Gated { .. } => "gated",
            Self::TokenRefused => "token_refused",
            Self::TokenMissing => "token_missing",
            Self::Forbidden { .. } => "forbidden",
            Self::RateLimited { .. } => "rate_limited",
            Self::Server { .. } => "server",
            Self::Protocol { .. } => "protocol",
            Self::Network { .. } => "network",
            Self::Timeout { .. } => "timeout",
            Self::Corrupt { .. } => "corrupt",
            Self::NotCached { .. } => "not_cached",
            Self::IncompleteSnapshot { .. } => "incomplete_snapshot",
            Self::Offline { .. } => "offline",
            Self::Conflict { .. } => "conflict",
            Self::CommitUnknown { .. } => "commit_unknown",
            Self::WeightsIgnored { .. } => "weights_ignored",
            Self::Changed { .. } => "changed",
            Self::OtherVersion { .. } => "other_version",
            Self::FeatureMissing { .. } => "feature_missing",
            Self::Settings { .. } => "settings",
            Self::Io { .. } => "io",
        }
    }
}

impl Error {
    /// The cause.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// The name of the cause: [`ErrorKind::name`].
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// The cause, owned.
    pub fn into_kind(self) -> ErrorKind {
        *self.0
    }

    /// An error of the operating system about a path.
    #[cold]
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::from(ErrorKind::Io {
            path: path.to_path_buf(),
            source,
        })
    }

    /// An error of a model's own code; an error of this crate that the code only passed on is
    /// unchanged.
    #[cold]
    pub(crate) fn model(error: BoxError) -> Self {
        match error.downcast::<Self>() {
            Ok(own) => *own,
            Err(error) => match error.downcast::<nnx_checkpoint::Error>() {
                Ok(weights) => Self::from(ErrorKind::Weights(*weights)),
                Err(error) => Self::from(ErrorKind::Model(error)),
            },
        }
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }
}

impl From<nnx_checkpoint::Error> for Error {
    fn from(error: nnx_checkpoint::Error) -> Self {
        Self::from(ErrorKind::Weights(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            ErrorKind::Model(error) => Some(&**error),
            ErrorKind::Io { source, .. } => Some(source),
            kind => kind.source(),
        }
    }
}
