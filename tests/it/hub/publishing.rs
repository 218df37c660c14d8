//! Pushing: one commit, no more than needed, and where it goes.

use std::path::Path;

use nnx_hub::{
    ErrorKind, LoadOptions, ModelHubMixin, PushOptions, RepoId, SaveOptions, SnapshotOptions,
    UploadOptions,
};
use nnx_hub_server::{Action, Fault, READ_TOKEN};
use nnx_net::NNModel;

use super::desk::{Desk, REPO, fixture, repo};
use super::folders::Plain;
use super::saving::small;

fn model() -> NNModel {
    NNModel::from_pretrained(fixture()).unwrap()
}

fn options(desk: &Desk) -> PushOptions {
    PushOptions::default().hub(desk.hub.clone())
}

#[track_caller]
fn check_pushed(desk: &Desk, revision: &str) {
    let files = desk.state().files(REPO, revision);
    for name in ["README.md", "config.json", "model.safetensors"] {
        assert_eq!(
            files[name],
            std::fs::read(fixture().join(name)).unwrap(),
            "{name}"
        );
    }
}

#[test]
fn a_model_is_pushed_as_one_commit_and_loaded_back() {
    for desk in [Desk::in_memory(), Desk::on_loopback()] {
        let pushed = model().push_to_hub_with(REPO, &options(&desk)).unwrap();
        assert!(pushed.changed);
        assert_eq!(
            pushed.uploaded,
            ["README.md", "config.json", "model.safetensors"]
        );
        let url = format!("{}/{REPO}/commit/{}", desk.hub.endpoint(), pushed.commit);
        assert_eq!(pushed.url(), url);
        check_pushed(&desk, "main");
        assert!(desk.state().is_large(REPO, "model.safetensors"));
        assert!(!desk.state().is_large(REPO, "config.json"));
        let commits = desk.state().commits(REPO);
        assert_eq!(
            commits,
            ["initial commit", "Push model using huggingface_hub."]
        );
        for seen in desk.state().seen() {
            assert_eq!(seen.token, seen.hub, "{seen:?}");
        }

        // Unchanged: no commit, and nothing is sent.
        desk.state().calm();
        let again = model().push_to_hub_with(REPO, &options(&desk)).unwrap();
        assert_eq!((again.changed, again.commit), (false, pushed.commit));
        assert_eq!(desk.state().commits(REPO).len(), 2);
        let seen = desk.state().seen();
        assert!(
            seen.iter()
                .all(|seen| seen.method == "GET" || seen.target.ends_with("/create"))
        );

        let load = LoadOptions::default().hub(desk.hub.clone());
        let back = NNModel::from_pretrained_with(REPO, &load).unwrap();
        assert_eq!(back.params(), model().params());
    }
}

#[test]
fn a_name_without_an_owner_is_ones_own() {
    let desk = Desk::in_memory();
    let pushed = model().push_to_hub_with("model", &options(&desk)).unwrap();
    assert_eq!(pushed.repo, REPO);
    let again = model().push_to_hub_with("model", &options(&desk)).unwrap();
    assert!(!again.changed);
}

#[test]
fn a_private_repository_a_branch_and_a_pull_request() {
    let desk = Desk::on_loopback();
    let private = options(&desk).private(true);
    model().push_to_hub_with(REPO, &private).unwrap();
    let stranger = desk.as_other(Some(READ_TOKEN)).repo_info(&repo(), "main");
    assert!(stranger.is_err());
    assert!(desk.hub.repo_info(&repo(), "main").unwrap().private);

    let on_branch = options(&desk).branch("next").delete_patterns(["README.md"]);
    let only = on_branch.clone().allow_patterns(["config.json"]);
    let error = model().push_to_hub_with(REPO, &only).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::RevisionNotFound { .. }),
        "{error}"
    );
    desk.hub.create_branch(&repo(), "next", "main").unwrap();
    desk.hub.create_branch(&repo(), "next", "main").unwrap();
    let pushed = model().push_to_hub_with(REPO, &only).unwrap();
    assert_eq!(
        (pushed.uploaded.len(), pushed.deleted),
        (0, vec!["README.md".to_owned()])
    );
    assert!(!desk.state().files(REPO, "next").contains_key("README.md"));
    check_pushed(&desk, "main");

    let proposal = options(&desk)
        .create_pr(true)
        .delete_patterns(["*.json", "*.md", ".*"]);
    let only = proposal
        .allow_patterns(["*.safetensors"])
        .commit_message("Fewer files");
    let pushed = model().push_to_hub_with(REPO, &only).unwrap();
    let url = format!("{}/{REPO}/discussions/1", desk.hub.endpoint());
    assert_eq!(pushed.pull_request_url, Some(url.clone()));
    assert_eq!(pushed.url(), url);
    check_pushed(&desk, "main");
    let kept: Vec<_> = desk.state().files(REPO, "refs/pr/1").into_keys().collect();
    assert_eq!(kept, [".gitattributes", "model.safetensors"]);
}

