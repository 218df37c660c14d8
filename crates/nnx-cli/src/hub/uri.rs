//! `hf://owner/name[@revision][/file]`: a path on the Hub. The file may be a folder.

use std::borrow::Cow;
use std::path::Path;

use crate::failure::Failure;
use crate::remote::{Remote, file_url_path};

/// The prefix of such a path.
const SCHEME: &str = "hf://";

/// The path on this machine. A file or a folder on the Hub is downloaded into the cache first, and
/// a `file://` URL is decoded; a path on the disk is returned as it is.
///
/// # Errors
/// When the text is not a valid path on the Hub or of a file, or the download fails.
pub(crate) fn local(path: &Path) -> Result<Cow<'_, Path>, Failure> {
    match path.to_str().and_then(|path| path.strip_prefix(SCHEME)) {
        None => file_url_path(path),
        Some(path) => remote::download(path).map(Cow::Owned),
    }
}

/// Whether a path is on the Hub.
pub(crate) fn is_remote(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.starts_with(SCHEME))
}

/// The repository of a path on the Hub as a folder that is read by range, and the file in it; `None`
/// for any other path, and without the network.
///
/// # Errors
/// When the text is not a valid path on the Hub, or the repository cannot be listed.
pub(crate) fn folder(path: &Path) -> Result<Option<Remote>, Failure> {
    match path.to_str().and_then(|path| path.strip_prefix(SCHEME)) {
        Some(path) => remote::folder(path),
        None => Ok(None),
    }
}

#[cfg(feature = "hub")]
mod remote {
    use std::path::PathBuf;

    use nnx::checkpoint::{Folder, WeightsName};
    use nnx::hub::{Error, ErrorKind, Hub, RepoId, Settings, SnapshotOptions};

    use super::SCHEME;
    use crate::failure::Failure;
    use crate::hub::transfer;
    use crate::remote::Remote;

    /// The parts of a path on the Hub.
    #[derive(Debug, PartialEq)]
    pub(super) struct RepoPath {
        pub(super) repo: RepoId,
        pub(super) revision: Option<String>,
        pub(super) file: Option<String>,
    }

    pub(super) fn download(text: &str) -> Result<PathBuf, Failure> {
        let path = RepoPath::parse(text)?;
        let mut options = SnapshotOptions::default();
        options.revision.clone_from(&path.revision);
        let hub = transfer::hub(None)?;
        let found = match &path.file {
            // The files that an index names are in its folder.
            Some(file) if WeightsName::is_index(file) => hub
                .snapshot(&path.repo, &options)
                .map(|folder| folder.join(file)),
            Some(file) => match hub.download(&path.repo, file, &options) {
                Err(error) if matches!(error.kind(), ErrorKind::EntryNotFound { .. }) => {
                    folder_of(&hub, &path.repo, file, options).unwrap_or(Err(error))
                }
                done => done,
            },
            None => hub.snapshot(&path.repo, &options),
        };
        found.map_err(|error| path.failure(&hub, text, error))
    }

    /// The folder of that name in a repository, in the cache; `None` if no file is in it.
    fn folder_of(
        hub: &Hub,
        repo: &RepoId,
        name: &str,
        options: SnapshotOptions,
    ) -> Option<nnx::hub::Result<PathBuf>> {
        let options = options.allow_patterns([format!("{name}/")]);
        match hub.snapshot_files(repo, &options) {
            Ok(snapshot) if snapshot.files.is_empty() => None,
            done => Some(done.map(|snapshot| snapshot.folder.join(name))),
        }
    }

    pub(super) fn folder(text: &str) -> Result<Option<Remote>, Failure> {
        let path = RepoPath::parse(text)?;
        // Without the network only the cache can be used.
        if Settings::from_env()?.offline {
            return Ok(None);
        }
        let revision = path.revision.as_deref().unwrap_or("main");
        let hub = Hub::from_env()?;
        let folder = hub.folder(&path.repo, revision);
        let folder = folder.map_err(|error| path.failure(&hub, text, error))?;
        let Some(file) = &path.file else {
            return Ok(Some(Remote::on_hub(folder, None)));
        };
        if let Some(folder) = folder.below(file) {
            return Ok(Some(Remote::on_hub(folder, None)));
        }
        if !folder.has_file(file)? {
            // The Hub tells what is wrong.
            let opened = hub.open(&path.repo, revision, file);
            opened.map_err(|error| path.failure(&hub, text, error))?;
        }
        // The files that an index names are in its folder.
        let parts = file.rsplit_once('/');
        let below = parts.and_then(|(below, name)| Some((folder.below(below)?, name)));
        Ok(Some(match below {
            Some((below, name)) => Remote::on_hub(below, Some(name)),
            None => Remote::on_hub(folder, Some(file)),
        }))
    }

