//! A repository: commits, and the references to them.

use std::collections::BTreeMap;

use crate::hash::{git_blob, sha1};

/// A file in a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Regular(Vec<u8>),
    /// By its SHA-256; the bytes are in the store.
    Large(String, u64),
}

impl Entry {
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Regular(bytes) => bytes.len() as u64,
            Self::Large(_, size) => *size,
        }
    }

    /// Git's name for it; of a large file, that of the pointer in its place.
    pub(crate) fn oid(&self) -> String {
        match self {
            Self::Regular(bytes) => git_blob(bytes),
            Self::Large(sha256, size) => git_blob(pointer(sha256, *size).as_bytes()),
        }
    }

    /// The `ETag` of its resolved URL.
    pub(crate) fn etag(&self) -> String {
        match self {
            Self::Regular(bytes) => git_blob(bytes),
            Self::Large(sha256, _) => sha256.clone(),
        }
    }
}

pub(crate) fn pointer(sha256: &str, size: u64) -> String {
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n")
}

pub(crate) type Tree = BTreeMap<String, Entry>;

#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) oid: String,
    pub(crate) tree: Tree,
    pub(crate) title: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Repo {
    pub(crate) id: String,
    pub(crate) private: bool,
    pub(crate) gated: bool,
    pub(crate) commits: Vec<Commit>,
    pub(crate) branches: BTreeMap<String, String>,
    pub(crate) pull_requests: BTreeMap<usize, String>,
}

impl Repo {
    pub(crate) fn new(id: &str, private: bool) -> Self {
        let mut repo = Self {
            id: id.to_owned(),
            private,
            gated: false,
            commits: Vec::new(),
            branches: BTreeMap::new(),
            pull_requests: BTreeMap::new(),
        };
        let attributes = Entry::Regular(ATTRIBUTES.as_bytes().to_vec());
        let tree = Tree::from([(".gitattributes".to_owned(), attributes)]);
        let first = repo.add(tree, "initial commit");
        repo.branches.insert("main".to_owned(), first);
        repo
    }

    /// Adds a commit and gives its name.
    pub(crate) fn add(&mut self, tree: Tree, title: &str) -> String {
        let text = format!("{}{}{title}{tree:?}", self.id, self.commits.len());
        let oid = sha1(text.as_bytes());
        self.commits.push(Commit {
            oid: oid.clone(),
            tree,
            title: title.to_owned(),
        });
        oid
    }

    pub(crate) fn resolve(&self, revision: &str) -> Option<&Commit> {
        let pull_request = || {
            let number = revision.strip_prefix("refs/pr/")?.parse().ok()?;
            self.pull_requests.get(&number).map(String::as_str)
        };
        let oid = self
            .branches
            .get(revision.strip_prefix("refs/heads/").unwrap_or(revision))
            .map(String::as_str)
            .or_else(pull_request)
            .unwrap_or(revision);
        self.commits.iter().find(|commit| commit.oid == oid)
    }
}

const ATTRIBUTES: &str = "*.safetensors filter=lfs diff=lfs merge=lfs -text\n\
                          *.bin filter=lfs diff=lfs merge=lfs -text\n\
                          *.pt filter=lfs diff=lfs merge=lfs -text\n";
