//! The files of a repository at one commit, in the cache.

use std::path::PathBuf;

use super::Hub;
use super::repository::check_revision;
use crate::cache::RepoCache;
use crate::error::{Error, ErrorKind, Result};
use crate::patterns;
use crate::progress::{Direction, Event};
use crate::repo_id::RepoId;
use crate::safe_path;
use crate::setters::setters;
use crate::tree_entry::TreeEntry;

/// The revision and the files of a request for a repository.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SnapshotOptions {
    /// The branch, tag or commit. Default: `main`.
    pub revision: Option<String>,
    /// Patterns; only files that match at least one are requested. Default: none, and every file
    /// is.
    pub allow_patterns: Option<Vec<String>>,
    /// Patterns of files that are not requested. Default: none.
    pub ignore_patterns: Vec<String>,
    /// Whether files in the cache are downloaded again. Default: `false`.
    pub force_download: bool,
    /// Whether only the cache is used. Default: `false`.
    pub local_files_only: bool,
}

impl SnapshotOptions {
    setters! {
        revision(revision: impl Into<String>) = Some(revision.into());
        allow_patterns(of: impl IntoIterator<Item = impl Into<String>>) = Some(of.into_iter().map(Into::into).collect());
        ignore_patterns(of: impl IntoIterator<Item = impl Into<String>>) = of.into_iter().map(Into::into).collect();
        force_download(force: bool) = force;
        local_files_only(local: bool) = local;
    }

    fn takes(&self, path: &str) -> bool {
        patterns::takes(path, self.allow_patterns.as_deref(), &self.ignore_patterns)
    }
}

/// The requested files of a repository at one commit, in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The folder with the files, in the cache of `huggingface_hub`.
    pub folder: PathBuf,
    /// The commit.
    pub commit: String,
    /// The names of the requested files, sorted. The folder may have more.
    pub files: Vec<String>,
    /// Whether these are known to be all files that were requested. They are not if the network
    /// may not be used and the cache has no listing of the repository, as where `hf_hub_download` of
    /// the Python client has filled it file by file.
    pub known_complete: bool,
}

impl Hub {
    /// Returns a folder with the files of a repository at one commit; files that the cache lacks
    /// are downloaded. The folder is in the cache of `huggingface_hub`, in its layout.
    ///
    /// If only the cache may be used, it must have every requested file. The cache knows the files
    /// of a commit once this client, or version 2 of the Python client, has listed them.
    ///
    /// A file is accepted only if its size and hash are those that the repository states. The
    /// revision is recorded in the cache when all files are there, so that an interrupted download
    /// is never taken for a complete one.
    ///
    /// # Errors
    /// [`ErrorKind::RepositoryNotFound`]; [`ErrorKind::RevisionNotFound`]; [`ErrorKind::Gated`];
    /// [`ErrorKind::Corrupt`]; [`ErrorKind::NotCached`] when only the cache may be used and it
    /// lacks the repository; [`ErrorKind::IncompleteSnapshot`] when some of its files are missing
    /// or damaged; [`ErrorKind::Settings`] when there is no folder for the cache; or an error of
    /// the network or the disk.
    pub fn snapshot(&self, repo: &RepoId, options: &SnapshotOptions) -> Result<PathBuf> {
        Ok(self.snapshot_files(repo, options)?.folder)
    }

    /// [`snapshot`](Self::snapshot) with the names of the files.
    ///
    /// # Errors
    /// As for [`snapshot`](Self::snapshot).
    pub fn snapshot_files(&self, repo: &RepoId, options: &SnapshotOptions) -> Result<Snapshot> {
        let revision = options.revision.as_deref().unwrap_or("main");
        check_revision(revision)?;
        let cache = self.repo_cache(repo)?;
        if self.offline || options.local_files_only {
            let commit = self.cached(repo, revision, &cache)?;
            let takes = |path: &str| options.takes(path);
            let (files, known_complete) =
                self.check_cached(repo, revision, &cache, &commit, &takes)?;
            return Ok(Snapshot {
                folder: cache.snapshot(&commit),
                known_complete,
                commit,
                files,
            });
        }
        let commit = self.repo_info(repo, revision)?.commit;
        let mut entries = self.listed(repo, &commit, &cache)?;
        entries.retain(|entry| options.takes(&entry.path));
        let fetched = self.fetch(repo, &commit, &entries, &cache, options.force_download);
        cache.record_verified();
        fetched?;
        self.note_commit(&cache, revision, &commit)?;
        let folder = cache.snapshot(&commit);
        std::fs::create_dir_all(&folder).map_err(|error| Error::io(&folder, error))?;
        let mut files: Vec<String> = entries.into_iter().map(|entry| entry.path).collect();
        files.sort();
        Ok(Snapshot {
            folder,
            commit,
            files,
            known_complete: true,
        })
    }

