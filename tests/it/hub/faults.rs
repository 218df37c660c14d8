//! Faults between a client and the Hub, and their outcomes.

mod changing;
mod uploads;

use std::time::Duration;

use nnx_hub::{ErrorKind, SnapshotOptions};
use nnx_hub_server::{Action, Fault, WRITE_TOKEN};

use super::desk::{Desk, REPO, direct, repo};
use super::loading::check_same;

/// The outcome of a fault.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    /// The right bytes, after another try.
    Recovered,
    /// The right bytes, without one.
    Unmoved,
    /// An error of that kind.
    Error(&'static str),
}

use Outcome::{Error, Recovered, Unmoved};

const GUIDE: &str = include_str!("../../../docs/hub.md");

/// The guide has the fault in one of its tables, with its outcome.
#[track_caller]
fn check_told(label: &str, outcome: Outcome) {
    let outcome = match outcome {
        Recovered => "recovered".to_owned(),
        Unmoved => "no effect".to_owned(),
        Error(name) => format!("error: {name}"),
    };
    let row = format!("| {label} | {outcome} |");
    assert!(
        GUIDE.lines().any(|line| line == row),
        "the guide lacks {row}"
    );
}

fn name(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Corrupt { .. } => "corrupt",
        ErrorKind::Server { .. } => "server",
        ErrorKind::RateLimited { .. } => "rate limited",
        ErrorKind::Protocol { .. } => "protocol",
        ErrorKind::Network { .. } => "network",
        ErrorKind::Timeout { .. } => "timeout",
        ErrorKind::UnsafePath { .. } => "unsafe path",
        ErrorKind::Forbidden { .. } => "forbidden",
        ErrorKind::Changed { .. } => "changed",
        ErrorKind::CommitUnknown { .. } => "commit unknown",
        ErrorKind::Conflict { .. } => "conflict",
        ErrorKind::RepositoryNotFound { .. } => "repository not found",
        _ => "other",
    }
}

/// No file of the cache is anything else than its name says, and no revision is noted that is not
/// whole.
#[track_caller]
pub(super) fn check_cache(desk: &Desk) {
    let root = desk.cache.path().join("models--alice--model");
    let local = SnapshotOptions::default().local_files_only(true);
    if root.join("refs/main").exists() {
        check_same(&desk.hub.snapshot(&repo(), &local).unwrap());
    }
    let Ok(blobs) = std::fs::read_dir(root.join("blobs")) else {
        return;
    };
    let known: Vec<Vec<u8>> = desk.state().files(REPO, "main").into_values().collect();
    for blob in blobs {
        let path = blob.unwrap().path();
        assert!(
            path.extension().is_none(),
            "{} is left behind",
            path.display()
        );
        assert!(
            known.contains(&std::fs::read(&path).unwrap()),
            "{}",
            path.display()
        );
    }
}

/// Loads under a fault, then without it; never wrong bytes, never a poisoned cache.
#[track_caller]
fn check(label: &str, fault: Fault, expected: Outcome) {
    for desk in [Desk::in_memory(), Desk::on_loopback()] {
        desk.seed();
        desk.state().fault(fault.clone());
        let outcome = match desk.hub.snapshot(&repo(), &SnapshotOptions::default()) {
            Ok(folder) => {
                check_same(&folder);
                if desk.notes().is_empty() {
                    Unmoved
                } else {
                    Recovered
                }
            }
            Err(error) => {
                let text = format!("{error} {error:?}");
                assert!(
                    !text.contains(WRITE_TOKEN) && !text.contains("s3cret"),
                    "{text}"
                );
                Error(name(error.kind()))
            }
        };
        assert_eq!(outcome, expected, "{label}: {:?}", desk.notes());
        check_cache(&desk);
        // The fault is over.
        desk.state().calm();
        check_same(
            &desk
                .hub
                .snapshot(&repo(), &SnapshotOptions::default())
                .unwrap(),
        );
        check_cache(&desk);
    }
    check_told(label, expected);
}

fn status(status: u16) -> Action {
    Action::Status(status, Vec::new(), "<html>busy</html>".to_owned())
}

fn retry_after(seconds: &str) -> Action {
    let headers = vec![("retry-after".to_owned(), seconds.to_owned())];
    Action::Status(429, headers, String::new())
}

/// A refusal at a moment that allows another request at a later one.
fn retry_at(now: &str, then: &str) -> Action {
    let headers = [("date", now), ("retry-after", then)];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Action::Status(429, headers.into(), String::new())
}

