//! Large files, by Git LFS: a batch request gives the addresses, the files are sent there, and the
//! commit names them.

use std::fs::File;
use std::sync::Mutex;

use serde_json::{Value as Json, json};

use super::Hub;
use super::local::LocalFile;
use super::repository::text;
use crate::api_request::{ApiRequest, Payload, RequestContext};
use crate::digest::{self, Hasher};
use crate::error::{Error, ErrorKind, Result};
use crate::mutex::locked;
use crate::progress::{Direction, Event};
use crate::repo_id::RepoId;
use crate::transport::{Header, Method};
use crate::url;

/// The number of files in one request.
const BATCH: usize = 20;
/// The media type of Git LFS.
const LFS_JSON: &str = "application/vnd.git-lfs+json";

impl Hub {
    /// Sends those of the files that the Hub does not have yet.
    pub(super) fn upload_lfs(
        &self,
        repo: &RepoId,
        revision: Option<&str>,
        files: &[&LocalFile],
    ) -> Result<()> {
        for batch in files.chunks(BATCH) {
            self.upload_batch(repo, revision, batch, self.has_xet())?;
        }
        Ok(())
    }

    /// Sends files; if Xet does not take them, once more without it.
    fn upload_batch(
        &self,
        repo: &RepoId,
        revision: Option<&str>,
        batch: &[&LocalFile],
        offers_xet: bool,
    ) -> Result<()> {
        let mut transfers = vec!["basic", "multipart"];
        if offers_xet {
            transfers.push("xet");
        }
        let objects: Vec<Json> = self.side_by_side(batch, |_, file| {
            Ok(json!({ "oid": file.sha256()?.hex(), "size": file.size }))
        })?;
        let mut body = json!({
            "operation": "upload",
            "transfers": transfers,
            "objects": objects,
            "hash_algo": "sha256",
        });
        // A pull request does not need a branch that the token may write to.
        if let Some(revision) = revision {
            body["ref"] = json!({ "name": revision });
        }
        let body = body.to_string().into_bytes();
        let context = RequestContext {
            repo: Some(repo),
            ..RequestContext::default()
        };
        let path = format!("/{repo}.git/info/lfs/objects/batch");
        let request = ApiRequest::new(Method::Post, self.client.url(&path), context)
            .header("accept", LFS_JSON)
            .header("content-type", LFS_JSON)
            .payload(Payload::Bytes(&body));
        let reply = self.client.json(&request)?;
        let rows = reply.get("objects").and_then(Json::as_array);
        let rows = rows.ok_or_else(|| request.protocol("the reply has no `objects`"))?;
        let by_xet = reply.get("transfer").and_then(Json::as_str) == Some("xet");
        if by_xet && !offers_xet {
            return Err(request.protocol("it chooses `xet`, which was not offered"));
        }
        let left = self.side_by_side(batch, |hub, file| {
            let oid = Some(file.sha256()?.hex());
            let row = rows
                .iter()
                .find(|row| row.get("oid").and_then(Json::as_str) == oid)
                .ok_or_else(|| {
                    request.protocol(format!("the reply has nothing on `{}`", file.name))
                })?;
            let Some(upload) = hub.upload_action(&request, file, row)? else {
                return Ok(None);
            };
            if by_xet {
                return Ok(Some(*file));
            }
            hub.upload_object(&request, file, row, upload)?;
            Ok(None)
        })?;
        let left: Vec<&LocalFile> = left.into_iter().flatten().collect();
        if !left.is_empty() && !self.send_to_xet(repo, revision, &left)? {
            self.upload_batch(repo, revision, &left, false)?;
        }
        Ok(())
    }