    /// Returns the path of one file of a repository in the folder of [`snapshot`](Self::snapshot).
    ///
    /// # Errors
    /// As for [`snapshot`](Self::snapshot), and [`ErrorKind::EntryNotFound`].
    pub fn download(
        &self,
        repo: &RepoId,
        file: &str,
        options: &SnapshotOptions,
    ) -> Result<PathBuf> {
        safe_path::check(file)?;
        let revision = options.revision.as_deref().unwrap_or("main");
        check_revision(revision)?;
        let cache = self.repo_cache(repo)?;
        if self.offline || options.local_files_only {
            let commit = self.cached(repo, revision, &cache)?;
            let (found, is_listed) =
                self.check_cached(repo, revision, &cache, &commit, &|path| path == file)?;
            if !found.is_empty() {
                return Ok(cache.snapshot(&commit).join(file));
            }
            return Err(if is_listed {
                entry_not_found(repo, revision, file)
            } else {
                self.not_cached(repo, revision)
            });
        }
        let commit = self.repo_info(repo, revision)?.commit;
        let mut entries = self.listed(repo, &commit, &cache)?;
        entries.retain(|entry| entry.path == file);
        if entries.is_empty() {
            return Err(entry_not_found(repo, revision, file));
        }
        let fetched = self.fetch(repo, &commit, &entries, &cache, options.force_download);
        cache.record_verified();
        fetched?;
        self.note_commit(&cache, revision, &commit)?;
        Ok(cache.snapshot(&commit).join(file))
    }

    /// The files of a repository at a commit; the cache keeps the listing.
    fn listed(&self, repo: &RepoId, commit: &str, cache: &RepoCache) -> Result<Vec<TreeEntry>> {
        let entries = self.tree(repo, commit)?;
        cache.set_listing(commit, &entries);
        Ok(entries)
    }

    /// Downloads files into the cache and links them into the snapshot.
    fn fetch(
        &self,
        repo: &RepoId,
        commit: &str,
        entries: &[TreeEntry],
        cache: &RepoCache,
        force: bool,
    ) -> Result<()> {
        // Before anything is downloaded: patterns can exclude such a file.
        for entry in entries {
            safe_path::check(&entry.path)?;
        }
        let placed = self.side_by_side(entries, |hub, entry| {
            let stamps = cache.stamps(commit, &entry.path, &entry.digest);
            let is_missing = force || !hub.is_placed(commit, entry, cache)?;
            Ok(is_missing.then_some((entry, stamps)))
        })?;
        let missing: Vec<_> = placed.into_iter().flatten().collect();
        if missing.is_empty() {
            return Ok(());
        }
        self.client.notify(&Event::Planned {
            direction: Direction::Down,
            files: missing.len(),
            bytes: missing.iter().map(|(entry, _)| entry.size).sum(),
        });
        let partial = cache.hashes_of_leftovers();
        let locked = self.side_by_side(&missing, |hub, (entry, stamps)| {
            let lock = cache.lock(&entry.digest)?;
            let has_leftovers = lock.as_ref().is_some_and(|lock| {
                // A process that had the lock may have been stopped with it.
                lock.waited || partial.contains(entry.digest.hex())
            });
            // Another process may have downloaded it in the meantime. A damaged file that nobody
            // wrote since it was hashed need not be hashed again.
            let is_as_before = stamps.iter().any(Option::is_some)
                && cache.stamps(commit, &entry.path, &entry.digest) == *stamps;
            if force || is_as_before || !hub.is_placed(commit, entry, cache)? {
                // Without the lock, another process may still be writing the partial file.
                let leftover = if has_leftovers && !force {
                    cache.leftover(&entry.digest, entry.size)
                } else {
                    None
                };
                let mut file = cache.incomplete(&entry.digest)?;
                hub.download_into(repo, commit, entry, leftover, &mut file)?;
                let stamp = cache.keep(file, &entry.digest)?;
                cache.link(commit, &entry.path, &entry.digest, true)?;
                cache.add_downloaded((commit, &entry.path), &entry.digest, stamp);
            }
            if has_leftovers {
                cache.remove_leftovers(&entry.digest);
            }
            Ok(lock.is_some())
        })?;
        if locked.contains(&false) {
            self.client.note(
                "the cache cannot be locked here; another process may have downloaded the same \
                 files",
            );
        }
        Ok(())
    }

