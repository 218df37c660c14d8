//! Xet on the Hub's side: the tokens for the store, and the store behind an address of its own.

use std::io::Read;
use std::time::{SystemTime, UNIX_EPOCH};

use nnx_hub::{Body, Method, Request};
use serde_json::json;

use crate::access::{Outcome, need_write, repo};
use crate::message::{Asked, Reply};
use crate::state::Inner;
use crate::xet_store::XetStore;

/// How long a token for the store is valid, in seconds.
const VALID: i64 = 3600;

impl Inner {
    /// What the Hub says of the hash in the store of a file.
    pub(crate) fn xet_hash(&self, sha256: &str) -> Option<&String> {
        let xet = self.xet.as_ref()?;
        let hash = xet.hashes.get(sha256)?;
        Some(xet.lies.hash.as_ref().unwrap_or(hash))
    }

    /// Takes over a file that a client has sent to the store, so that it can be had the other way too.
    pub(crate) fn take_from_xet(&mut self, sha256: &str) {
        if let Some(xet) = &mut self.xet
            && !xet.hashes.contains_key(sha256)
            && let Some((hash, bytes)) = xet.store.find(sha256)
        {
            xet.hashes.insert(sha256.to_owned(), hash);
            self.objects.insert(sha256.to_owned(), bytes.into());
        }
    }
}

/// A token for the store, and its address. `writes` is whether it is one to write to a branch.
pub(crate) fn token(inner: &mut Inner, asked: &Asked, id: &str, writes: bool) -> Outcome {
    repo(inner, asked, id)?;
    if writes {
        need_write(asked, id)?;
    }
    let Some(xet) = &mut inner.xet else {
        return Err(Reply::error(404, "Xet is not enabled for this repository"));
    };
    xet.given += 1;
    let address = xet.lies.address.as_ref().unwrap_or(&xet.address).as_str();
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("the clock is after 1970");
    let now = i64::try_from(now.as_secs()).expect("a time of today");
    let expires = now + xet.lies.valid.take().unwrap_or(VALID);
    let token = format!("xet_s3cret_{}", xet.given);
    let body = json!({ "casUrl": address, "accessToken": token, "exp": expires });
    Ok(Reply::json(&body)
        .with("x-xet-cas-url", address)
        .with("x-xet-access-token", token)
        .with("x-xet-token-expiration", expires.to_string()))
}

/// The headers of a request that the store needs. It names the host that it was asked for in the
/// addresses of its replies.
const ASKED: &[&str] = &["content-type", "host", "range"];
/// The headers of a reply that its readers need.
const REPLIED: &[&str] = &["content-range", "content-type"];

/// The reply of the store. The addresses of parts hold a signature, all else needs a token.
pub(crate) fn pass(store: &dyn XetStore, asked: &Asked) -> Reply {
    let signed = ["/v1/fetch_term", "/simulation/xorb-uploads/"];
    let is_signed = signed.iter().any(|path| asked.target.starts_with(path));
    let token = asked.header("authorization").unwrap_or_default();
    if token.contains("hf_") || !(is_signed || token.starts_with("Bearer xet_s3cret_")) {
        return Reply::error(401, "this is no token for the store");
    }
    let method = match asked.method.as_str() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        _ => return Reply::error(405, "the store knows no such method"),
    };
    let headers = ASKED.iter().filter_map(|name| {
        let value = asked.header(name)?.to_owned();
        Some(((*name).into(), value))
    });
    let body = if asked.body.is_empty() {
        Body::Empty
    } else {
        Body::Bytes(&asked.body)
    };
    let request = Request::new(method, asked.target.clone(), headers.collect(), body);
    let mut found = match store.send(request) {
        Ok(found) => found,
        Err(error) => return Reply::error(502, &error.to_string()),
    };
    let mut body = Vec::new();
    if let Err(error) = found.body.read_to_end(&mut body) {
        return Reply::error(502, &error.to_string());
    }
    let mut reply = Reply::new(found.status, body);
    for name in REPLIED {
        if let Some(value) = found.header(name) {
            reply.set(name, value);
        }
    }
    reply
}