    impl RepoPath {
        /// An error of the Hub as an error of the command. If the repository does not exist, the
        /// path may have another meaning: the oldest repositories have no owner, so the first part
        /// of `hf://gpt2/config.json` is the whole name of the repository.
        fn failure(&self, hub: &Hub, text: &str, error: Error) -> Failure {
            let ErrorKind::RepositoryNotFound { .. } = error.kind() else {
                return error.into();
            };
            match self.other_reading(hub, text) {
                Some(what) => Failure::new(error.kind().name(), what),
                None => error.into(),
            }
        }

        /// The message for a path whose first part is the whole name of a repository; `None` if
        /// there is no such repository.
        fn other_reading(&self, hub: &Hub, text: &str) -> Option<String> {
            let owner = self.repo.owner()?;
            let full = hub.repo_info(&RepoId::parse(owner).ok()?, "main").ok()?.id;
            let (_, file) = text.split_once('/')?;
            Some(format!(
                "`{SCHEME}{text}` has two readings: the repository `{}`, which does not exist, and \
                 `{file}` in the repository `{owner}`, whose full name is `{full}`; write \
                 `{SCHEME}{full}/{file}` for that",
                self.repo
            ))
        }

        pub(super) fn parse(text: &str) -> Result<Self, Failure> {
            let malformed = || {
                Failure::usage(&format!(
                    "a path on the Hub is `hf://owner/name[@revision][/file]`, got `{SCHEME}{text}`"
                ))
            };
            let (owner, rest) = text.split_once('/').ok_or_else(malformed)?;
            let (mut name, mut file) = match rest.split_once('/') {
                Some((name, file)) => (name, Some(file)),
                None => (rest, None),
            };
            let mut revision = None;
            if let Some((before, after)) = name.split_once('@') {
                name = before;
                revision = Some(after.replace("%2F", "/"));
                // The revision of a pull request is `refs/pr/` and a number.
                if let Some(rest) = file.and_then(|file| file.strip_prefix("pr/"))
                    && after == "refs"
                {
                    let (number, rest) = match rest.split_once('/') {
                        Some((number, rest)) => (number, Some(rest)),
                        None => (rest, None),
                    };
                    revision = Some(format!("refs/pr/{number}"));
                    file = rest;
                }
            }
            let file = file.map(|file| file.trim_end_matches('/'));
            let file = file.filter(|file| !file.is_empty()).map(str::to_owned);
            if revision.as_deref() == Some("") {
                return Err(malformed());
            }
            Ok(Self {
                repo: RepoId::parse(&format!("{owner}/{name}"))?,
                revision,
                file,
            })
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_parts_of_a_path() {
            let check = |text: &str, repo: &str, revision: Option<&str>, file: Option<&str>| {
                let path = RepoPath::parse(text).expect(text);
                assert_eq!(path.repo.as_str(), repo, "{text}");
                assert_eq!(path.revision.as_deref(), revision, "{text}");
                assert_eq!(path.file.as_deref(), file, "{text}");
            };
            check("a/b", "a/b", None, None);
            check("a/b/", "a/b", None, None);
            check("a/b/c/d.pt", "a/b", None, Some("c/d.pt"));
            check("a/b/c/", "a/b", None, Some("c"));
            check("a/b@v1/c", "a/b", Some("v1"), Some("c"));
            check("a/b@refs%2Fpr%2F1/c", "a/b", Some("refs/pr/1"), Some("c"));
            check("a/b@refs/pr/1/c/d", "a/b", Some("refs/pr/1"), Some("c/d"));
            check("a/b@refs/pr/1", "a/b", Some("refs/pr/1"), None);
            check("a/b@feat%2Fx/c", "a/b", Some("feat/x"), Some("c"));
            for wrong in ["", "a", "a/", "/b", "a/b@/c", "a b/c"] {
                assert!(RepoPath::parse(wrong).is_err(), "{wrong}");
            }
        }
    }
}

#[cfg(not(feature = "hub"))]
mod remote {
    use std::path::PathBuf;

    use super::SCHEME;
    use crate::failure::Failure;
    use crate::remote::Remote;

    fn missing(path: &str) -> Failure {
        Failure::missing_feature(&format!("`{SCHEME}{path}`"), "the Hub", "hub")
    }

    pub(super) fn download(path: &str) -> Result<PathBuf, Failure> {
        Err(missing(path))
    }

    pub(super) fn folder(path: &str) -> Result<Option<Remote>, Failure> {
        Err(missing(path))
    }
}
