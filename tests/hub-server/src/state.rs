//! All that the Hub knows.

use std::collections::BTreeMap;
use std::sync::Mutex;

use bytes::Bytes;

use crate::fault::Fault;
use crate::hash::sha256;
use crate::message::Seen;
use crate::repo::{Entry, Repo};
use crate::xet_store::{Lies, Xet};

/// A token that may write.
pub const WRITE_TOKEN: &str = "hf_test_write_alice";
/// A token that may read.
pub const READ_TOKEN: &str = "hf_test_read_bob";

/// Files that are large whatever their size.
const LARGE: &[&str] = &[".safetensors", ".bin", ".pt"];
/// Files that are large whatever their name.
const LARGE_BYTES: u64 = 10 << 20;

/// The state of the Hub, and the requests so far.
#[derive(Debug, Default)]
pub struct HubState {
    pub(crate) inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
pub(crate) struct Inner {
    /// The two origins, without a slash at their ends.
    pub(crate) hub: String,
    pub(crate) store: String,
    pub(crate) repos: BTreeMap<String, Repo>,
    /// Large files by their SHA-256.
    pub(crate) objects: BTreeMap<String, Bytes>,
    /// Parts of large files that are not whole yet.
    pub(crate) parts: BTreeMap<(String, usize), Bytes>,
    /// Bytes of a part, where large files come in parts.
    pub(crate) part_bytes: Option<usize>,
    /// Rows of a page of a listing.
    pub(crate) page: usize,
    /// The address that a listing names for its next page, where it is not the Hub's own.
    pub(crate) link_host: Option<String>,
    /// Names without an owner, of the time before repositories had one, and the full names.
    pub(crate) canonical: BTreeMap<String, String>,
    pub(crate) xet: Option<Xet>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) seen: Vec<Seen>,
}

impl HubState {
    pub(crate) fn new(hub: String, store: String) -> Self {
        Self {
            inner: Mutex::new(Inner {
                hub,
                store,
                page: 1000,
                ..Inner::default()
            }),
        }
    }

    /// Makes a repository, or adds a commit to it.
    pub fn seed(&self, id: &str, files: &[(&str, &[u8])]) -> String {
        let mut inner = self.inner.lock().unwrap();
        let mut entries = Vec::new();
        for (name, bytes) in files {
            let entry = if is_large(name, bytes.len() as u64) {
                let oid = sha256(bytes);
                inner.objects.insert(oid.clone(), bytes.to_vec().into());
                Entry::Large(oid, bytes.len() as u64)
            } else {
                Entry::Regular(bytes.to_vec())
            };
            entries.push(((*name).to_owned(), entry));
        }
        let repo = inner
            .repos
            .entry(id.to_owned())
            .or_insert_with(|| Repo::new(id, false));
        let mut tree = repo.resolve("main").unwrap().tree.clone();
        tree.extend(entries);
        let oid = repo.add(tree, "seed");
        repo.branches.insert("main".to_owned(), oid.clone());
        oid
    }

    /// Sets who may see a repository, and whether its files are for those who were granted access.
    pub fn set_access(&self, id: &str, private: bool, gated: bool) {
        let mut inner = self.inner.lock().unwrap();
        if let Some(repo) = inner.repos.get_mut(id) {
            (repo.private, repo.gated) = (private, gated);
        }
    }

    /// Forgets a repository and all large files, also those of other repositories.
    pub fn forget(&self, id: &str) {
        let mut inner = self.inner.lock().unwrap();
        inner.repos.remove(id);
        inner.objects.clear();
        inner.parts.clear();
    }

    /// Makes a branch at the commit of `main`.
    pub fn branch(&self, id: &str, name: &str) {
        let mut inner = self.inner.lock().unwrap();
        if let Some(repo) = inner.repos.get_mut(id) {
            let main = repo.branches["main"].clone();
            repo.branches.insert(name.to_owned(), main);
        }
    }

    /// Has large files sent in parts of so many bytes.
    pub fn set_part_bytes(&self, bytes: usize) {
        self.inner.lock().unwrap().part_bytes = Some(bytes);
    }

    /// Sets how many rows a page of a listing has.
    pub fn set_page(&self, rows: usize) {
        self.inner.lock().unwrap().page = rows;
    }

