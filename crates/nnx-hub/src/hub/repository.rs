//! Repositories as a whole, and who asks.

use serde_json::{Value as Json, json};

use super::Hub;
use crate::digest::is_hex;
use crate::error::{Error, ErrorKind, Result, shown};
use crate::exchange::{Call, Place};
use crate::repo_id::RepoId;
use crate::transport::Method;
use crate::url::escape;

/// Who a token belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// The account's name.
    pub name: String,
    /// The organizations it belongs to.
    pub organizations: Vec<String>,
    /// What the token may do, such as `write`, where the Hub says so.
    pub role: Option<String>,
}

/// A repository at a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepoInfo {
    /// The repository's name, which is another one than was asked for where it was renamed.
    pub id: String,
    /// The commit that the revision stands for.
    pub commit: String,
    /// Whether others may see it.
    pub private: bool,
}

impl Hub {
    /// Who the token belongs to.
    ///
    /// # Errors
    /// [`ErrorKind::TokenMissing`], [`ErrorKind::TokenRefused`], or what goes wrong on the way.
    pub fn whoami(&self) -> Result<Identity> {
        self.need_network("asking who the token belongs to")?;
        if self.client.token.is_none() {
            return Err(Error::from(ErrorKind::TokenMissing));
        }
        let url = self.client.url("/api/whoami-v2");
        let call = Call::new(Method::Get, url, Place::default());
        let json = self.client.json(&call)?;
        let organizations = json.get("orgs").and_then(Json::as_array);
        let organizations = organizations.into_iter().flatten();
        Ok(Identity {
            name: text(&call, &json, "name")?,
            organizations: organizations
                .filter_map(|org| Some(org.get("name")?.as_str()?.to_owned()))
                .collect(),
            role: json
                .pointer("/auth/accessToken/role")
                .and_then(Json::as_str)
                .map(str::to_owned),
        })
    }

    /// A repository at a revision: a branch, a tag or a commit.
    ///
    /// # Errors
    /// [`ErrorKind::RepositoryNotFound`], [`ErrorKind::RevisionNotFound`],
    /// [`ErrorKind::Gated`], or what goes wrong on the way.
    pub fn repo_info(&self, repo: &RepoId, revision: &str) -> Result<RepoInfo> {
        self.need_network("looking at a repository")?;
        check_revision(revision)?;
        let path = format!("/api/models/{repo}/revision/{}", escape(revision, false));
        let place = Place {
            repo: Some(repo),
            revision: Some(revision),
            file: None,
        };
        let call = Call::new(Method::Get, self.client.url(&path), place);
        let json = self.client.json(&call)?;
        let commit = text(&call, &json, "sha")?;
        if !is_hex(&commit, 40) {
            return Err(call.protocol(format!("expected a commit of 40 digits, got `{commit}`")));
        }
        // Whoever asks for a commit must not be given another one.
        if is_hex(revision, 40) && commit != revision {
            return Err(call.protocol(format!("expected the commit `{revision}`, got `{commit}`")));
        }
        Ok(RepoInfo {
            id: text(&call, &json, "id").unwrap_or_else(|_| repo.to_string()),
            commit,
            private: json.get("private").and_then(Json::as_bool) == Some(true),
        })
    }

    /// Makes a repository, unless it is there, and gives its full name.
    ///
    /// # Errors
    /// [`ErrorKind::TokenMissing`], [`ErrorKind::Forbidden`], or what goes wrong on the way.
    pub fn create_repo(&self, repo: &RepoId, private: Option<bool>) -> Result<RepoId> {
        self.need_network("making a repository")?;
        if self.client.token.is_none() {
            return Err(Error::from(ErrorKind::TokenMissing));
        }
        let mut body = json!({ "name": repo.name(), "type": "model" });
        if let Some(owner) = repo.owner() {
            body["organization"] = owner.into();
        }
        if let Some(private) = private {
            body["private"] = private.into();
            body["visibility"] = if private { "private" } else { "public" }.into();
        }
        let body = body.to_string().into_bytes();
        let place = Place {
            repo: Some(repo),
            ..Place::default()
        };
        let url = self.client.url("/api/repos/create");
        let call = Call::new(Method::Post, url, place).json(&body);
        let error = match self.client.json(&call) {
            Ok(json) => return self.full_name(repo, &json),
            Err(error) => error,
        };
        match error.kind() {
            ErrorKind::Server { status: 409, .. } => self.existing(repo),
            // A token that may write to the repository need not be allowed to make it.
            ErrorKind::Forbidden { .. } if repo.owner().is_some() => {
                self.repo_info(repo, "main").map_err(|_| error)?;
                Ok(repo.clone())
            }
            _ => Err(error),
        }
    }

    /// The name in the reply to a repository that was made.
    fn full_name(&self, repo: &RepoId, json: &Json) -> Result<RepoId> {
        let url = json.get("url").and_then(Json::as_str).unwrap_or_default();
        let path = url.strip_prefix(self.endpoint()).unwrap_or_default();
        RepoId::parse(path.trim_start_matches('/')).or_else(|_| self.existing(repo))
    }

    /// The full name of a repository that is there; one without an owner is that of the token's.
    fn existing(&self, repo: &RepoId) -> Result<RepoId> {
        match repo.owner() {
            Some(_) => Ok(repo.clone()),
            None => RepoId::parse(&format!("{}/{repo}", self.whoami()?.name)),
        }
    }

    /// Makes a branch of a repository, at a revision of it; one that is there stays as it is.
    ///
    /// # Errors
    /// [`ErrorKind::RevisionNotFound`], [`ErrorKind::Forbidden`], or what goes wrong on the way.
    pub fn create_branch(&self, repo: &RepoId, branch: &str, at: &str) -> Result<()> {
        self.need_network("making a branch")?;
        check_revision(branch)?;
        let commit = self.repo_info(repo, at)?.commit;
        let body = json!({ "startingPoint": commit }).to_string().into_bytes();
        let path = format!("/api/models/{repo}/branch/{}", escape(branch, false));
        let place = Place {
            repo: Some(repo),
            revision: Some(branch),
            file: None,
        };
        let call = Call::new(Method::Post, self.client.url(&path), place).json(&body);
        match self.client.send(&call, |_| Ok(())) {
            Err(error) if matches!(error.kind(), ErrorKind::Server { status: 409, .. }) => Ok(()),
            done => done,
        }
    }
}

/// A member that is a text.
pub(super) fn text(call: &Call<'_>, json: &Json, key: &str) -> Result<String> {
    let text = json.get(key).and_then(Json::as_str).map(str::to_owned);
    text.ok_or_else(|| call.protocol(format!("the reply has no text `{key}`")))
}

/// Checks that a revision is one that git could have, and a file name in the cache.
///
/// # Errors
/// [`ErrorKind::Revision`] when it is not.
pub(super) fn check_revision(revision: &str) -> Result<()> {
    let why = if revision.contains("..") || revision.contains("@{") {
        "`..` and `@{` are not allowed"
    } else if revision
        .chars()
        .any(|c| c.is_control() || " ~^:?*[\\".contains(c))
    {
        "spaces and `~^:?*[\\` are not allowed"
    } else if revision
        .split('/')
        .any(|part| part.is_empty() || part.starts_with('.'))
    {
        "no part of it is empty or begins with a dot"
    } else {
        return Ok(());
    };
    Err(Error::from(ErrorKind::Revision {
        revision: shown(revision),
        why,
    }))
}