#[test]
fn large_files_go_in_parts_where_the_hub_wants_parts() {
    let desk = Desk::on_loopback();
    desk.state().set_part_bytes(300);
    model().push_to_hub_with(REPO, &options(&desk)).unwrap();
    check_pushed(&desk, "main");
    let seen = desk.state().seen();
    let parts = seen.iter().filter(|seen| seen.target.starts_with("/part/"));
    assert_eq!(parts.count(), 3);
}

#[test]
fn a_part_that_is_refused_is_sent_again() {
    let desk = Desk::on_loopback();
    desk.state().set_part_bytes(300);
    let busy = Action::Status(503, Vec::new(), String::new());
    desk.state().fault(Fault::new("/part/", busy).skip(1));
    desk.state()
        .fault(Fault::new("/part/", Action::Late).skip(2));
    model().push_to_hub_with(REPO, &options(&desk)).unwrap();
    check_pushed(&desk, "main");
}

#[test]
fn weights_under_other_names_go_with_the_push() {
    for within in [None, Some("./sub/deep/")] {
        let desk = Desk::in_memory();
        desk.state()
            .seed(REPO, &[("sub/model.safetensors", b"another's")]);
        let sharded = SaveOptions::default().max_shard_bytes(70);
        for (seed, save) in [
            (1, sharded.clone()),
            (2, SaveOptions::default()),
            (3, sharded.clone()),
            (4, sharded.max_shard_bytes(200)),
        ] {
            let mut options = options(&desk).save(save);
            options.upload.path_in_repo = within.map(str::to_owned);
            let pushed = small(seed).push_to_hub_with(REPO, &options).unwrap();
            let again = small(seed).push_to_hub_with(REPO, &options).unwrap();
            assert!(pushed.changed && !again.changed);
            let snapshot = desk.hub.snapshot(&repo(), &SnapshotOptions::default());
            let folder = snapshot.unwrap().join(within.unwrap_or_default());
            let back = Plain::from_pretrained(&folder).unwrap();
            let found = back.weights.tensor("a").unwrap().to_bytes().unwrap();
            assert_eq!(*found, vec![seed; 60]);
            assert_ne!(
                folder.join("model.safetensors").exists(),
                folder.join("model.safetensors.index.json").exists()
            );
            let others = desk.state().files(REPO, "main");
            assert!(others.contains_key("sub/model.safetensors"));
        }
        // A push without weights leaves them where they are.
        let mut options = options(&desk).allow_patterns(["*.md"]);
        options.upload.path_in_repo = within.map(str::to_owned);
        let pushed = small(5).push_to_hub_with(REPO, &options).unwrap();
        assert_eq!(pushed.deleted, Vec::<String>::new());
    }
}

#[test]
fn a_part_of_the_weights_replaces_nothing() {
    let desk = Desk::in_memory();
    let sharded = options(&desk).save(SaveOptions::default().max_shard_bytes(70));
    small(1).push_to_hub_with(REPO, &sharded).unwrap();
    for allowed in [
        &["*.json"][..],
        &["model-00001*"],
        &["*.json", "model-00002*"],
    ] {
        let some = sharded.clone().allow_patterns(allowed.iter().copied());
        let pushed = small(1).push_to_hub_with(REPO, &some).unwrap();
        assert_eq!(pushed.deleted, Vec::<String>::new());
        let whole = options(&desk).allow_patterns(allowed.iter().copied());
        match small(2).push_to_hub_with(REPO, &whole) {
            Ok(pushed) => assert_eq!(pushed.deleted, Vec::<String>::new()),
            // Of one file there are no shards to take.
            Err(error) => {
                assert!(!allowed.contains(&"*.json"), "{error}");
                assert!(matches!(error.kind(), ErrorKind::MissingFile { .. }));
            }
        }
    }
}