/// The faults of a download, each with its outcome.
#[test]
fn downloads() {
    let blob = || Fault::new("/blob/", Action::Corrupt);
    let of_blob = |action: Action| Fault::new("/blob/", action);
    let of_config = |action: Action| Fault::new("/config.json", action);
    let of_info = |action: Action| Fault::new("/revision/main", action);
    let of_tree = |action: Action| Fault::new("/tree/", action);
    let header = |name: &str, value: &str| Action::Header(name.to_owned(), value.to_owned());

    check("one 503 for a large file", of_blob(status(503)), Recovered);
    check(
        "503 for ever",
        of_blob(status(503)).times(99),
        Error("server"),
    );
    check(
        "403 page in the place of a file",
        of_config(status(403)),
        Error("forbidden"),
    );
    check("500 for the listing, once", of_tree(status(500)), Recovered);
    check(
        "429 with Retry-After of 0 s",
        of_info(retry_after("0")),
        Recovered,
    );
    check(
        "429 with Retry-After of an hour",
        of_info(retry_after("3600")),
        Error("rate limited"),
    );
    let now = "Sun, 06 Nov 1994 08:49:37 GMT";
    check(
        "429 with Retry-After of a date that is now",
        of_info(retry_at(now, "Sunday, 06-Nov-94 08:49:37 GMT")),
        Recovered,
    );
    check(
        "429 with Retry-After of a date in an hour",
        of_info(retry_at(now, "Sun Nov  6 09:49:37 1994")),
        Error("rate limited"),
    );
    check(
        "connection dropped, once",
        of_config(Action::Drop),
        Recovered,
    );
    check(
        "connection dropped for ever",
        of_blob(Action::Drop).times(99),
        Error("network"),
    );
    check("body cut off", of_blob(Action::Cut(300)), Recovered);
    check(
        "body cut off thrice, farther each time",
        of_blob(Action::Cut(200)).times(3),
        Recovered,
    );
    check(
        "body cut off before its first byte, for ever",
        of_blob(Action::Cut(0)).times(99),
        Error("network"),
    );
    check(
        "short body with a matching length",
        of_blob(Action::Truncate(100)),
        Recovered,
    );
    check(
        "short body in chunks",
        of_blob(Action::ChunkCut(100)),
        Recovered,
    );
    check(
        "short regular file",
        of_config(Action::Truncate(10)).skip(1),
        Recovered,
    );
    check("a byte flipped, once", blob(), Recovered);
    check(
        "a byte flipped each time",
        blob().times(99),
        Error("corrupt"),
    );
    check(
        "a regular file flipped each time",
        of_config(Action::Corrupt).skip(1).times(99),
        Error("corrupt"),
    );
    check(
        "a page in the place of a file, with 200",
        of_blob(Action::Body("<html>log in</html>".to_owned())).times(99),
        Error("corrupt"),
    );
    check(
        "a longer body than stated",
        of_blob(Action::Body("x".repeat(2000))).times(99),
        Error("corrupt"),
    );
    check(
        "wrong ETag of the redirect",
        of_config(header("x-linked-etag", "\"../../../../x\"")),
        Unmoved,
    );
    check(
        "wrong ETag of the store",
        of_blob(header("etag", "\"0\"")),
        Unmoved,
    );
    check(
        "wrong commit of a file",
        of_config(header("x-repo-commit", "../x")),
        Unmoved,
    );
    check("slow bodies", of_blob(Action::Trickle(200, 20)), Unmoved);
    check("reply lost", of_config(Action::Late), Recovered);
    check(
        "page in the place of JSON",
        of_info(Action::Body("<html>".to_owned())),
        Error("protocol"),
    );
    check("JSON cut off", of_tree(Action::Truncate(20)), Recovered);
    check(
        "JSON that does not end",
        of_tree(Action::Body("[".to_owned() + &" ".repeat(17 << 20))),
        Error("protocol"),
    );
    check(
        "JSON packed without being asked",
        of_tree(header("content-encoding", "gzip")),
        Error("protocol"),
    );
    check(
        "redirect to another scheme",
        of_config(redirect("file:///etc/passwd")),
        Error("protocol"),
    );
    check(
        "redirect that turns round",
        of_config(redirect("/alice/model/resolve/x/config.json")).times(99),
        Error("protocol"),
    );
    // The page is asked of the endpoint, which has no such page.
    check(
        "listing that goes on elsewhere",
        of_tree(header("link", "<http://evil.test/x>; rel=\"next\"")),
        Error("server"),
    );
    check(
        "listing that goes on at no address",
        of_tree(header("link", "<file:///x>; rel=\"next\"")),
        Error("protocol"),
    );
}

fn redirect(to: &str) -> Action {
    redirect_with(302, to)
}

fn redirect_with(status: u16, to: &str) -> Action {
    let headers = vec![("location".to_owned(), to.to_owned())];
    Action::Status(status, headers, String::new())
}

