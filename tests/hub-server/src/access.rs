//! Users, and the repositories that they may see and change.

use crate::message::{Asked, Reply};
use crate::repo::{Commit, Repo};
use crate::state::{Inner, READ_TOKEN, WRITE_TOKEN};

/// An answer, or a refusal.
pub(crate) type Outcome = Result<Reply, Reply>;

/// Who asks.
pub(crate) struct User {
    pub(crate) name: &'static str,
    pub(crate) writes: bool,
}

impl User {
    pub(crate) fn may_write(&self, id: &str) -> bool {
        let owner = id.split('/').next().unwrap_or_default();
        self.writes && [self.name, "acme"].contains(&owner)
    }
}

/// The user of the token that comes with a request.
///
/// # Errors
/// A refusal, where there is a token that is nobody's.
pub(crate) fn user(asked: &Asked) -> Result<Option<User>, Reply> {
    let Some(header) = asked.header("authorization") else {
        return Ok(None);
    };
    let user = match header.strip_prefix("Bearer ") {
        Some(WRITE_TOKEN) => ("alice", true),
        Some(READ_TOKEN) => ("bob", false),
        _ => {
            let message = "Invalid credentials in Authorization header";
            return Err(Reply::error(401, message));
        }
    };
    Ok(Some(User {
        name: user.0,
        writes: user.1,
    }))
}

pub(crate) fn need_user(asked: &Asked) -> Result<User, Reply> {
    user(asked)?.ok_or_else(|| Reply::error(401, "Invalid username or password."))
}

/// A repository that the one who asks may see.
///
/// # Errors
/// A refusal that does not tell strangers which repositories there are.
pub(crate) fn repo<'a>(inner: &'a Inner, asked: &Asked, id: &str) -> Result<&'a Repo, Reply> {
    let user = user(asked)?;
    let is_member = user.as_ref().is_some_and(|user| user.may_write(id));
    match inner.repos.get(id) {
        Some(repo) if !repo.private || is_member => Ok(repo),
        _ if user.is_none() => Err(Reply::error(401, "Invalid username or password.")),
        _ => Err(Reply::coded(404, "RepoNotFound", "Repository not found")),
    }
}

pub(crate) fn need_write(asked: &Asked, id: &str) -> Result<User, Reply> {
    let user = need_user(asked)?;
    if !user.may_write(id) {
        let message = "Forbidden: you must use a write token to upload to a repository.";
        return Err(Reply::error(403, message));
    }
    Ok(user)
}

pub(crate) fn commit_of<'a>(repo: &'a Repo, revision: &str) -> Result<&'a Commit, Reply> {
    repo.resolve(revision).ok_or_else(|| {
        let message = format!("Invalid rev id: {revision}");
        Reply::coded(404, "RevisionNotFound", &message)
    })
}
