//! The routes of the server.

use serde_json::{Value as Json, json};

use crate::access::{Outcome, commit_of, need_user, need_write, repo};
use crate::message::{Asked, Origin, Reply};
use crate::repo::{Entry, Repo, pointer};
use crate::state::{Inner, is_large};
use crate::{commit, gitignore, lfs, resolve, xet};

pub(crate) fn route(inner: &mut Inner, asked: &Asked, hash: &str) -> Outcome {
    let (parts, query) = asked.parts();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    if asked.origin == Origin::Store {
        return lfs::store(inner, asked, hash, &parts);
    }
    let method = asked.method.as_str();
    let has = |key: &str| query.iter().any(|(name, _)| name == key);
    // `/api/models/gpt2/…` leads to `/api/models/openai-community/gpt2/…`.
    if let ["api", "models", name, rest @ ..] = parts.as_slice()
        && let [] | ["revision" | "tree" | "refs", ..] = rest
        && let Some(id) = inner.canonical.get(*name)
    {
        let target = format!("/api/models/{id}/{}", rest.join("/"));
        return Ok(Reply::new(307, "Redirecting").with("location", target));
    }
    match (method, parts.as_slice()) {
        ("GET", ["api", "whoami-v2"]) => whoami(asked),
        ("POST", ["api", "validate-yaml"]) => {
            Ok(Reply::json(&json!({ "errors": [], "warnings": [] })))
        }
        ("POST", ["api", "repos", "create"]) => create(inner, asked),
        ("GET", ["api", "models", owner, name]) => info(inner, asked, &id(owner, name), "main"),
        ("GET", ["api", "models", owner, name, "revision", revision @ ..]) => {
            info(inner, asked, &id(owner, name), &revision.join("/"))
        }
        ("GET", ["api", "models", owner, name, "tree", revision, ..]) => {
            tree(inner, asked, &id(owner, name), revision, &query)
        }
        ("GET", ["api", "models", owner, name, "refs"]) => refs(inner, asked, &id(owner, name)),
        (
            "GET",
            [
                "api",
                "models",
                owner,
                name,
                kind @ ("xet-read-token" | "xet-write-token"),
                ..,
            ],
        ) => {
            let writes = *kind == "xet-write-token" && !has("create_pr");
            xet::token(inner, asked, &id(owner, name), writes)
        }
        ("POST", ["api", "models", owner, name, "preupload", revision @ ..]) => {
            let revision = revision.join("/");
            preupload(inner, asked, &id(owner, name), &revision, has("create_pr"))
        }
        ("POST", ["api", "models", owner, name, "commit", revision @ ..]) => {
            let revision = revision.join("/");
            commit::make(inner, asked, &id(owner, name), &revision, has("create_pr"))
        }
        ("POST", ["api", "models", owner, name, "branch", branch @ ..]) => {
            make_branch(inner, asked, &id(owner, name), &branch.join("/"))
        }
        (
            "GET" | "HEAD",
            [
                "api",
                "resolve-cache",
                "models",
                owner,
                name,
                oid,
                file @ ..,
            ],
        ) => resolve::cached(inner, asked, &id(owner, name), oid, &file.join("/")),
        ("POST", [owner, name, "info", "lfs", "objects", "batch"]) => {
            let name = name.strip_suffix(".git").unwrap_or(name);
            lfs::batch(inner, asked, &id(owner, name))
        }
        ("POST", ["_lfs", "verify"]) => lfs::verify(inner, asked),
        ("POST", ["_lfs", "complete", oid]) => lfs::complete(inner, asked, oid),
        ("GET" | "HEAD", [owner, name, "resolve", revision, file @ ..]) => {
            resolve::file(inner, asked, &id(owner, name), revision, &file.join("/"))
        }
        _ => Err(Reply::error(404, "there is no such page")),
    }
}

fn id(owner: &str, name: &str) -> String {
    format!("{owner}/{name}")
}

fn whoami(asked: &Asked) -> Outcome {
    let user = need_user(asked)?;
    let role = if user.writes { "write" } else { "read" };
    Ok(Reply::json(&json!({
        "type": "user",
        "name": user.name,
        "fullname": user.name,
        "orgs": [{ "name": "acme", "type": "org" }],
        "auth": { "type": "access_token", "accessToken": { "displayName": "test", "role": role } },
    })))
}

fn create(inner: &mut Inner, asked: &Asked) -> Outcome {
    let user = need_user(asked)?;
    let body = asked.json()?;
    let text = |key: &str| body.get(key).and_then(Json::as_str);
    let owner = text("organization").unwrap_or(user.name);
    let id = id(owner, text("name").unwrap_or_default());
    if !user.may_write(&id) {
        return Err(Reply::error(
            403,
            "You don't have the rights to create a model there",
        ));
    }
    let url = format!("{}/{id}", inner.hub);
    if inner.repos.contains_key(&id) {
        let body = json!({ "error": "You already created this model repo", "url": url });
        let mut reply = Reply::json(&body);
        reply.status = 409;
        return Err(reply);
    }
    let private = body.get("private").and_then(Json::as_bool) == Some(true)
        || text("visibility") == Some("private");
    inner.repos.insert(id.clone(), Repo::new(&id, private));
    Ok(Reply::json(&json!({ "url": url, "name": id, "id": "0" })))
}

