//! What a repository holds.

use std::collections::HashSet;

use serde_json::Value as Json;

use super::Hub;
use super::repository::{check_revision, text};
use crate::digest::{Digest, is_hex};
use crate::error::Result;
use crate::exchange::{self, Call, Place};
use crate::repo_id::RepoId;
use crate::safe_path;
use crate::transport::Method;
use crate::url;

/// Entries of a listing that are taken; larger repositories exist, but not of models.
const MAX_ENTRIES: usize = 1_000_000;

/// A file of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeEntry {
    /// Its name, checked to lie within the repository. Not every system takes each of them for a
    /// file's name: `:` and `\\` may be in it.
    pub path: String,
    /// Its bytes.
    pub size: u64,
    /// Its hash.
    pub digest: Digest,
    /// What git names it by: of a large file, that is the hash of a pointer to it. None where the
    /// listing lacks it.
    pub(crate) blob_id: Option<String>,
    /// What the Hub's store names it by, where it is there.
    pub(crate) xet_hash: Option<String>,
}

impl Hub {
    /// The files of a repository at a revision, in the order of the Hub.
    ///
    /// # Errors
    /// [`ErrorKind::UnsafePath`](crate::ErrorKind::UnsafePath) when the listing has a name that leads
    /// out of the repository, what a refusal stands for, or what goes wrong on the way.
    pub fn tree(&self, repo: &RepoId, revision: &str) -> Result<Vec<TreeEntry>> {
        self.need_network("listing a repository")?;
        check_revision(revision)?;
        let revision_in_url = url::escape(revision, false);
        let path = format!("/api/models/{repo}/tree/{revision_in_url}?recursive=true");
        let mut next = Some(self.client.url(&path));
        let mut seen = HashSet::new();
        let mut entries = Vec::new();
        while let Some(page) = next {
            let place = Place {
                repo: Some(repo),
                revision: Some(revision),
                file: None,
            };
            let call = Call::new(Method::Get, page.clone(), place);
            if !seen.insert(page) {
                return Err(call.protocol("the listing leads back to a page of its own"));
            }
            let (json, link) = self.client.send(&call, |response| {
                let link = response
                    .header("link")
                    .and_then(next_page)
                    .map(str::to_owned);
                Ok((exchange::json(&call, response)?, link))
            })?;
            let rows = json.as_array();
            for row in rows.ok_or_else(|| call.protocol("a listing is a JSON array"))? {
                entries.extend(entry(&call, row)?);
            }
            if entries.len() > MAX_ENTRIES {
                return Err(call.protocol(format!("the listing has more than {MAX_ENTRIES} files")));
            }
            next = match link {
                None => None,
                Some(link) => Some(self.page(&call, &link)?),
            };
        }
        Ok(entries)
    }

    /// Where the next page is. A mirror may pass on a link that names the Hub's own address; the page
    /// is asked of the endpoint all the same, which alone gets the token.
    fn page(&self, call: &Call<'_>, link: &str) -> Result<String> {
        let url = url::join(&call.url, link).ok_or_else(|| {
            call.protocol("the listing goes on at an address that is not followed")
        })?;
        if url::origin(&url) == url::origin(&call.url) {
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

/// A row of a listing; none for a folder.
fn entry(call: &Call<'_>, row: &Json) -> Result<Option<TreeEntry>> {
    if row.get("type").and_then(Json::as_str) != Some("file") {
        return Ok(None);
    }
    let path = text(call, row, "path")?;
    safe_path::check_listed(&path)?;
    let wrong = || call.protocol(format!("the listing has no size and hash of `{path}`"));
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