    /// Whether the snapshot has a file; a file of the cache is linked into it first.
    fn is_placed(&self, commit: &str, entry: &TreeEntry, cache: &RepoCache) -> Result<bool> {
        let TreeEntry {
            path, digest, size, ..
        } = entry;
        if cache.has(digest, Some(*size))? {
            cache.link(commit, path, digest, false)?;
            return Ok(true);
        }
        // Without links, the snapshot contains the file itself.
        cache.has_copy(commit, path, (digest, *size))
    }

    /// Records in the cache which commit a revision is, for a later call without the network.
    fn note_commit(&self, cache: &RepoCache, revision: &str, commit: &str) -> Result<()> {
        if !cache.set_commit(revision, commit)? {
            self.client.note(&format!(
                "the cache cannot note that `{revision}` is the commit `{commit}`; without the \
                 network, ask for the commit"
            ));
        }
        Ok(())
    }

    /// The commit of a revision, if the cache has files of it.
    fn cached(&self, repo: &RepoId, revision: &str, cache: &RepoCache) -> Result<String> {
        let commit = cache.commit_of(revision);
        commit
            .filter(|commit| cache.snapshot(commit).is_dir())
            .ok_or_else(|| self.not_cached(repo, revision))
    }

    /// Checks that the cache has the requested files. Returns their names, sorted, and whether it
    /// has the listing of the commit.
    fn check_cached(
        &self,
        repo: &RepoId,
        revision: &str,
        cache: &RepoCache,
        commit: &str,
        takes: &dyn Fn(&str) -> bool,
    ) -> Result<(Vec<String>, bool)> {
        let listing = cache.listing(commit);
        let is_listed = listing.is_some();
        let entries = match listing {
            Some(entries) => entries
                .into_iter()
                .map(|entry| (entry.path, Some((entry.digest, entry.size))))
                .collect(),
            None => {
                self.client.note(&format!(
                    "the cache does not know which files `{repo}` has at `{revision}`: the files \
                     that it has are used, and are not known to be complete"
                ));
                let names = cache.names(commit)?.into_iter();
                names.map(|name| (name, None)).collect::<Vec<_>>()
            }
        };
        let wanted: Vec<_> = entries
            .into_iter()
            .filter(|(name, _)| takes(name))
            .collect();
        let checked = self.side_by_side(&wanted, |_, (name, known)| {
            let known = known.as_ref().map(|(digest, bytes)| (digest, *bytes));
            let is_there = cache.holds(commit, name, known)?;
            Ok((!is_there).then(|| name.clone()))
        });
        cache.record_verified();
        let missing: Vec<String> = checked?.into_iter().flatten().collect();
        if missing.is_empty() {
            let mut names: Vec<String> = wanted.into_iter().map(|(name, _)| name).collect();
            names.sort();
            Ok((names, is_listed))
        } else {
            Err(Error::from(ErrorKind::IncompleteSnapshot {
                repo: repo.to_string(),
                revision: revision.to_owned(),
                missing,
            }))
        }
    }

    #[cold]
    fn not_cached(&self, repo: &RepoId, revision: &str) -> Error {
        Error::from(ErrorKind::NotCached {
            repo: repo.to_string(),
            revision: revision.to_owned(),
            cache: self.cache_dir.clone().unwrap_or_default(),
        })
    }
}

#[cold]
pub(super) fn entry_not_found(repo: &RepoId, revision: &str, file: &str) -> Error {
    Error::from(ErrorKind::EntryNotFound {
        repo: repo.to_string(),
        revision: revision.to_owned(),
        file: file.to_owned(),
    })
}
