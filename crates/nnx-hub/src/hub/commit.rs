//! One commit, and the search for it if its reply is lost.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value as Json, json};

use super::Hub;
use super::local::LocalFile;
use super::repository::{self, GIT_ATTRIBUTES};
use crate::api_request::{ApiRequest, Payload, RequestContext};
use crate::client;
use crate::digest::{Digest, Hasher};
use crate::error::{Error, ErrorKind, Result};
use crate::repo_id::RepoId;
use crate::retry::Failure;
use crate::staging::Staging;
use crate::transport::Method;
use crate::tree_entry::TreeEntry;
use crate::url::escape;

/// A planned commit.
#[derive(Debug)]
pub(super) struct CommitPlan<'a> {
    pub(super) repo: &'a RepoId,
    pub(super) branch: &'a str,
    /// The parent commit; the Hub refuses the new one if the branch has another commit by then.
    pub(super) parent: &'a str,
    /// The contents of the parent commit.
    pub(super) tree: &'a [TreeEntry],
    pub(super) create_pr: bool,
    pub(super) summary: &'a str,
    pub(super) description: &'a str,
    pub(super) regular: Vec<&'a LocalFile>,
    pub(super) large: Vec<&'a LocalFile>,
    pub(super) deleted: Vec<&'a str>,
}

/// The Hub's reply to a commit.
#[derive(Debug)]
pub(super) struct Committed {
    pub(super) commit: String,
    pub(super) url: String,
    pub(super) pull_request_url: Option<String>,
}

impl Hub {
    /// Makes the commit, at most once.
    ///
    /// Each attempt names the parent, so a second one is refused if the first was accepted. If a
    /// reply is lost, the repository is searched: the commit is there, or it is tried again, or
    /// this cannot be determined.
    pub(super) fn commit(&self, plan: &CommitPlan<'_>) -> Result<Committed> {
        let staged = Staging::new_temporary()?;
        let lines = staged.path().join("commit.jsonl");
        let len = write_lines(plan, &lines)?;
        let query = if plan.create_pr { "?create_pr=1" } else { "" };
        let path = format!(
            "/api/models/{}/commit/{}{query}",
            plan.repo,
            escape(plan.branch, false)
        );
        let context = RequestContext {
            repo: Some(plan.repo),
            revision: Some(plan.branch),
            file: None,
        };
        let request = ApiRequest::new(Method::Post, self.client.url(&path), context)
            .header("content-type", "application/x-ndjson")
            .payload(Payload::Part {
                path: &lines,
                offset: 0,
                len,
                sent: &|_| {},
                hasher: None,
            });
        let known = if plan.create_pr {
            Some(self.pull_requests(plan.repo)?)
        } else {
            None
        };
        let mut failures = 0;
        loop {
            let reply = self
                .client
                .try_send(&request)
                .and_then(|response| client::json(&request, response));
            let failure = match reply {
                Ok(json) => return committed(&request, &json),
                Err(failure) => failure,
            };
            failures += 1;
            let lost = failures > 1 || matches!(&failure, Failure::Transient(..));
            // A refusal because of too many requests means that nothing was done.
            let heard = matches!(
                &failure,
                Failure::Transient(error, _) if matches!(error.kind(), ErrorKind::RateLimited { .. })
            );
            if lost
                && !heard
                && let Some(made) = self.find(plan, known.as_ref())?
            {
                self.client
                    .note("the reply to the commit was lost; the repository has it");
                return Ok(made);
            }
            if plan.create_pr && lost && !heard {
                // A second request would create a second pull request.
                return Err(failure.into_error());
            }
            self.client.backoff(failure, failures)?;
        }
    }

    /// Searches for a commit whose reply was lost.
    ///
    /// # Errors
    /// [`ErrorKind::CommitUnknown`] when the repository cannot be read.
    fn find(
        &self,
        plan: &CommitPlan<'_>,
        known: Option<&HashMap<String, String>>,
    ) -> Result<Option<Committed>> {
        let unknown = |_| {
            Error::from(ErrorKind::CommitUnknown {
                repo: plan.repo.to_string(),
            })
        };
        let url = format!("{}/{}", self.endpoint(), plan.repo);
        if let Some(known) = known {
            let now = self.pull_requests(plan.repo).map_err(unknown)?;
            for (number, commit) in now {
                if !known.contains_key(&number) && self.holds(plan, &commit).map_err(unknown)? {
                    return Ok(Some(Committed {
                        url: format!("{url}/commit/{commit}"),
                        commit,
                        pull_request_url: Some(format!("{url}/discussions/{number}")),
                    }));
                }
            }
            return Ok(None);
        }
        let head = self
            .repo_info(plan.repo, plan.branch)
            .map_err(unknown)?
            .commit;
        if head == plan.parent {
            return Ok(None);
        }
        if self.holds(plan, &head).map_err(unknown)? {
            return Ok(Some(Committed {
                url: format!("{url}/commit/{head}"),
                commit: head,
                pull_request_url: None,
            }));
        }
        Err(Error::from(ErrorKind::CommitUnknown {
            repo: plan.repo.to_string(),
        }))
    }

