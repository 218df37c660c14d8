//! Repositories as a whole, and the identity of the user.

use serde_json::{Value as Json, json};

use super::Hub;
use crate::api_request::{ApiRequest, RequestContext};
use crate::digest::is_hex;
use crate::error::{Error, ErrorKind, Result, shown};
use crate::repo_id::RepoId;
use crate::transport::Method;
use crate::url::escape;

/// A file that the Hub itself keeps in each repository; patterns never delete it.
pub(super) const GIT_ATTRIBUTES: &str = ".gitattributes";

/// The account that a token belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// The account's name.
    pub name: String,
    /// The organizations that the account belongs to.
    pub organizations: Vec<String>,
    /// The role of the token, such as `write`, if the Hub states it.
    pub role: Option<String>,
}

/// A repository at a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepoInfo {
    /// The full name of the repository; a renamed repository has another name than the request.
    pub id: String,
    /// The commit of the revision.
    pub commit: String,
    /// Whether the repository is private.
    pub private: bool,
}

impl Hub {
    /// Returns the account that the token belongs to.
    ///
    /// # Errors
    /// [`ErrorKind::TokenMissing`], [`ErrorKind::TokenRefused`], or an error of the network.
    pub fn whoami(&self) -> Result<Identity> {
        self.need_network("asking who the token belongs to")?;
        if self.client.token.is_none() {
            return Err(Error::from(ErrorKind::TokenMissing));
        }
        let url = self.client.url("/api/whoami-v2");
        let request = ApiRequest::new(Method::Get, url, RequestContext::default());
        let json = self.client.json(&request)?;
        let organizations = json.get("orgs").and_then(Json::as_array);
        let organizations = organizations.into_iter().flatten();
        Ok(Identity {
            name: text(&request, &json, "name")?,
            organizations: organizations
                .filter_map(|org| Some(org.get("name")?.as_str()?.to_owned()))
                .collect(),
            role: json
                .pointer("/auth/accessToken/role")
                .and_then(Json::as_str)
                .map(str::to_owned),
        })
    }

    /// Returns the state of a repository at a revision: a branch, a tag or a commit.
    ///
    /// # Errors
    /// [`ErrorKind::RepositoryNotFound`], [`ErrorKind::RevisionNotFound`], [`ErrorKind::Gated`], or
    /// an error of the network.
    pub fn repo_info(&self, repo: &RepoId, revision: &str) -> Result<RepoInfo> {
        self.need_network("looking at a repository")?;
        check_revision(revision)?;
        let path = format!("/api/models/{repo}/revision/{}", escape(revision, false));
        let context = RequestContext {
            repo: Some(repo),
            revision: Some(revision),
            file: None,
        };
        let request = ApiRequest::new(Method::Get, self.client.url(&path), context);
        let json = self.client.json(&request)?;
        let commit = text(&request, &json, "sha")?;
        if !is_hex(&commit, 40) {
            return Err(request.protocol(format!("expected a commit of 40 digits, got `{commit}`")));
        }
        // A request for a commit must not be answered with another commit.
        if is_hex(revision, 40) && commit != revision {
            return Err(
                request.protocol(format!("expected the commit `{revision}`, got `{commit}`"))
            );
        }
        Ok(RepoInfo {
            id: text(&request, &json, "id").unwrap_or_else(|_| repo.to_string()),
            commit,
            private: json.get("private").and_then(Json::as_bool) == Some(true),
        })
    }

    /// Creates a repository unless it exists, and returns its full name.
    ///
    /// # Errors
    /// [`ErrorKind::TokenMissing`], [`ErrorKind::Forbidden`], or an error of the network.
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
        let context = RequestContext {
            repo: Some(repo),
            ..RequestContext::default()
        };
        let url = self.client.url("/api/repos/create");
        let request = ApiRequest::new(Method::Post, url, context).json(&body);
        let error = match self.client.json(&request) {
            Ok(json) => return self.full_name(repo, &json),
            Err(error) => error,
        };
        match error.kind() {
            ErrorKind::Server { status: 409, .. } => self.existing(repo),
            // A token that may write to the repository may not be allowed to create it.
            ErrorKind::Forbidden { .. } if repo.owner().is_some() => {
                self.repo_info(repo, "main").map_err(|_| error)?;
                Ok(repo.clone())
            }
            _ => Err(error),
        }
    }

    /// The full name in the reply to the creation of a repository.
    fn full_name(&self, repo: &RepoId, json: &Json) -> Result<RepoId> {
        let url = json.get("url").and_then(Json::as_str).unwrap_or_default();
        let path = url.strip_prefix(self.endpoint()).unwrap_or_default();
        RepoId::parse(path.trim_start_matches('/')).or_else(|_| self.existing(repo))
    }

    /// The full name of an existing repository; without an owner, it belongs to the owner of the
    /// token.
    fn existing(&self, repo: &RepoId) -> Result<RepoId> {
        match repo.owner() {
            Some(_) => Ok(repo.clone()),
            None => RepoId::parse(&format!("{}/{repo}", self.whoami()?.name)),
        }
    }

    /// Creates a branch of a repository at a revision; an existing branch is unchanged.
    ///
    /// # Errors
    /// [`ErrorKind::RevisionNotFound`], [`ErrorKind::Forbidden`], or an error of the network.
    pub fn create_branch(&self, repo: &RepoId, branch: &str, at: &str) -> Result<()> {
        self.need_network("making a branch")?;
        check_revision(branch)?;
        let commit = self.repo_info(repo, at)?.commit;
        let body = json!({ "startingPoint": commit }).to_string().into_bytes();
        let path = format!("/api/models/{repo}/branch/{}", escape(branch, false));
        let context = RequestContext {
            repo: Some(repo),
            revision: Some(branch),
            file: None,
        };
        let request = ApiRequest::new(Method::Post, self.client.url(&path), context).json(&body);
        match self.client.send(&request, |_| Ok(())) {
            Err(error) if matches!(error.kind(), ErrorKind::Server { status: 409, .. }) => Ok(()),
            done => done,
        }
    }
}

/// A member of the reply that is a string.
pub(super) fn text(request: &ApiRequest<'_>, json: &Json, key: &str) -> Result<String> {
    let text = json.get(key).and_then(Json::as_str).map(str::to_owned);
    text.ok_or_else(|| request.protocol(format!("the reply has no text `{key}`")))
}

/// Checks that a revision is a valid name in git, and usable as a file name in the cache.
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
        "no part may be empty or begin with a dot"
    } else {
        return Ok(());
    };
    Err(Error::from(ErrorKind::Revision {
        revision: shown(revision),
        why,
    }))
}
