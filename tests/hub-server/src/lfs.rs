//! Large files: Git LFS on the Hub's side, and the store that has them.

use serde_json::{Value as Json, json};

use crate::access::{Outcome, commit_of, need_user, need_write, repo};
use crate::hash::sha256;
use crate::message::{Asked, Reply};
use crate::resolve;
use crate::state::Inner;

/// Where large files are to be sent.
pub(crate) fn batch(inner: &Inner, asked: &Asked, id: &str) -> Outcome {
    let found = repo(inner, asked, id)?;
    need_user(asked)?;
    let body = asked.json()?;
    if let Some(revision) = body.pointer("/ref/name").and_then(Json::as_str) {
        need_write(asked, id)?;
        commit_of(found, revision)?;
    }
    let offers = |transfer: &str| {
        let offered = body.get("transfers").and_then(Json::as_array);
        offered.is_some_and(|offered| offered.iter().any(|name| name == transfer))
    };
    let part_bytes = inner.part_bytes.filter(|_| offers("multipart"));
    let objects = body.get("objects").and_then(Json::as_array);
    let rows: Vec<Json> = objects
        .into_iter()
        .flatten()
        .map(|object| {
            let oid = object.get("oid").and_then(Json::as_str).unwrap_or_default();
            let size = object
                .get("size")
                .and_then(Json::as_u64)
                .unwrap_or_default();
            let mut row = json!({ "oid": oid, "size": size, "authenticated": true });
            if !inner.objects.contains_key(oid) {
                row["actions"] = actions(inner, oid, size, part_bytes);
            }
            row
        })
        .collect();
    let transfer = if inner.xet.is_some() && offers("xet") {
        "xet"
    } else if part_bytes.is_some() {
        "multipart"
    } else {
        "basic"
    };
    let reply = json!({ "transfer": transfer, "objects": rows });
    Ok(Reply::json(&reply).with("content-type", "application/vnd.git-lfs+json"))
}

fn actions(inner: &Inner, oid: &str, size: u64, part_bytes: Option<usize>) -> Json {
    let Some(part_bytes) = part_bytes.filter(|bytes| size > *bytes as u64) else {
        let href = format!("{}/upload/{oid}?size={size}&sig=s3cret", inner.store);
        let verify = format!("{}/_lfs/verify", inner.hub);
        return json!({
            "upload": { "href": href, "header": {} },
            "verify": { "href": verify, "header": {} },
        });
    };
    let mut header = json!({ "chunk_size": part_bytes.to_string() });
    for number in 1..=size.div_ceil(part_bytes as u64) {
        let url = format!("{}/part/{oid}/{number}?sig=s3cret", inner.store);
        header[format!("{number:05}")] = url.into();
    }
    let href = format!("{}/_lfs/complete/{oid}", inner.hub);
    json!({ "upload": { "href": href, "header": header } })
}

pub(crate) fn verify(inner: &Inner, asked: &Asked) -> Outcome {
    need_user(asked)?;
    let body = asked.json()?;
    let oid = body.get("oid").and_then(Json::as_str).unwrap_or_default();
    let size = body.get("size").and_then(Json::as_u64);
    match inner.objects.get(oid) {
        Some(bytes) if Some(bytes.len() as u64) == size => Ok(Reply::json(&json!({}))),
        _ => Err(Reply::error(404, "Object not found or of another size")),
    }
}

pub(crate) fn complete(inner: &mut Inner, asked: &Asked, oid: &str) -> Outcome {
    let body = asked.json()?;
    let parts = body.get("parts").and_then(Json::as_array);
    let mut bytes = Vec::new();
    for part in parts.into_iter().flatten() {
        let number = part
            .get("partNumber")
            .and_then(Json::as_u64)
            .unwrap_or_default();
        let etag = part.get("etag").and_then(Json::as_str);
        let key = (oid.to_owned(), usize::try_from(number).unwrap_or_default());
        let Some(piece) = inner.parts.get(&key) else {
            return Err(Reply::error(400, "a part is missing"));
        };
        if etag != Some(&format!("\"{}\"", sha256(piece))) {
            return Err(Reply::error(400, "a part's etag does not match"));
        }
        bytes.extend_from_slice(piece);
    }
    if sha256(&bytes) != oid {
        return Err(Reply::error(400, "the object does not match its oid"));
    }
    inner.objects.insert(oid.to_owned(), bytes.into());
    Ok(Reply::json(&json!({})))
}

/// The second origin. It takes no token: its requests are signed. `hash` is that of the body.
pub(crate) fn store(inner: &mut Inner, asked: &Asked, hash: &str, parts: &[&str]) -> Outcome {
    if !asked.target.contains("s3cret") {
        return Err(Reply::error(403, "bad signature"));
    }
    // Stores want to know a body's length beforehand.
    if asked.header("transfer-encoding").is_some() {
        return Err(Reply::error(
            501,
            "a header implies what is not implemented",
        ));
    }
    match (asked.method.as_str(), parts) {
        ("GET" | "HEAD", ["blob", oid]) => match inner.objects.get(*oid) {
            Some(bytes) => Ok(resolve::bytes(asked, bytes, oid)),
            None => Err(Reply::error(404, "no such object")),
        },
        ("PUT", ["upload", oid]) => {
            if hash != *oid {
                return Err(Reply::error(
                    400,
                    "BadDigest: the bytes do not match the oid",
                ));
            }
            inner.objects.insert((*oid).to_owned(), asked.body.clone());
            Ok(Reply::new(200, ""))
        }
        ("PUT", ["part", oid, number]) => {
            let key = ((*oid).to_owned(), number.parse().unwrap_or_default());
            inner.parts.insert(key, asked.body.clone());
            let etag = format!("\"{hash}\"");
            Ok(Reply::new(200, "").with("etag", etag))
        }
        _ => Err(Reply::error(404, "not found")),
    }
}
