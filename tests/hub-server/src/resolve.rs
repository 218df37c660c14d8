//! Files by their names.

use bytes::Bytes;

use crate::access::{Outcome, commit_of, repo, user};
use crate::message::{Asked, Reply};
use crate::repo::Entry;
use crate::state::Inner;

/// Where a file is: a regular one at an address of the Hub, a large one in the store.
pub(crate) fn file(inner: &Inner, asked: &Asked, id: &str, revision: &str, name: &str) -> Outcome {
    let repo = repo(inner, asked, id)?;
    let is_member = user(asked)?.is_some_and(|user| user.may_write(id));
    if repo.gated && !is_member {
        let status = if asked.header("authorization").is_some() {
            403
        } else {
            401
        };
        let message = format!("Access to model {id} is restricted.");
        return Err(Reply::coded(status, "GatedRepo", &message));
    }
    let commit = commit_of(repo, revision)?;
    let Some(entry) = commit.tree.get(name) else {
        return Err(Reply::coded(404, "EntryNotFound", "Entry not found"));
    };
    let etag = format!("\"{}\"", entry.etag());
    let reply = |status| {
        Reply::new(status, "Redirecting")
            .with("x-repo-commit", commit.oid.as_str())
            .with("x-linked-etag", etag.as_str())
    };
    match entry {
        Entry::Regular(_) => {
            let path = asked.target.split('?').next().unwrap_or_default();
            let file = path.splitn(6, '/').nth(5).unwrap_or_default();
            let target = format!("/api/resolve-cache/models/{id}/{}/{file}", commit.oid);
            Ok(reply(307).with("location", target))
        }
        Entry::Large(oid, size) => {
            let location = format!("{}/blob/{oid}?Signature=s3cret", inner.store);
            let reply = reply(302)
                .with("x-linked-size", size.to_string())
                .with("location", location);
            let Some(hash) = inner.xet_hash(oid) else {
                return Ok(reply);
            };
            let tokens = format!(
                "<{}/api/models/{id}/xet-read-token/{}>; rel=\"xet-auth\"",
                inner.hub, commit.oid
            );
            Ok(reply.with("x-xet-hash", hash).with("link", tokens))
        }
    }
}

/// A regular file.
pub(crate) fn cached(inner: &Inner, asked: &Asked, id: &str, oid: &str, name: &str) -> Outcome {
    let commit = commit_of(repo(inner, asked, id)?, oid)?;
    match commit.tree.get(name) {
        Some(entry) => Ok(bytes(
            asked,
            &Bytes::copy_from_slice(inner.content(entry)),
            &entry.etag(),
        )
        .with("x-repo-commit", commit.oid.as_str())),
        None => Err(Reply::coded(404, "EntryNotFound", "Entry not found")),
    }
}

/// Bytes, or those of them that are asked for.
pub(crate) fn bytes(asked: &Asked, bytes: &Bytes, etag: &str) -> Reply {
    let whole = || {
        Reply::new(200, bytes.clone())
            .with("etag", format!("\"{etag}\""))
            .with("content-type", "application/octet-stream")
            .with("accept-ranges", "bytes")
    };
    let range = asked.header("range").and_then(|range| {
        let (start, end) = range.strip_prefix("bytes=")?.split_once('-')?;
        Some((start.parse::<usize>().ok()?, end.parse::<usize>().ok()))
    });
    let Some((start, end)) = range else {
        return whole();
    };
    let last = bytes.len().saturating_sub(1);
    let end = end.unwrap_or(last).min(last);
    match bytes.get(start..=end) {
        Some(_) if start < bytes.len() => {
            let mut reply = whole();
            reply.status = 206;
            reply.body = bytes.slice(start..=end);
            reply.with(
                "content-range",
                format!("bytes {start}-{end}/{}", bytes.len()),
            )
        }
        _ => Reply::error(416, "Range not satisfiable"),
    }
}