#[test]
fn who_may_not_write_is_told() {
    let desk = Desk::in_memory();
    desk.state().seed(REPO, &[("a", b"1")]);
    let push = |token| {
        let options = PushOptions::default().hub(desk.as_other(token));
        model().push_to_hub_with(REPO, &options).unwrap_err()
    };
    assert!(matches!(push(None).kind(), ErrorKind::TokenMissing));
    assert!(matches!(
        push(Some("hf_test_x")).kind(),
        ErrorKind::TokenRefused
    ));
    let error = push(Some(READ_TOKEN));
    assert!(
        matches!(error.kind(), ErrorKind::Forbidden { .. }),
        "{error}"
    );
    assert_eq!(desk.state().commits(REPO).len(), 2);
}

fn put(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

#[test]
fn a_run_is_uploaded_without_its_locks() {
    let desk = Desk::in_memory();
    let folder = tempfile::tempdir().unwrap();
    put(
        folder.path(),
        &[
            ("run.yaml", "a"),
            (".run.lock", ""),
            ("checkpoints/last.pt", "b"),
            ("checkpoints/last.pt.lock", ""),
            ("checkpoints/.last.pt.x81k_2aa", "half"),
            ("empty.txt", ""),
        ],
    );
    let options = UploadOptions::default()
        .path_in_repo("runs/1")
        .commit_description("all of it");
    let id = RepoId::parse("acme/runs").unwrap();
    let pushed = desk
        .hub
        .upload_folder(folder.path(), &id, &options)
        .unwrap();
    let expected = [
        "runs/1/checkpoints/last.pt",
        "runs/1/empty.txt",
        "runs/1/run.yaml",
    ];
    assert_eq!(pushed.uploaded, expected);
    assert!(
        desk.state()
            .is_large("acme/runs", "runs/1/checkpoints/last.pt")
    );
    let title = desk.state().commits("acme/runs").pop();
    assert_eq!(
        title.as_deref(),
        Some("Upload folder using huggingface_hub")
    );

    // A file that the repository's `.gitignore` names is not sent; a file that changed is sent
    // alone.
    put(
        folder.path(),
        &[("run.yaml", "c"), (".gitignore", "runs/1/empty.txt\n")],
    );
    let pushed = desk
        .hub
        .upload_folder(folder.path(), &id, &options)
        .unwrap();
    assert_eq!(pushed.uploaded, ["runs/1/.gitignore", "runs/1/run.yaml"]);
}

#[test]
fn files_of_the_same_commit_are_not_deleted() {
    let desk = Desk::in_memory();
    desk.seed();
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), &[("new.txt", "1"), ("config.json", "{}")]);
    let options = UploadOptions::default().delete_patterns(["*"]);
    desk.hub
        .upload_folder(folder.path(), &repo(), &options)
        .unwrap();
    let kept: Vec<_> = desk.state().files(REPO, "main").into_keys().collect();
    assert_eq!(kept, [".gitattributes", "config.json", "new.txt"]);
}

#[test]
fn a_model_that_cannot_be_saved_makes_no_repository() {
    struct Unsaved;
    impl ModelHubMixin for Unsaved {
        fn write_pretrained(&self, _: &mut nnx_hub::FolderWriter) -> Result<(), nnx_hub::BoxError> {
            Err("no".into())
        }
        fn read_pretrained(
            _: &nnx_hub::Folder,
            _: &LoadOptions,
        ) -> Result<Self, nnx_hub::BoxError> {
            Ok(Self)
        }
    }
    let desk = Desk::in_memory();
    assert!(Unsaved.push_to_hub_with(REPO, &options(&desk)).is_err());
    assert!(desk.state().seen().is_empty());
}