    /// Whether a commit contains exactly what the planned one would contain.
    fn holds(&self, plan: &CommitPlan<'_>, commit: &str) -> Result<bool> {
        let mut expected: HashMap<&str, &Digest> = plan
            .tree
            .iter()
            .filter(|entry| !plan.deleted.contains(&entry.path.as_str()))
            .map(|entry| (entry.path.as_str(), &entry.digest))
            .collect();
        for file in &plan.regular {
            expected.insert(&file.name, file.git_sha1()?);
        }
        for file in &plan.large {
            expected.insert(&file.name, file.sha256()?);
        }
        let mut found = self.tree(plan.repo, commit)?;
        // The Hub may add the entries for the large files to it.
        found.retain(|entry| entry.path != GIT_ATTRIBUTES);
        expected.remove(GIT_ATTRIBUTES);
        Ok(found.len() == expected.len()
            && found.iter().all(|entry| {
                expected
                    .get(entry.path.as_str())
                    .is_some_and(|digest| **digest == entry.digest)
            }))
    }

    /// The open pull requests, each with its commit.
    fn pull_requests(&self, repo: &RepoId) -> Result<HashMap<String, String>> {
        let path = format!("/api/models/{repo}/refs?include_prs=1");
        let context = RequestContext {
            repo: Some(repo),
            ..RequestContext::default()
        };
        let request = ApiRequest::new(Method::Get, self.client.url(&path), context);
        let json = self.client.json(&request)?;
        let rows = json.get("pullRequests").and_then(Json::as_array);
        let rows = rows.into_iter().flatten().filter_map(|row| {
            let name = row.get("name")?.as_str()?;
            let number = name.rsplit('/').next()?.to_owned();
            Some((number, row.get("targetCommit")?.as_str()?.to_owned()))
        });
        Ok(rows.collect())
    }
}

fn committed(request: &ApiRequest<'_>, json: &Json) -> Result<Committed> {
    Ok(Committed {
        commit: repository::text(request, json, "commitOid")?,
        url: repository::text(request, json, "commitUrl")?,
        pull_request_url: json
            .get("pullRequestUrl")
            .and_then(Json::as_str)
            .map(str::to_owned),
    })
}

/// Writes the commit, one JSON object in each line, and returns its length.
fn write_lines(plan: &CommitPlan<'_>, path: &Path) -> Result<u64> {
    let io = |error| Error::io(path, error);
    let mut out = BufWriter::new(File::create(path).map_err(io)?);
    let mut line = |key: &str, value: Json| {
        writeln!(out, "{}", json!({ "key": key, "value": value })).map_err(io)
    };
    line(
        "header",
        json!({
            "summary": plan.summary,
            "description": plan.description,
            "parentCommit": plan.parent,
        }),
    )?;
    for file in &plan.regular {
        let content = read_checked(file)?;
        line(
            "file",
            json!({
                "path": file.name,
                "content": BASE64.encode(&content),
                "encoding": "base64",
            }),
        )?;
    }
    for file in &plan.large {
        line(
            "lfsFile",
            json!({
                "path": file.name,
                "algo": "sha256",
                "oid": file.sha256()?.hex(),
                "size": file.size,
            }),
        )?;
    }
    for name in &plan.deleted {
        line("deletedFile", json!({ "path": name }))?;
    }
    out.flush().map_err(io)?;
    let written = out.get_ref().metadata().map_err(io)?;
    Ok(written.len())
}

/// The bytes of a file, which must be those that were hashed.
fn read_checked(file: &LocalFile) -> Result<Vec<u8>> {
    let io = |error| Error::io(&file.path, error);
    let mut bytes = Vec::new();
    File::open(&file.path)
        .and_then(|opened| {
            opened
                .take(file.size.saturating_add(1))
                .read_to_end(&mut bytes)
        })
        .map_err(io)?;
    let read = crate::digest::hash(&mut bytes.as_slice(), Hasher::git_sha1(bytes.len() as u64));
    if read.map_err(io)? == *file.git_sha1()? {
        Ok(bytes)
    } else {
        Err(file.changed())
    }
}