fn info(inner: &Inner, asked: &Asked, id: &str, revision: &str) -> Outcome {
    let repo = repo(inner, asked, id)?;
    let commit = commit_of(repo, revision)?;
    let siblings: Vec<Json> = commit
        .tree
        .keys()
        .map(|name| json!({ "rfilename": name }))
        .collect();
    Ok(Reply::json(&json!({
        "_id": "0",
        "id": repo.id,
        "modelId": repo.id,
        "author": repo.id.split('/').next(),
        "sha": commit.oid,
        "private": repo.private,
        "gated": repo.gated,
        "disabled": false,
        "downloads": 0,
        "likes": 0,
        "tags": [],
        "siblings": siblings,
    })))
}

fn row(inner: &Inner, name: &str, entry: &Entry) -> Json {
    let mut row = json!({
        "type": "file", "oid": entry.oid(), "size": entry.size(), "path": name,
    });
    if let Entry::Large(oid, size) = entry {
        row["lfs"] = json!({
            "oid": oid, "size": size, "pointerSize": pointer(oid, *size).len(),
        });
        if let Some(hash) = inner.xet_hash(oid) {
            row["xetHash"] = hash.as_str().into();
        }
    }
    row
}

fn tree(
    inner: &Inner,
    asked: &Asked,
    id: &str,
    revision: &str,
    query: &[(String, String)],
) -> Outcome {
    let commit = commit_of(repo(inner, asked, id)?, revision)?;
    let cursor = query.iter().find(|(key, _)| key == "cursor");
    let start = cursor
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    let rows: Vec<Json> = commit
        .tree
        .iter()
        .skip(start)
        .take(inner.page)
        .map(|(name, entry)| row(inner, name, entry))
        .collect();
    let next = start + rows.len();
    let mut reply = Reply::json(&Json::Array(rows));
    if next < commit.tree.len() {
        let path = asked.target.split('?').next().unwrap_or_default();
        let host = inner.link_host.as_ref().unwrap_or(&inner.hub);
        let url = format!("{host}{path}?recursive=true&cursor={next}");
        reply.set("link", format!("<{url}>; rel=\"next\""));
    }
    Ok(reply)
}

fn refs(inner: &Inner, asked: &Asked, id: &str) -> Outcome {
    let repo = repo(inner, asked, id)?;
    let branches: Vec<Json> = repo
        .branches
        .iter()
        .map(|(name, oid)| {
            json!({ "name": name, "ref": format!("refs/heads/{name}"), "targetCommit": oid })
        })
        .collect();
    let pull_requests: Vec<Json> = repo
        .pull_requests
        .iter()
        .map(|(number, oid)| {
            let name = format!("refs/pr/{number}");
            json!({ "name": number.to_string(), "ref": name, "targetCommit": oid })
        })
        .collect();
    Ok(Reply::json(&json!({
        "tags": [], "converts": [], "branches": branches, "pullRequests": pull_requests,
    })))
}

fn preupload(inner: &Inner, asked: &Asked, id: &str, revision: &str, create_pr: bool) -> Outcome {
    let repo = repo(inner, asked, id)?;
    if create_pr {
        need_user(asked)?
    } else {
        need_write(asked, id)?
    };
    let commit = commit_of(repo, revision)?;
    let body = asked.json()?;
    let own = commit.tree.get(".gitignore");
    let own = own.map(|entry| String::from_utf8_lossy(inner.content(entry)));
    // The `.gitignore` that comes counts, else the one that is there.
    let ignored = match body.get("gitIgnore").and_then(Json::as_str) {
        Some(text) => text,
        None => own.as_deref().unwrap_or_default(),
    };
    let files = body.get("files").and_then(Json::as_array);
    let rows: Vec<Json> = files
        .into_iter()
        .flatten()
        .map(|file| {
            let name = file.get("path").and_then(Json::as_str).unwrap_or_default();
            let size = file.get("size").and_then(Json::as_u64).unwrap_or_default();
            let mode = if is_large(name, size) {
                "lfs"
            } else {
                "regular"
            };
            json!({
                "path": name,
                "uploadMode": mode,
                "shouldIgnore": gitignore::ignores(ignored, name),
                "oid": commit.tree.get(name).map(Entry::etag),
            })
        })
        .collect();
    Ok(Reply::json(
        &json!({ "files": rows, "commitOid": commit.oid }),
    ))
}

fn make_branch(inner: &mut Inner, asked: &Asked, id: &str, branch: &str) -> Outcome {
    need_write(asked, id)?;
    let body = asked.json()?;
    let start = body
        .get("startingPoint")
        .and_then(Json::as_str)
        .unwrap_or("main");
    let oid = commit_of(repo(inner, asked, id)?, start)?.oid.clone();
    let repo = inner.repos.get_mut(id).expect("it was found above");
    if repo.branches.contains_key(branch) {
        return Err(Reply::error(409, "Reference already exists"));
    }
    repo.branches.insert(branch.to_owned(), oid);
    Ok(Reply::new(200, "OK"))
}
