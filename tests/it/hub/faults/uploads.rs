//! Faults while a model is pushed.

use nnx_hub::{ModelHubMixin, PushOptions, UploadOptions};
use nnx_hub_server::{Action, Fault, WRITE_TOKEN};
use nnx_net::NNModel;

use super::super::desk::{Desk, REPO, fixture, repo};
use super::Outcome::{self, Error, Recovered, Unmoved};
use super::{check_told, name, redirect, redirect_with, retry_after, status};

/// Pushes under a fault: the commit is made once, or not at all.
#[track_caller]
fn check_push(label: &str, fault: Fault, create_pr: bool, expected: Outcome) {
    for desk in [Desk::in_memory(), Desk::on_loopback()] {
        desk.state().seed(REPO, &[("a", b"1")]);
        desk.state().fault(fault.clone());
        let model = NNModel::from_pretrained(fixture()).unwrap();
        let options = PushOptions::default()
            .hub(desk.hub.clone())
            .create_pr(create_pr);
        let outcome = match model.push_to_hub_with(REPO, &options) {
            Ok(pushed) => {
                assert!(pushed.changed);
                assert_eq!(pushed.pull_request_url.is_some(), create_pr);
                let revision = if create_pr { "refs/pr/1" } else { "main" };
                let files = desk.state().files(REPO, revision);
                let weights = std::fs::read(fixture().join("model.safetensors")).unwrap();
                assert_eq!(files["model.safetensors"], weights);
                if desk.notes().is_empty() {
                    Unmoved
                } else {
                    Recovered
                }
            }
            Err(error) => {
                assert!(!format!("{error:?}").contains(WRITE_TOKEN));
                Error(name(error.kind()))
            }
        };
        assert_eq!(outcome, expected, "{label}: {:?}", desk.notes());
        let made = desk.state().commits(REPO).len() - 2;
        assert!(made <= 1, "{label}: {made} commits");
        assert!(desk.state().pull_requests(REPO) <= usize::from(create_pr));
        // After any fault, another push makes it right, and makes no second commit.
        desk.state().calm();
        if !create_pr {
            let options = PushOptions::default().hub(desk.hub.clone());
            model.push_to_hub_with(REPO, &options).unwrap();
            assert_eq!(desk.state().commits(REPO).len(), 3, "{label}");
        }
    }
    check_told(label, expected);
}

#[test]
fn uploads() {
    let commit = |action: Action| Fault::new("/commit/main", action).method("POST");
    let upload = |action: Action| Fault::new("/upload/", action);
    check_push(
        "reply to the commit lost",
        commit(Action::Late),
        false,
        Recovered,
    );
    check_push(
        "request of the commit lost",
        commit(Action::Drop),
        false,
        Recovered,
    );
    check_push("commit answered 503", commit(status(503)), false, Recovered);
    check_push(
        "commit answered 503 for ever",
        commit(status(503)).times(99),
        false,
        Error("server"),
    );
    check_push(
        "commit answered 429",
        commit(retry_after("0")),
        false,
        Recovered,
    );
    check_push(
        "reply to the commit cut",
        commit(Action::Truncate(9)),
        false,
        Recovered,
    );
    check_push(
        "reply to a pull request lost",
        commit(Action::Late),
        true,
        Recovered,
    );
    check_push(
        "request of a pull request lost",
        commit(Action::Drop),
        true,
        Error("network"),
    );
    check_push(
        "commit redirected to another server",
        commit(redirect_with(
            307,
            "http://127.0.0.1:9/api/models/alice/model/commit/main",
        )),
        false,
        Error("protocol"),
    );
    check_push(
        "commit redirected as one asks for a page",
        commit(redirect("/api/models/alice/model/commit/main")),
        false,
        Error("protocol"),
    );
    check_push("upload dropped", upload(Action::Drop), false, Recovered);
    check_push("upload answered 500", upload(status(500)), false, Recovered);
    check_push(
        "reply to the upload lost",
        upload(Action::Late),
        false,
        Recovered,
    );
    check_push(
        "upload refused",
        upload(status(403)),
        false,
        Error("forbidden"),
    );
    check_push(
        "verification lost",
        Fault::new("/_lfs/verify", Action::Drop),
        false,
        Recovered,
    );
    check_push(
        "preupload answered 502",
        Fault::new("/preupload/", status(502)),
        false,
        Recovered,
    );
    check_push(
        "creation's reply lost",
        Fault::new("/repos/create", Action::Late),
        false,
        Recovered,
    );
}

#[test]
fn an_outcome_that_cannot_be_told_is_said_so() {
    let desk = Desk::in_memory();
    desk.state().seed(REPO, &[("a", b"1")]);
    desk.state().fault(Fault::new("/commit/main", Action::Late));
    // The first look is before the commit.
    desk.state()
        .fault(Fault::new("/revision/main", status(500)).skip(1).times(99));
    let model = NNModel::from_pretrained(fixture()).unwrap();
    let options = PushOptions::default().hub(desk.hub.clone());
    let error = model.push_to_hub_with(REPO, &options).unwrap_err();
    assert_eq!(name(error.kind()), "commit unknown", "{error}");
    assert_eq!(desk.state().commits(REPO).len(), 3);
}

#[test]
fn another_commit_in_between_is_a_conflict() {
    let desk = Desk::in_memory();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("b"), "2").unwrap();
    desk.state().seed(REPO, &[("a", b"1")]);
    let reply = Action::Status(412, Vec::new(), String::new());
    desk.state().fault(Fault::new("/commit/main", reply));
    let error = desk
        .hub
        .upload_folder(folder.path(), &repo(), &UploadOptions::default())
        .unwrap_err();
    assert_eq!(name(error.kind()), "conflict", "{error}");
}
