//! Asks the Hub how it stores files: in the commit, as large files, or not at all.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value as Json, json};

use super::Hub;
use super::local::LocalFile;
use crate::api_request::{ApiRequest, RequestContext};
use crate::error::Result;
use crate::repo_id::RepoId;
use crate::transport::Method;
use crate::url::escape;

/// The number of files in one request, as in `huggingface_hub`.
const BATCH: usize = 256;

/// How a file is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UploadMode {
    /// In the commit.
    Regular,
    /// As a large file, by its hash.
    Lfs,
    /// Not at all, because `.gitignore` names it.
    Ignored,
}

impl Hub {
    /// Asks how the files are stored.
    pub(super) fn preupload(
        &self,
        repo: &RepoId,
        revision: &str,
        create_pr: bool,
        files: &[LocalFile],
    ) -> Result<HashMap<String, UploadMode>> {
        let query = if create_pr { "?create_pr=1" } else { "" };
        let path = format!(
            "/api/models/{repo}/preupload/{}{query}",
            escape(revision, false)
        );
        let git_ignore = files.iter().find(|file| file.name == ".gitignore");
        let git_ignore = git_ignore.and_then(|file| std::fs::read_to_string(&file.path).ok());
        let mut modes = HashMap::new();
        for batch in files.chunks(BATCH) {
            let asked: Vec<Json> = batch
                .iter()
                .map(|file| {
                    json!({
                        "path": file.name,
                        "size": file.size,
                        "sample": BASE64.encode(&file.sample),
                    })
                })
                .collect();
            let mut body = json!({ "files": asked });
            if let Some(text) = &git_ignore {
                body["gitIgnore"] = text.as_str().into();
            }
            let body = body.to_string().into_bytes();
            let context = RequestContext {
                repo: Some(repo),
                revision: Some(revision),
                file: None,
            };
            let request =
                ApiRequest::new(Method::Post, self.client.url(&path), context).json(&body);
            let reply = self.client.json(&request)?;
            let rows = reply.get("files").and_then(Json::as_array);
            for row in rows.into_iter().flatten() {
                let Some(name) = row.get("path").and_then(Json::as_str) else {
                    continue;
                };
                let ignored = row.get("shouldIgnore").and_then(Json::as_bool) == Some(true);
                let mode = match row.get("uploadMode").and_then(Json::as_str) {
                    _ if ignored => UploadMode::Ignored,
                    Some("lfs") => UploadMode::Lfs,
                    Some("regular") => UploadMode::Regular,
                    other => {
                        return Err(
                            request.protocol(format!("unknown way to store a file: {other:?}"))
                        );
                    }
                };
                modes.insert(name.to_owned(), mode);
            }
            for file in batch {
                match modes.get_mut(&file.name) {
                    // Stores refuse objects without bytes.
                    Some(mode @ UploadMode::Lfs) if file.size == 0 => *mode = UploadMode::Regular,
                    Some(_) => {}
                    None => {
                        let what = format!("the reply has nothing on `{}`", file.name);
                        return Err(request.protocol(what));
                    }
                }
            }
        }
        Ok(modes)
    }
}
