//! URLs of objects.

use std::path::PathBuf;

use nnx_checkpoint::Result;
use object_store::path::Path as Key;
use percent_encoding::percent_decode_str;

use crate::error::failed;

/// The kinds of stores, by the schemes of their URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    S3,
    Gcs,
    Azure,
    Http,
    File,
}

/// The scheme of files on the disk.
const FILE: &str = "file://";

/// The schemes, each with its kind.
const SCHEMES: &[(&str, Scheme)] = &[
    ("s3://", Scheme::S3),
    ("gs://", Scheme::Gcs),
    ("az://", Scheme::Azure),
    ("http://", Scheme::Http),
    ("https://", Scheme::Http),
    (FILE, Scheme::File),
];

/// Whether a text begins with one of the schemes `s3://`, `gs://`, `az://`, `http://`, `https://` and
/// `file://`.
///
/// ```
/// assert!(nnx_store::is_store_url("s3://bucket/model.safetensors"));
/// assert!(!nnx_store::is_store_url("model.safetensors"));
/// ```
pub fn is_store_url(text: &str) -> bool {
    SCHEMES.iter().any(|(scheme, _)| text.starts_with(scheme))
}

/// The path on the disk of a `file://` URL; `None` for any other text.
///
/// ```
/// use std::path::Path;
///
/// let path = nnx_store::file_url_path("file:///models/a%20b.pt")?;
/// assert_eq!(path.as_deref(), Some(Path::new("/models/a b.pt")));
/// assert_eq!(nnx_store::file_url_path("s3://bucket/a.pt")?, None);
/// # Ok::<(), nnx_checkpoint::Error>(())
/// ```
///
/// # Errors
/// When the URL names another machine, or the path in it is not a whole one or not UTF-8.
pub fn file_url_path(text: &str) -> Result<Option<PathBuf>> {
    if !text.starts_with(FILE) {
        return Ok(None);
    }
    Ok(Some(PathBuf::from(StoreUrl::parse(text)?.key)))
}

/// The parts of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreUrl {
    pub(crate) scheme: Scheme,
    /// Scheme and bucket, or scheme and host: `s3://bucket`. Empty for a file.
    pub(crate) root: String,
    /// The key of an object or the beginning of keys, without a slash in front.
    pub(crate) key: String,
}

impl StoreUrl {
    /// # Errors
    /// When the text is not a URL of a store, or has parts that no store is asked for.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let known = SCHEMES.iter().find(|(scheme, _)| text.starts_with(scheme));
        let Some((prefix, scheme)) = known else {
            return Err(failed(format!(
                "expected a URL that begins with s3://, gs://, az://, http://, https:// or \
                 file://, found `{text}`"
            )));
        };
        let rest = text.get(prefix.len()..).unwrap_or_default();
        if *scheme == Scheme::File {
            return Ok(Self {
                scheme: *scheme,
                root: String::new(),
                key: local_path(text, rest)?,
            });
        }
        let (host, key) = rest.split_once('/').unwrap_or((rest, ""));
        if host.is_empty() {
            return Err(failed(format!(
                "expected the name of a bucket or a host after `{prefix}`, found `{text}`"
            )));
        }
        // The error does not repeat the text, which has a secret in it.
        if host.contains('@') {
            return Err(failed(
                "expected a URL without a user or a password; credentials are taken from the \
                 environment",
            ));
        }
        if *scheme == Scheme::Http && key.contains(['?', '#']) {
            return Err(failed(
                "expected a URL without `?` and `#`: requests with a query are not supported",
            ));
        }
        Ok(Self {
            scheme: *scheme,
            root: format!("{prefix}{host}"),
            key: key.to_owned(),
        })
    }

    /// The folder of the key and the name in it; no name where the key is that of a folder.
    pub(crate) fn split(&self) -> (&str, Option<&str>) {
        match self.key.rsplit_once('/') {
            Some((folder, "")) => (folder, None),
            Some((folder, name)) => (folder, Some(name)),
            None if self.key.is_empty() => ("", None),
            None => ("", Some(&self.key)),
        }
    }
}

/// The decoded path of a `file://` URL, by RFC 8089; `rest` is its text after the scheme.
///
/// # Errors
/// When there is a host other than `localhost`, no path, or one that is not UTF-8.
fn local_path(text: &str, rest: &str) -> Result<String> {
    let path = rest
        .find('/')
        .map(|slash| rest.split_at(slash))
        .filter(|(host, _)| host.is_empty() || host.eq_ignore_ascii_case("localhost"))
        .map(|(_, path)| path);
    let Some(path) = path else {
        return Err(failed(format!(
            "expected `file:///` and a whole path on this machine, found `{text}`; give the path \
             without `file://` if it begins in the working folder"
        )));
    };
    let decoded = percent_decode_str(path).decode_utf8();
    let decoded = decoded.map_err(|_| {
        failed(format!(
            "expected a path in UTF-8 in `{text}`; give the path without `file://`"
        ))
    })?;
    Ok(decoded.into_owned())
}

/// The key of an object as the client wants it.
///
/// # Errors
/// When a part of the key is empty, `.` or `..`.
pub(crate) fn key(scheme: Scheme, text: &str) -> Result<Key> {
    let key = match scheme {
        Scheme::Http => Key::from_url_path(text),
        _ => Key::parse(text),
    };
    key.map_err(|error| failed(format!("`{text}` is not the key of an object: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, scheme: Scheme, root: &str, folder: &str, name: Option<&str>) {
        let url = StoreUrl::parse(text).expect(text);
        assert_eq!((url.scheme, url.root.as_str()), (scheme, root), "{text}");
        assert_eq!(url.split(), (folder, name), "{text}");
    }

    #[test]
    fn the_parts_of_a_url() {
        check("s3://b/a/m.pt", Scheme::S3, "s3://b", "a", Some("m.pt"));
        check("s3://b/m.pt", Scheme::S3, "s3://b", "", Some("m.pt"));
        check("gs://b/a/b/", Scheme::Gcs, "gs://b", "a/b", None);
        check("az://c", Scheme::Azure, "az://c", "", None);
        check(
            "http://h:80/a%20b/m",
            Scheme::Http,
            "http://h:80",
            "a%20b",
            Some("m"),
        );
        check("file:///a/m.pt", Scheme::File, "", "/a", Some("m.pt"));
        check("file://localhost/m", Scheme::File, "", "", Some("m"));
        check("file:///a%20b/%C3%BC", Scheme::File, "", "/a b", Some("ü"));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "model.pt",
            "s3:/b/m",
            "s3://",
            "s3:///m",
            "ftp://h/m",
            "http://user:secret@h/m",
            "https://h/m?signature=1",
            "file://",
            "file://m.pt",
            "file://server/x.pt",
            "file://localhost.x/m",
            "file:///%FF",
        ] {
            let error = StoreUrl::parse(text).expect_err(text).to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn keys_have_no_empty_parts_and_lead_nowhere_else() {
        assert_eq!(
            key(Scheme::S3, "a b/c%d").expect("a key").as_ref(),
            "a b/c%d"
        );
        assert_eq!(key(Scheme::Http, "a%20b").expect("a key").as_ref(), "a b");
        for text in ["a//b", "a/../b", "./a"] {
            assert!(key(Scheme::S3, text).is_err(), "{text}");
        }
    }
}
