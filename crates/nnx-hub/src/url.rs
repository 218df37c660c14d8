//! The parts of URL handling that the Hub needs: origins, relative references and escapes.

/// The rest after a scheme, and the scheme.
fn split(url: &str) -> Option<(&str, &str)> {
    url.split_once("://").filter(|(scheme, _)| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    })
}

/// The scheme, and the host with its port; `None` if the text is not an `http` or `https` URL, or
/// contains a user name and a password.
fn server(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = split(url)?;
    let host = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let is_host = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    (!host.is_empty() && host.chars().all(is_host)).then_some((scheme, host))
}

/// Scheme and host with its port, in lower case; `None` where [`server`] is.
pub(crate) fn origin(url: &str) -> Option<String> {
    let (scheme, host) = server(url)?;
    let scheme = scheme.to_ascii_lowercase();
    let default = if scheme == "https" { ":443" } else { ":80" };
    let host = host.to_ascii_lowercase();
    let host = host.strip_suffix(default).unwrap_or(&host);
    Some(format!("{scheme}://{host}"))
}

/// The parts of a URL that identify the server.
pub(crate) struct Authority<'a> {
    pub(crate) is_secure: bool,
    /// The host, in brackets if it is an address of IPv6.
    pub(crate) host: &'a str,
    pub(crate) port: u16,
}

/// The server of a URL; `None` where [`origin`] is.
pub(crate) fn authority(url: &str) -> Option<Authority<'_>> {
    let (scheme, text) = server(url)?;
    let is_secure = scheme.eq_ignore_ascii_case("https");
    let default = if is_secure { 443 } else { 80 };
    // The colons of an IPv6 address are within its brackets.
    let port_at = text.rfind(':').filter(|at| !text[*at..].contains(']'));
    let (host, port) = match port_at {
        Some(at) => (&text[..at], text[at + 1..].parse().ok()?),
        None => (text, default),
    };
    Some(Authority {
        is_secure,
        host,
        port,
    })
}

/// The path of a URL and its query.
pub(crate) fn path_and_query(url: &str) -> &str {
    let rest = split(url).map_or(url, |(_, rest)| rest);
    rest.find('/').map_or("/", |slash| &rest[slash..])
}

/// The URL of a reference relative to a base; `None` if its scheme is not supported.
pub(crate) fn join(base: &str, reference: &str) -> Option<String> {
    if reference
        .chars()
        .any(|c| c.is_control() || c == ' ' || c == '\\')
    {
        return None;
    }
    if split(reference).is_some() {
        return origin(reference).map(|_| reference.to_owned());
    }
    let origin = origin(base)?;
    if let Some(rest) = reference.strip_prefix("//") {
        let scheme = origin.split_once("://")?.0;
        return join(base, &format!("{scheme}://{rest}"));
    }
    reference
        .starts_with('/')
        .then(|| format!("{origin}{reference}"))
}

/// A URL without its query, for messages: the queries of stores contain signatures.
pub(crate) fn shown(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}

/// Escapes every character except letters, digits and `-._~`, and with `keep_slashes` except
/// slashes.
pub(crate) fn escape(text: &str, keep_slashes: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || keep_slashes && byte == b'/' {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_compared_whole() {
        assert_eq!(
            origin("HTTPS://Hub.example:443/a?b").as_deref(),
            Some("https://hub.example")
        );
        assert_ne!(origin("https://hub.example"), origin("http://hub.example"));
        assert_ne!(
            origin("https://hub.example.evil/"),
            origin("https://hub.example/")
        );
        assert_eq!(origin("https://hub.example@evil/"), None);
        assert_eq!(origin("ftp://x"), None);
        assert_eq!(origin("https:///x"), None);
    }

    #[test]
    fn references_lead_where_browsers_go() {
        let base = "http://a:1/x/y?q";
        assert_eq!(join(base, "/p?s=1").as_deref(), Some("http://a:1/p?s=1"));
        assert_eq!(join(base, "https://b/z").as_deref(), Some("https://b/z"));
        assert_eq!(join(base, "//b/z").as_deref(), Some("http://b/z"));
        assert_eq!(join(base, "file:///etc/passwd"), None);
        assert_eq!(join(base, "/a\r\nX: y"), None);
    }

    #[test]
    fn escapes_are_those_of_quote() {
        assert_eq!(escape("refs/pr/1", false), "refs%2Fpr%2F1");
        assert_eq!(escape("a b/é~", true), "a%20b/%C3%A9~");
    }
}
