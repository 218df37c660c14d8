//! The listing of a repository.

use std::collections::HashSet;

use serde_json::Value as Json;

use super::Hub;
use super::repository::{check_revision, text};
use crate::api_request::{ApiRequest, RequestContext};
use crate::client;
use crate::digest::{Digest, is_hex};
use crate::error::Result;
use crate::repo_id::RepoId;
use crate::safe_path;
use crate::transport::Method;
use crate::tree_entry::TreeEntry;
use crate::url;

/// The largest number of entries in a listing. Larger repositories exist, but they are not models.
const MAX_ENTRIES: usize = 1_000_000;

impl Hub {
    /// Lists the files of a repository at a revision, in the order of the Hub.
    ///
    /// # Errors
    /// [`ErrorKind::UnsafePath`](crate::ErrorKind::UnsafePath) when the listing has a name that
    /// leads out of the repository, another refusal of the Hub, or an error of the network.
    pub fn tree(&self, repo: &RepoId, revision: &str) -> Result<Vec<TreeEntry>> {
        self.need_network("listing a repository")?;
        check_revision(revision)?;
        let revision_in_url = url::escape(revision, false);
        let path = format!("/api/models/{repo}/tree/{revision_in_url}?recursive=true");
        let mut next = Some(self.client.url(&path));
        let mut seen = HashSet::new();
        let mut entries = Vec::new();
        while let Some(page) = next {
            let context = RequestContext {
                repo: Some(repo),
                revision: Some(revision),
                file: None,
            };
            let request = ApiRequest::new(Method::Get, page.clone(), context);
            if !seen.insert(page) {
                return Err(request.protocol("the listing leads back to an earlier page"));
            }
            let (json, link) = self.client.send(&request, |response| {
                let link = response
                    .header("link")
                    .and_then(next_page)
                    .map(str::to_owned);
                Ok((client::json(&request, response)?, link))
            })?;
            let rows = json.as_array();
            for row in rows.ok_or_else(|| request.protocol("a listing is a JSON array"))? {
                entries.extend(entry(&request, row)?);
            }
            if entries.len() > MAX_ENTRIES {
                return Err(
                    request.protocol(format!("the listing has more than {MAX_ENTRIES} files"))
                );
            }
            next = match link {
                None => None,
                Some(link) => Some(self.page(&request, &link)?),
            };
        }
        Ok(entries)
    }

    /// The URL of the next page. A mirror may pass on a link with the Hub's own address; the page
    /// is still requested from the endpoint, which is the only server that gets the token.
    fn page(&self, request: &ApiRequest<'_>, link: &str) -> Result<String> {
        let url = url::join(&request.url, link).ok_or_else(|| {
            request.protocol("the next page of the listing is at an address that is not followed")
        })?;
        if url::origin(&url) == url::origin(&request.url) {
            return Ok(url);
        }
        Ok(self.client.url(url::path_and_query(&url)))
    }
}

/// The next page in a `Link` header.
fn next_page(header: &str) -> Option<&str> {
    header.split(',').find_map(|link| {
        let (target, about) = link.split_once('>')?;
        let is_next = about.replace(' ', "").contains("rel=\"next\"");
        target.trim().strip_prefix('<').filter(|_| is_next)
    })
}

/// A row of a listing; `None` for a folder.
fn entry(request: &ApiRequest<'_>, row: &Json) -> Result<Option<TreeEntry>> {
    if row.get("type").and_then(Json::as_str) != Some("file") {
        return Ok(None);
    }
    let path = text(request, row, "path")?;
    safe_path::check_listed(&path)?;
    let wrong = || request.protocol(format!("the listing has no size and hash of `{path}`"));
    let blob_id = row.get("oid").and_then(Json::as_str);
    let digest = match row.get("lfs") {
        Some(lfs) if !lfs.is_null() => {
            // Listings name it `oid`; other replies of the Hub, `sha256`.
            let oid = lfs.get("oid").or_else(|| lfs.get("sha256"));
            Digest::sha256(oid.and_then(Json::as_str).unwrap_or_default())
        }
        _ => Digest::git_sha1(blob_id.unwrap_or_default()),
    };
    let xet_hash = row.get("xetHash").and_then(Json::as_str);
    Ok(Some(TreeEntry {
        blob_id: blob_id.filter(|id| is_hex(id, 40)).map(str::to_owned),
        xet_hash: xet_hash.filter(|hash| is_hex(hash, 64)).map(str::to_owned),
        size: row.get("size").and_then(Json::as_u64).ok_or_else(wrong)?,
        digest: digest.ok_or_else(wrong)?,
        path,
    }))
}
