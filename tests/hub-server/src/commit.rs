//! Commits.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value as Json, json};

use crate::access::{Outcome, commit_of, need_user, need_write, repo};
use crate::message::{Asked, Reply};
use crate::repo::{Entry, Tree};
use crate::state::Inner;

pub(crate) fn make(
    inner: &mut Inner,
    asked: &Asked,
    id: &str,
    revision: &str,
    create_pr: bool,
) -> Outcome {
    let found = repo(inner, asked, id)?;
    if create_pr {
        need_user(asked)?
    } else {
        need_write(asked, id)?
    };
    let base = commit_of(found, revision)?;
    let (base_oid, mut tree) = (base.oid.clone(), base.tree.clone());
    let mut header = Json::Null;
    for line in asked.body.split(|byte| *byte == b'\n') {
        if line.is_empty() {
            continue;
        }
        let item: Json = serde_json::from_slice(line)
            .map_err(|_| Reply::error(400, "a line of the commit is no JSON"))?;
        let value = item.get("value").cloned().unwrap_or_default();
        match item.get("key").and_then(Json::as_str) {
            Some("header") => header = value,
            Some(key) => {
                if let ("lfsFile", Some(oid)) = (key, value.get("oid").and_then(Json::as_str)) {
                    inner.take_from_xet(oid);
                }
                apply(inner, &mut tree, key, &value)?;
            }
            None => return Err(Reply::error(400, "a line of the commit has no key")),
        }
    }
    let text = |key: &str| header.get(key).and_then(Json::as_str);
    let title = text("summary").ok_or_else(|| Reply::error(400, "commit needs a summary"))?;
    let parent = text("parentCommit");
    if parent.is_some_and(|parent| !parent.is_empty() && !base_oid.starts_with(parent)) {
        return Err(Reply::error(
            412,
            "Precondition failed: the branch has moved on",
        ));
    }
    let url = format!("{}/{id}", inner.hub);
    let repo = inner.repos.get_mut(id).expect("it was found above");
    let is_branch = repo.branches.contains_key(revision);
    if !create_pr && !is_branch {
        return Err(Reply::error(400, "not a branch"));
    }
    let oid = repo.add(tree, title);
    let mut reply = json!({
        "success": true,
        "commitOid": oid,
        "commitUrl": format!("{url}/commit/{oid}"),
        "hookOutput": "",
    });
    if create_pr {
        let number = repo.pull_requests.len() + 1;
        repo.pull_requests.insert(number, oid);
        reply["pullRequestUrl"] = format!("{url}/discussions/{number}").into();
    } else {
        repo.branches.insert(revision.to_owned(), oid);
    }
    Ok(Reply::json(&reply))
}

fn apply(inner: &Inner, tree: &mut Tree, key: &str, value: &Json) -> Result<(), Reply> {
    let text = |key: &str| value.get(key).and_then(Json::as_str).unwrap_or_default();
    let path = text("path").to_owned();
    let is_wrong = |part: &str| ["", ".", "..", ".git"].contains(&part);
    if path.split('/').any(is_wrong) {
        return Err(Reply::error(400, &format!("Invalid path: {path}")));
    }
    match key {
        "file" => {
            let bytes = match text("encoding") {
                "base64" => BASE64
                    .decode(text("content"))
                    .map_err(|_| Reply::error(400, "the content is no base64"))?,
                _ => text("content").as_bytes().to_vec(),
            };
            tree.insert(path, Entry::Regular(bytes));
        }
        "lfsFile" => {
            let oid = text("oid");
            let Some(bytes) = inner.objects.get(oid) else {
                return Err(Reply::error(
                    400,
                    "LFS pointer pointed to a file that does not exist",
                ));
            };
            tree.insert(path, Entry::Large(oid.to_owned(), bytes.len() as u64));
        }
        "deletedFile" => {
            tree.remove(&path)
                .ok_or_else(|| Reply::coded(404, "EntryNotFound", "there is no such file"))?;
        }
        "deletedFolder" => tree.retain(|name, _| !name.starts_with(&format!("{path}/"))),
        _ => return Err(Reply::error(400, "unknown operation")),
    }
    Ok(())
}