    /// How a file is sent; `None` if the Hub already has the bytes.
    fn upload_action<'a>(
        &self,
        request: &ApiRequest<'_>,
        file: &LocalFile,
        row: &'a Json,
    ) -> Result<Option<&'a Json>> {
        if let Some(message) = row.pointer("/error/message").and_then(Json::as_str) {
            return Err(request.protocol(format!("`{}` is refused: {message}", file.name)));
        }
        let upload = row.pointer("/actions/upload");
        if upload.is_none() {
            self.sent(file);
        }
        Ok(upload)
    }

    /// Reports that a file is where the Hub has large files.
    pub(super) fn sent(&self, file: &LocalFile) {
        self.client.notify(&Event::Finished {
            direction: Direction::Up,
            file: &file.name,
        });
    }

    fn upload_object(
        &self,
        request: &ApiRequest<'_>,
        file: &LocalFile,
        row: &Json,
        upload: &Json,
    ) -> Result<()> {
        let href = self.action_url(request, upload)?;
        let chunk = upload.pointer("/header/chunk_size").and_then(number);
        let sent = Mutex::new(Hasher::sha256());
        match chunk {
            Some(chunk) => self.upload_parts(request, (file, &sent), upload, &href, chunk)?,
            None => {
                let whole = (0, file.size);
                self.put(request, (file, &sent), href, headers(upload), whole)?;
                check_sent(file, &sent)?;
            }
        }
        if let Some(verify) = row.pointer("/actions/verify") {
            let body = json!({ "oid": file.sha256()?.hex(), "size": file.size });
            let body = body.to_string().into_bytes();
            let url = self.action_url(request, verify)?;
            let mut check =
                ApiRequest::new(Method::Post, url, request.context).payload(Payload::Bytes(&body));
            check.headers = headers(verify);
            self.client
                .send(&check.header("content-type", LFS_JSON), |_| Ok(()))?;
        }
        self.sent(file);
        Ok(())
    }

    /// Sends a file in numbered parts, and completes the upload.
    fn upload_parts(
        &self,
        request: &ApiRequest<'_>,
        (file, sent): (&LocalFile, &Mutex<Hasher>),
        upload: &Json,
        completion: &str,
        chunk: u64,
    ) -> Result<()> {
        if chunk == 0 {
            return Err(request.protocol("the Hub asks for parts of size 0"));
        }
        let count = file.size.div_ceil(chunk);
        let mut parts = Vec::new();
        for number in 1..=count {
            // The width of the numbers is not specified; the Hub uses five digits.
            let url = upload
                .get("header")
                .and_then(Json::as_object)
                .into_iter()
                .flatten()
                .find(|(key, _)| key.parse() == Ok(number))
                .and_then(|(_, url)| url::join(&request.url, url.as_str()?))
                .ok_or_else(|| {
                    request.protocol(format!("there is no address for part {number}"))
                })?;
            let offset = (number - 1).saturating_mul(chunk);
            let len = chunk.min(file.size.saturating_sub(offset));
            let etag = self.put(request, (file, sent), url, Vec::new(), (offset, len))?;
            let etag = etag.ok_or_else(|| request.protocol("a part's reply has no `ETag`"))?;
            parts.push(json!({ "partNumber": number, "etag": etag }));
        }
        check_sent(file, sent)?;
        let body = json!({ "oid": file.sha256()?.hex(), "parts": parts });
        let body = body.to_string().into_bytes();
        let complete = ApiRequest::new(Method::Post, completion.to_owned(), request.context)
            .header("accept", LFS_JSON)
            .header("content-type", LFS_JSON)
            .payload(Payload::Bytes(&body));
        self.client.send(&complete, |_| Ok(()))
    }

    /// Sends a part of a file and returns the reply's `ETag`.
    fn put(
        &self,
        request: &ApiRequest<'_>,
        (file, hasher): (&LocalFile, &Mutex<Hasher>),
        url: String,
        headers: Vec<Header>,
        (offset, len): (u64, u64),
    ) -> Result<Option<String>> {
        let sent = |bytes: u64| {
            self.client.notify(&Event::Advanced {
                direction: Direction::Up,
                file: &file.name,
                done: offset.saturating_add(bytes),
                total: file.size,
            });
        };
        let mut put = ApiRequest::new(Method::Put, url, request.context).payload(Payload::Part {
            path: &file.path,
            offset,
            len,
            sent: &sent,
            hasher: Some(hasher),
        });
        put.headers = headers;
        let sent = self.client.send(&put, |response| {
            Ok(response.header("etag").map(str::to_owned))
        });
        sent.map_err(|error| {
            if is_changed(file, &error) {
                file.changed()
            } else {
                error
            }
        })
    }

    /// The address of an action of a batch.
    fn action_url(&self, request: &ApiRequest<'_>, action: &Json) -> Result<String> {
        let href = text(request, action, "href")?;
        let url = url::join(&request.url, &href)
            .filter(|url| url.starts_with("https:") || !request.url.starts_with("https:"));
        url.ok_or_else(|| {
            request.protocol("the upload address of a file is not an address that is followed")
        })
    }
}

/// Whether a file that could not be sent has changed since it was hashed. The store may refuse
/// bytes, so they are read again.
fn is_changed(file: &LocalFile, error: &Error) -> bool {
    let same = || -> Result<bool> {
        let io = |error| Error::io(&file.path, error);
        let mut now = File::open(&file.path).map_err(io)?;
        if now.metadata().map_err(io)?.len() != file.size {
            return Ok(false);
        }
        match error.kind() {
            ErrorKind::Server { .. } | ErrorKind::Forbidden { .. } => {
                digest::matches(&mut now, file.sha256()?, file.size).map_err(io)
            }
            _ => Ok(true),
        }
    };
    !same().unwrap_or(false)
}

/// Checks that the bytes that were sent are those that were hashed and that the commit will name.
fn check_sent(file: &LocalFile, sent: &Mutex<Hasher>) -> Result<()> {
    if locked(sent).clone().finish() == *file.sha256()? {
        Ok(())
    } else {
        Err(file.changed())
    }
}

/// The headers that an action requires.
fn headers(action: &Json) -> Vec<Header> {
    let headers = action.get("header").and_then(Json::as_object);
    headers
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| {
            Some((name.to_ascii_lowercase().into(), value.as_str()?.to_owned()))
        })
        .collect()
}

/// A number, or a text with a number.
fn number(json: &Json) -> Option<u64> {
    json.as_u64().or_else(|| json.as_str()?.parse().ok())
}
