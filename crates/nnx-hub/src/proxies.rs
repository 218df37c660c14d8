//! The choice of a proxy for a request.

use std::fmt;
use std::net::IpAddr;

use crate::url::{self, Authority};

/// The proxies that the variables of the environment name, read as curl and the official client read
/// them.
///
/// | variable | what |
/// |---|---|
/// | `HTTPS_PROXY`, `HTTP_PROXY` | the proxy for requests of that scheme |
/// | `ALL_PROXY` | the proxy for a scheme without a variable |
/// | `NO_PROXY` | hosts that are asked directly, with commas or spaces between them |
///
/// The name in lower case comes first; an empty value there means that no proxy is used.
/// `HTTP_PROXY` in upper case is ignored if `REQUEST_METHOD` is set, because a web server that runs
/// this program would set it from a header of its client.
///
/// An entry of `NO_PROXY` is a host with all hosts below it (`example.com`, `.example.com`), an
/// address (`10.0.0.1`, `::1`), a network (`10.0.0.0/8`), or `*` for every host. A port at its end
/// (`example.com:8080`) limits it to that port.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    http: Option<String>,
    https: Option<String>,
    direct: Vec<DirectHost>,
}

/// An entry of `NO_PROXY`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DirectHost {
    host: HostPattern,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostPattern {
    Any,
    /// A host and those below it, in lower case.
    Domain(String),
    /// The addresses that begin with the same bits.
    Network(IpAddr, u32),
}

impl Proxies {
    /// The proxies that the variables of an environment name.
    pub fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| {
            let value = variable(&name.to_ascii_lowercase());
            let is_forged = || name == "HTTP_PROXY" && variable("REQUEST_METHOD").is_some();
            let value = value.or_else(|| variable(name).filter(|_| !is_forged()));
            let value = value.map(|value| value.trim().to_owned());
            value.filter(|value| !value.is_empty())
        };
        let of_scheme = |name: &str| set(name).or_else(|| set("ALL_PROXY"));
        let direct = set("NO_PROXY").unwrap_or_default();
        Self {
            http: of_scheme("HTTP_PROXY"),
            https: of_scheme("HTTPS_PROXY"),
            direct: direct
                .split([',', ' ', '\t', '\n'])
                .filter(|entry| !entry.is_empty())
                .map(DirectHost::parse)
                .collect(),
        }
    }

    /// The address of the proxy that a request for a URL goes through, as the variable has it; `None`
    /// for a direct connection.
    pub fn for_url(&self, url: &str) -> Option<&str> {
        let authority = url::authority(url)?;
        let proxy = if authority.is_secure {
            &self.https
        } else {
            &self.http
        };
        let proxy = proxy.as_deref()?;
        let is_direct = self.direct.iter().any(|entry| entry.matches(&authority));
        (!is_direct).then_some(proxy)
    }
}

impl fmt::Debug for Proxies {
    // The address of a proxy may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxies")
            .field("http", &self.http.is_some())
            .field("https", &self.https.is_some())
            .field("direct", &self.direct)
            .finish()
    }
}

impl DirectHost {
    fn parse(entry: &str) -> Self {
        let entry = entry.split_once("://").map_or(entry, |(_, rest)| rest);
        if let Some(host) = HostPattern::network(entry) {
            return Self { host, port: None };
        }
        let (host, port) = match entry.rsplit_once(':') {
            Some((host, port)) => match port.parse() {
                Ok(port) => (host, Some(port)),
                Err(_) => (entry, None),
            },
            None => (entry, None),
        };
        let host = HostPattern::network(host).unwrap_or_else(|| {
            let name = host.trim_start_matches("*.").trim_matches('.');
            match name {
                "*" => HostPattern::Any,
                name => HostPattern::Domain(name.to_ascii_lowercase()),
            }
        });
        Self { host, port }
    }

    fn matches(&self, authority: &Authority<'_>) -> bool {
        if self.port.is_some_and(|port| port != authority.port) {
            return false;
        }
        let host = authority.host.trim_end_matches('.').to_ascii_lowercase();
        let address = address(&host);
        match (&self.host, address) {
            (HostPattern::Any, _) => true,
            (HostPattern::Network(network, bits), Some(address)) => {
                prefix(*network, *bits) == prefix(address, *bits)
            }
            (HostPattern::Domain(domain), None) => host
                .strip_suffix(domain.as_str())
                .is_some_and(|before| before.is_empty() || before.ends_with('.')),
            _ => false,
        }
    }
}

impl HostPattern {
    /// An address, or a network as an address and the number of its significant bits.
    fn network(text: &str) -> Option<Self> {
        let (text, bits) = match text.split_once('/') {
            Some((text, bits)) => (text, Some(bits.parse::<u32>().ok()?)),
            None => (text, None),
        };
        let address = address(text)?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(width);
        (bits <= width).then_some(Self::Network(address, bits))
    }
}

