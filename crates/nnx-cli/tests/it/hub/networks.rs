//! Other people's networks: proxies, and machines without a home folder.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use nnx_hub_server::WRITE_TOKEN;

use super::{Desk, REPO};

/// A proxy that leads every connection to one server, whatever host is asked for.
struct Proxy {
    address: String,
    connections: Arc<AtomicUsize>,
}

impl Proxy {
    fn to(endpoint: &str) -> Self {
        let target = endpoint.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("its address"));
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        // It ends with the process.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::SeqCst);
                let target = target.clone();
                thread::spawn(move || lead(&client, &target));
            }
        });
        Self {
            address,
            connections,
        }
    }

    fn seen(&self) -> usize {
        self.connections.swap(0, Ordering::SeqCst)
    }
}

/// Answers `CONNECT` and passes on what comes from either side.
fn lead(client: &TcpStream, target: &str) -> Option<()> {
    let mut lines = BufReader::new(client.try_clone().ok()?);
    let mut line = String::new();
    lines.read_line(&mut line).ok()?;
    assert!(line.starts_with("CONNECT "), "{line}");
    while line.trim() != "" {
        line.clear();
        lines.read_line(&mut line).ok()?;
    }
    let server = TcpStream::connect(target).ok()?;
    let mut out = client;
    out.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
    let upwards = server.try_clone().ok()?;
    thread::spawn(move || pass(lines, upwards));
    pass(server, client.try_clone().ok()?)
}

fn pass(mut from: impl Read, mut to: TcpStream) -> Option<()> {
    std::io::copy(&mut from, &mut to).ok()?;
    to.shutdown(std::net::Shutdown::Both).ok()
}

fn pull(desk: &Desk, variables: &[(&str, &str)]) -> Output {
    let mut command = desk.command(&["pull", REPO, "--force"]);
    command.env("HF_HUB_DOWNLOAD_TIMEOUT", "5");
    for (name, value) in variables {
        command.env(name, value);
    }
    command.output().expect("the command runs")
}

/// Nobody listens there.
const DEAD: &str = "http://127.0.0.1:9";
/// A name that no machine knows; only the proxy leads there.
const INNER: (&str, &str) = ("HF_ENDPOINT", "http://hub.internal.test");

#[test]
fn proxies_are_those_of_the_environment() {
    let desk = Desk::new();
    desk.hub.seed(REPO, &[("a.txt", b"hello")]);
    let proxy = Proxy::to(desk.hub.endpoint());
    let (good, socks) = (proxy.address.as_str(), "socks5://127.0.0.1:9");
    let port = desk.hub.endpoint().rsplit(':').next().expect("a port");
    let with_port = format!("127.0.0.1:{port}");
    for (variables, is_proxied) in [
        (&[INNER, ("HTTP_PROXY", good)][..], true),
        (&[INNER, ("http_proxy", good)], true),
        (&[INNER, ("ALL_PROXY", good)], true),
        (&[INNER, ("HTTP_PROXY", good), ("HTTPS_PROXY", DEAD)], true),
        (&[INNER, ("HTTP_PROXY", good), ("ALL_PROXY", socks)], true),
        (&[INNER, ("HTTP_PROXY", DEAD), ("http_proxy", good)], true),
        (
            &[INNER, ("HTTP_PROXY", good), ("NO_PROXY", "example.com")],
            true,
        ),
        (
            &[("HTTP_PROXY", DEAD), ("NO_PROXY", "localhost, 127.0.0.1")],
            false,
        ),
        (&[("http_proxy", DEAD), ("no_proxy", "127.0.0.0/8")], false),
        (&[("HTTP_PROXY", DEAD), ("NO_PROXY", &with_port)], false),
        (&[("HTTPS_PROXY", DEAD)], false),
    ] {
        let output = pull(&desk, variables);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{variables:?}: {said}");
        assert_eq!(proxy.seen() > 0, is_proxied, "{variables:?}");
    }
}

/// A proxy that cannot be used is not passed by: that would tell the network what is asked for.
#[test]
fn a_proxy_that_cannot_be_used_is_an_error() {
    let desk = Desk::new();
    desk.hub.seed(REPO, &[("a.txt", b"hello")]);
    for (address, part) in [("socks5h://127.0.0.1:9", "SOCKS"), ("http://", "proxy")] {
        let output = pull(&desk, &[("ALL_PROXY", address)]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(part), "{said}");
    }
    assert!(desk.hub.seen().is_empty());
}

#[test]
fn without_a_home_folder_a_named_cache_suffices() {
    let desk = Desk::new();
    desk.hub.seed(REPO, &[("a.txt", b"hello")]);
    let cache = desk.home.path().join("cache");
    let homeless = |words: &[&str]| {
        let mut command = desk.command(words);
        for name in ["HOME", "USERPROFILE", "HF_HOME", "HF_TOKEN"] {
            command.env_remove(name);
        }
        command
    };
    // A token file, which the home of this machine's user may have, is not asked for.
    let mut command = homeless(&["pull", REPO]);
    command.env("HF_HUB_CACHE", &cache);
    let output = command.env("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1").output();
    let output = output.expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(cache.join("models--acme--model/blobs").is_dir());
    let output = homeless(&["whoami"]).env("HF_TOKEN", WRITE_TOKEN).output();
    let output = output.expect("the command runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("alice"), "{said}");
}