    /// Has listings name another address for their next page, as a mirror does that passes on the
    /// headers of the Hub.
    pub fn set_link_host(&self, host: &str) {
        self.inner.lock().unwrap().link_host = Some(host.to_owned());
    }

    /// Gives a repository a name without an owner, as repositories of the first years have.
    pub fn set_canonical(&self, name: &str, id: &str) {
        let mut inner = self.inner.lock().unwrap();
        inner.canonical.insert(name.to_owned(), id.to_owned());
    }

    /// Gives the next token for the Xet store a time until it expires, in seconds; a negative one has
    /// expired.
    pub fn set_xet_token_time(&self, seconds: i64) {
        self.lie(|lies| lies.valid = Some(seconds));
    }

    /// Names another address for the Xet store.
    pub fn set_xet_address(&self, address: &str) {
        self.lie(|lies| lies.address = Some(address.to_owned()));
    }

    /// Names another hash in the Xet store for all files that lie there.
    pub fn set_xet_hash(&self, hash: &str) {
        self.lie(|lies| lies.hash = Some(hash.to_owned()));
    }

    fn lie(&self, set: impl FnOnce(&mut Lies)) {
        if let Some(xet) = &mut self.inner.lock().unwrap().xet {
            set(&mut xet.lies);
        }
    }

    /// Adds a fault.
    pub fn fault(&self, fault: Fault) {
        self.inner.lock().unwrap().faults.push(fault);
    }

    /// Drops all faults, and forgets what was asked.
    pub fn calm(&self) {
        let mut inner = self.inner.lock().unwrap();
        inner.faults.clear();
        if let Some(xet) = &mut inner.xet {
            xet.lies = Lies::default();
        }
        inner.seen.clear();
    }

    /// The requests since then.
    pub fn seen(&self) -> Vec<Seen> {
        self.inner.lock().unwrap().seen.clone()
    }

    /// The titles of a repository's commits, the first one first; none where there is none.
    pub fn commits(&self, id: &str) -> Vec<String> {
        let inner = self.inner.lock().unwrap();
        let repo = inner.repos.get(id);
        let commits = repo.into_iter().flat_map(|repo| &repo.commits);
        commits.map(|commit| commit.title.clone()).collect()
    }

    /// How many pull requests a repository has.
    pub fn pull_requests(&self, id: &str) -> usize {
        let inner = self.inner.lock().unwrap();
        inner
            .repos
            .get(id)
            .map_or(0, |repo| repo.pull_requests.len())
    }

    /// A repository's files at a revision.
    pub fn files(&self, id: &str, revision: &str) -> BTreeMap<String, Vec<u8>> {
        let inner = self.inner.lock().unwrap();
        let commit = inner.repos.get(id).and_then(|repo| repo.resolve(revision));
        let entries = commit.into_iter().flat_map(|commit| &commit.tree);
        entries
            .map(|(name, entry)| (name.clone(), inner.content(entry).to_vec()))
            .collect()
    }

    /// The hash of a file of a repository in the Xet store, if it is there.
    pub fn xet_hash(&self, id: &str, name: &str) -> Option<String> {
        let inner = self.inner.lock().unwrap();
        let commit = inner.repos.get(id)?.resolve("main")?;
        inner.xet_hash(&commit.tree.get(name)?.etag()).cloned()
    }

    /// Whether a file of a repository is in the store for large ones.
    pub fn is_large(&self, id: &str, name: &str) -> bool {
        let inner = self.inner.lock().unwrap();
        let commit = inner.repos.get(id).and_then(|repo| repo.resolve("main"));
        matches!(
            commit.and_then(|commit| commit.tree.get(name)),
            Some(Entry::Large(..))
        )
    }
}

impl Inner {
    pub(crate) fn content<'a>(&'a self, entry: &'a Entry) -> &'a [u8] {
        match entry {
            Entry::Regular(bytes) => bytes,
            Entry::Large(oid, _) => self.objects.get(oid).map_or(&[], Bytes::as_ref),
        }
    }
}

pub(crate) fn is_large(name: &str, bytes: u64) -> bool {
    bytes > 0 && (bytes > LARGE_BYTES || LARGE.iter().any(|end| name.ends_with(end)))
}