#[test]
fn a_cut_download_goes_on_where_it_was_cut() {
    for desk in [Desk::in_memory(), Desk::on_loopback()] {
        desk.seed();
        desk.state().fault(Fault::new("/blob/", Action::Cut(300)));
        let folder = desk
            .hub
            .snapshot(&repo(), &SnapshotOptions::default())
            .unwrap();
        check_same(&folder);
        let seen = desk.state().seen();
        let ranges: Vec<_> = seen
            .iter()
            .filter(|seen| seen.target.starts_with("/blob/"))
            .map(|seen| seen.range.clone())
            .collect();
        assert_eq!(ranges, [None, Some("bytes=300-".to_owned())]);
    }
}

#[test]
fn a_part_that_was_not_asked_for_is_not_taken() {
    for desk in [Desk::in_memory(), Desk::on_loopback()] {
        desk.seed();
        desk.state().fault(Fault::new("/blob/", Action::Cut(300)));
        let wrong = Action::Header("content-range".to_owned(), "bytes 0-843/844".to_owned());
        desk.state().fault(Fault::new("/blob/", wrong).skip(1));
        check_same(
            &desk
                .hub
                .snapshot(&repo(), &SnapshotOptions::default())
                .unwrap(),
        );
        check_cache(&desk);
    }
}

#[test]
fn hostile_names_are_not_followed() {
    for path in [
        "../../x",
        "/etc/x",
        "a\\..\\x",
        ".git/hooks/x",
        "C:x",
        "a/b.",
    ] {
        let desk = Desk::in_memory();
        desk.seed();
        let rows = serde_json::json!([{
            "type": "file", "path": path, "size": 1, "oid": "0".repeat(40),
        }]);
        let fault = Fault::new("/tree/", Action::Body(rows.to_string()));
        desk.state().fault(fault);
        let error = desk
            .hub
            .snapshot(&repo(), &SnapshotOptions::default())
            .unwrap_err();
        assert_eq!(name(error.kind()), "unsafe path", "{error}");
        check_cache(&desk);
    }
    for oid in ["../../../x", "", "zz"] {
        let desk = Desk::in_memory();
        desk.seed();
        let rows = serde_json::json!([{ "type": "file", "path": "a", "size": 1, "oid": oid }]);
        desk.state()
            .fault(Fault::new("/tree/", Action::Body(rows.to_string())));
        let error = desk
            .hub
            .snapshot(&repo(), &SnapshotOptions::default())
            .unwrap_err();
        assert_eq!(name(error.kind()), "protocol", "{error}");
    }
}

#[test]
fn a_name_that_not_every_system_takes_can_be_left_out() {
    let desk = Desk::in_memory();
    desk.state()
        .seed(REPO, &[("a:b", b"1"), ("config.json", b"{}")]);
    let snapshot = |options: &SnapshotOptions| desk.hub.snapshot(&repo(), options);
    let error = snapshot(&SnapshotOptions::default()).unwrap_err();
    assert_eq!(name(error.kind()), "unsafe path", "{error}");
    for offline in [false, true] {
        let wanted = SnapshotOptions::default()
            .allow_patterns(["*.json"])
            .local_files_only(offline);
        assert!(snapshot(&wanted).unwrap().join("config.json").is_file());
    }
}

#[test]
fn a_silent_server_is_given_up() {
    let desk = Desk::on_loopback();
    desk.seed();
    desk.state()
        .fault(Fault::new("/blob/", Action::Slow(2500)).times(99));
    let error = desk
        .hub
        .snapshot(&repo(), &SnapshotOptions::default())
        .unwrap_err();
    assert_eq!(name(error.kind()), "timeout", "{error}");
    check_cache(&desk);
}

#[test]
fn a_server_that_repeats_the_token_does_not_make_it_known() {
    let desk = Desk::in_memory();
    desk.seed();
    let echo = Action::Status(400, Vec::new(), format!("you sent {WRITE_TOKEN}"));
    desk.state().fault(Fault::new("/revision/", echo));
    let error = desk.hub.repo_info(&repo(), "main").unwrap_err().to_string();
    assert!(error.contains("you sent …"), "{error}");
}

/// Checks the error of a client that finds no Hub at the endpoint.
#[track_caller]
fn check_unreachable(endpoint: &str) {
    let transport = direct(Duration::from_secs(1));
    let variable = |name: &str| (name == "HF_HOME").then(|| "/nonexistent".to_owned());
    let mut settings = nnx_hub::Settings::from_variables(&variable).unwrap();
    endpoint.clone_into(&mut settings.endpoint);
    let hub = nnx_hub::Hub::with_transport(settings, std::sync::Arc::new(transport))
        .retry(nnx_hub::Retry::default().attempts(1));
    let error = hub.repo_info(&repo(), "main").unwrap_err();
    assert_eq!(name(error.kind()), "network", "{error}");
}

#[test]
fn nobody_listens() {
    check_unreachable("http://127.0.0.1:9");
}

#[test]
fn a_server_without_tls_is_no_secure_one() {
    let desk = Desk::on_loopback();
    check_unreachable(&desk.hub.endpoint().replace("http:", "https:"));
}