/// An address; in a URL, an IPv6 address has brackets around it.
fn address(text: &str) -> Option<IpAddr> {
    let inner = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    inner.unwrap_or(text).parse().ok()
}

/// The first bits of an address, and the kind of the address.
fn prefix(address: IpAddr, bits: u32) -> (bool, u128) {
    let (number, width) = match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let dropped = u32::saturating_sub(width, bits);
    // A shift by all bits would overflow.
    (
        address.is_ipv4(),
        number.checked_shr(dropped).unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Proxies {
        Proxies::from_variables(&|name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    /// As the official client (httpx) and curl choose, but for the upper-case `HTTP_PROXY`, which curl
    /// always ignores.
    #[test]
    fn each_scheme_has_its_own_and_the_rest_one_for_all() {
        let (http, https) = ("http://hub.test/x", "https://hub.test/x");
        let both = [("HTTP_PROXY", "http://a:1"), ("HTTPS_PROXY", "b:2")];
        assert_eq!(proxies(&both).for_url(http), Some("http://a:1"));
        assert_eq!(proxies(&both).for_url(https), Some("b:2"));
        let all = [("https_proxy", "b"), ("ALL_PROXY", "socks5://c")];
        assert_eq!(proxies(&all).for_url(http), Some("socks5://c"));
        assert_eq!(proxies(&all).for_url(https), Some("b"));
        let lower = [("HTTPS_PROXY", "upper"), ("https_proxy", "lower")];
        assert_eq!(proxies(&lower).for_url(https), Some("lower"));
        assert_eq!(proxies(&lower).for_url(http), None);
        let none = [("HTTPS_PROXY", "upper"), ("https_proxy", "")];
        assert_eq!(proxies(&none).for_url(https), None);
        let in_a_server = [("HTTP_PROXY", "forged"), ("REQUEST_METHOD", "GET")];
        assert_eq!(proxies(&in_a_server).for_url(http), None);
        assert_eq!(proxies(&[]).for_url(http), None);
    }

    #[track_caller]
    fn check(no_proxy: &str, direct: &[&str], proxied: &[&str]) {
        let variables = [("all_proxy", "p"), ("NO_PROXY", no_proxy)];
        let proxies = proxies(&variables);
        for url in direct {
            assert_eq!(proxies.for_url(url), None, "{no_proxy}: {url}");
        }
        for url in proxied {
            assert_eq!(proxies.for_url(url), Some("p"), "{no_proxy}: {url}");
        }
    }

    /// As curl 7.88 chooses; ports are an addition of Python's, and `*.` is one of this crate's.
    #[test]
    fn hosts_that_are_asked_directly() {
        let spaced = [
            "http://localhost/",
            "https://127.0.0.1:8080/x",
            "http://x.test",
        ];
        check("localhost, 127.0.0.1  x.test", &spaced, &["http://y.test"]);
        for domain in [
            "example.com",
            ".example.com",
            "*.example.com",
            "Example.COM.",
        ] {
            let direct = ["http://example.com", "https://a.b.EXAMPLE.com./x"];
            check(
                domain,
                &direct,
                &["http://badexample.com", "http://example.com.evil"],
            );
        }
        check("*", &["http://a", "https://[::1]/"], &[]);
        check("", &[], &["http://a"]);
        check(
            "a.test:8080,b.test:443",
            &["http://a.test:8080/x", "https://b.test/"],
            &["http://a.test/", "http://b.test/"],
        );
    }

    #[test]
    fn addresses_and_networks_that_are_asked_directly() {
        check(
            "10.0.0.0/8, 192.168.1.7, fd00::/8, [::1], 172.16.0.1:81",
            &[
                "http://10.255.0.1/",
                "http://192.168.1.7:99/",
                "http://[fd12::9]/",
                "https://[::1]:8443/",
                "http://172.16.0.1:81/",
            ],
            &[
                "http://11.0.0.1/",
                "http://192.168.1.70/",
                "http://[fe80::1]/",
                "http://172.16.0.1/",
                "http://10.example.com/",
            ],
        );
        check(
            "0.0.0.0/0",
            &["http://8.8.8.8/"],
            &["http://[::1]/", "http://a/"],
        );
        check("10.0.0.0/99", &[], &["http://10.0.0.1/"]);
    }

    #[test]
    fn a_password_is_not_shown() {
        let proxies = proxies(&[("all_proxy", "http://user:hunter2@p:1")]);
        assert!(!format!("{proxies:?}").contains("hunter2"));
    }
}
