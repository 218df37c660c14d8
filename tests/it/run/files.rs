//! Every fixture run loads to the values of the real library, and is written byte for byte.

use std::fs;

use nnx_params::{Checkpoints, State, Value};
use nnx_run::yaml::to_yaml;
use nnx_run::{CheckpointStore, CheckpointTag, ErrorKind, NNRun, RunSummary};
use nnx_tests::{Json, LIBRARY_VERSIONS, fixtures_dir, sha256};

use super::support::{copy_of, read, tree};

/// The files of a run beside its checkpoints.
const OTHER_FILES: [&str; 3] = ["run.yaml", "metadata.yaml", "idps.csv"];

#[test]
fn every_run_loads_to_what_the_library_says() {
    for version in LIBRARY_VERSIONS {
        let root = copy_of(version);
        let expected = read(version, "expected.json");
        let id = expected.get("run_id");
        let run = NNRun::load(id.text(), root.path()).unwrap();
        assert_eq!(run.id(), id.text());
        assert_eq!(&run.state().unwrap(), expected.get("run_state").state());
        assert_eq!(run.idps().len(), expected.get("n_idps").size());
        assert_eq!(expected.get("loaded_id_equal").0, Value::Bool(true));
        assert_eq!(run.parent(), None);

        let child = expected.get("child_run_id");
        let child = NNRun::load(child.text(), root.path()).unwrap();
        assert_eq!(child.parent(), Some((id.text(), Some("last"))));
        let first = child.idps()[0].epoch_idx().as_i64().unwrap();
        assert_eq!(first as usize, expected.get("child_first_epoch").size());

        let mut ids = vec![id.text().to_owned(), child.id().to_owned()];
        ids.sort();
        let all = NNRun::all(root.path()).unwrap().into_iter();
        let all: Vec<_> = all.map(|(name, run)| (name, run.unwrap())).collect();
        assert!(all.iter().all(|(name, run)| name == run.id()));
        assert_eq!(
            all.into_iter().map(|(name, _)| name).collect::<Vec<_>>(),
            ids
        );
        let best = expected.get("best_symlink");
        assert_eq!(
            NNRun::best_id(root.path()).unwrap().as_deref(),
            Some(best.text())
        );
        assert_eq!(NNRun::best(root.path()).unwrap().unwrap().id(), best.text());
    }
}

#[test]
fn every_checkpoint_loads_to_what_the_library_says() {
    for version in LIBRARY_VERSIONS {
        let root = copy_of(version);
        let expected = read(version, "expected.json");
        let checkpoints = expected.get("checkpoints");
        let mut tags = 0;
        for id in [expected.get("run_id"), expected.get("child_run_id")] {
            tags += CheckpointStore::new(id.text(), root.path())
                .unwrap()
                .tags()
                .unwrap()
                .len();
        }
        assert_eq!(tags, checkpoints.state().len());
        for (name, case) in checkpoints.state() {
            let at = format!("{version}: {name}");
            let case = Json(case.clone());
            let (id, tag) = name.split_once('/').unwrap();
            let store = CheckpointStore::new(id, root.path()).unwrap();
            let tag: CheckpointTag = tag.parse().unwrap();
            let (checkpoint, state) = store.load_with_training_state(&tag).unwrap();
            let (checkpoint, state) = (checkpoint.unwrap(), state.unwrap());
            let tensors = case.get("tensors").items();
            assert_eq!(checkpoint.net_state.len(), tensors.len(), "{at}");
            for tensor in tensors {
                let found = checkpoint
                    .net_state
                    .tensor(tensor.get("name").text())
                    .unwrap();
                let bytes = found.to_bytes().unwrap();
                assert_eq!(sha256(&bytes), tensor.get("sha256").text(), "{at}");
            }
            assert_eq!(
                &checkpoint.idp.state(),
                case.get("idp_state").state(),
                "{at}"
            );
            let training_state_id = case.get("training_state_id");
            assert_eq!(
                checkpoint.training_state_id.as_deref(),
                Some(training_state_id.text())
            );
            assert_eq!(
                state.checkpoint_id(),
                Some(training_state_id.text()),
                "{at}"
            );
            let keys: Vec<_> = state.keys().collect();
            assert_eq!(keys, case.get("training_state_keys").texts(), "{at}");
            assert_eq!(state.version(), case.get("version").0.as_int(), "{at}");
            assert_eq!(
                state.completed_epoch(),
                case.get("completed_epoch").0.as_int(),
                "{at}"
            );
            let generation = case.find("generation").and_then(|it| it.0.as_int());
            assert_eq!(state.generation(), generation, "{at}");
            let counters = case.find("counters");
            let count = |key| counters.as_ref().and_then(|it| it.get(key).0.as_int());
            let found = state.counters().unwrap_or_default();
            assert_eq!(
                found.global_step.map(i128::from),
                count("global_step"),
                "{at}"
            );
            assert_eq!(
                found.committed_updates.map(i128::from),
                count("committed_updates")
            );
            assert_eq!(
                found.planned_n_epochs.map(i128::from),
                count("planned_n_epochs")
            );

            // Version 0.2.3 has no manifests, with which everything is sound.
            let manifest = store.verify(&tag).unwrap();
            assert_eq!(manifest.is_some(), version == "0.4.1", "{at}");
            if let Some(manifest) = manifest {
                let digests = store.digests(&tag).unwrap();
                for (name, digest) in manifest.files() {
                    assert_eq!(digests.get(name).map(String::as_str), Some(digest), "{at}");
                }
                assert_eq!(manifest.generation(), generation, "{at}");
            }
        }
        println!(
            "{version}: {} checkpoints and training states judged",
            checkpoints.state().len()
        );
    }
}

#[test]
fn the_manifest_is_the_librarys() {
    let root = copy_of("0.4.1");
    let expected = read("0.4.1", "expected.json");
    let store = CheckpointStore::new(expected.get("run_id").text(), root.path()).unwrap();
    let last = Checkpoints::Last.into();
    let manifest = store.resume_point(&last).unwrap().unwrap();
    assert_eq!(manifest.state(), expected.get("manifest_last").state());
    assert_eq!(store.verify(&last).unwrap(), Some(manifest));
    assert_eq!(expected.get("verify_last").0, Value::Bool(true));
}

#[test]
fn phases_are_those_that_were_taken() {
    let root = copy_of("0.4.1");
    let expected = read("0.4.1", "expected.json");
    let run = NNRun::load(expected.get("run_id").text(), root.path()).unwrap();
    let phases = run.checkpoints(root.path()).unwrap();
    assert!(phases.iter().all(|(_, checkpoint)| checkpoint.is_some()));
    let child = NNRun::load(expected.get("child_run_id").text(), root.path()).unwrap();
    let phases = child.checkpoints(root.path()).unwrap();
    let taken: Vec<_> = phases
        .iter()
        .filter(|(_, it)| it.is_some())
        .map(|(it, _)| *it)
        .collect();
    assert_eq!(taken, [Checkpoints::Last]);
}

/// The three files of every fixture run are written byte for byte elsewhere.
///
/// Nothing of them is left undetermined: metadata are kept as they were read.
#[test]
fn a_loaded_run_is_written_byte_for_byte() {
    let mut judged = 0;
    for version in LIBRARY_VERSIONS {
        let root = copy_of(version);
        for (_, run) in NNRun::all(root.path()).unwrap() {
            let run = run.unwrap();
            let elsewhere = tempfile::tempdir().unwrap();
            run.save(elsewhere.path()).unwrap();
            for file in OTHER_FILES {
                let file = format!("runs/{}/{file}", run.id());
                let [old, new] = [root.path(), elsewhere.path()]
                    .map(|root| String::from_utf8(fs::read(root.join(&file)).unwrap()).unwrap());
                assert_eq!(new, old, "{version} {file}");
                judged += 1;
            }
        }
    }
    assert_eq!(judged, 12);
}

/// Every configuration whose id the real library gave: a trainer's, with a salt, with transforms and
/// the rest; its `run.yaml` has sorted keys, from which the id must come out again.
#[test]
fn every_configuration_of_a_known_id_loads_under_it() {
    for version in LIBRARY_VERSIONS {
        let path = format!("nnx-{version}/params/run_ids.json");
        let cases = Json::read(&fixtures_dir().join(path)).items();
        for case in &cases {
            let (id, at) = (case.get("run_id"), case.get("desc"));
            let mut state = State::from_iter([("id", id.text())]);
            state.extend(case.get("state").state().clone());
            let text = to_yaml(&state);
            let root = tempfile::tempdir().unwrap();
            let folder = root.path().join("runs").join(id.text());
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("run.yaml"), &text).unwrap();
            fs::write(folder.join("idps.csv"), "\"\"\n").unwrap();
            let run = NNRun::load(id.text(), root.path())
                .unwrap_or_else(|error| panic!("{version} {}: {error}", at.text()));
            assert_eq!(run.id(), id.text(), "{version} {}", at.text());
            assert_eq!(run.state().unwrap(), state, "{version} {}", at.text());
            run.save(root.path()).unwrap();
            assert_eq!(fs::read_to_string(folder.join("run.yaml")).unwrap(), text);
        }
        println!("{version} run_ids.json: {} runs judged", cases.len());
        assert!(cases.len() > 20);
    }
}

#[test]
fn reading_changes_and_creates_nothing() {
    for version in LIBRARY_VERSIONS {
        let root = copy_of(version);
        let expected = read(version, "expected.json");
        // A lock file that is not there is not made by reading.
        let id = expected.get("run_id");
        let lock = format!("runs/{}/checkpoints/best.pt.lock", id.text());
        fs::remove_file(root.path().join(lock)).unwrap();
        let before = tree(root.path());
        for (_, run) in NNRun::all(root.path()).unwrap() {
            let store = run.unwrap().store(root.path()).unwrap();
            for tag in store.tags().unwrap() {
                store.load_with_training_state(&tag).unwrap();
                store.verify(&tag).unwrap();
                store.digests(&tag).unwrap();
            }
        }
        NNRun::best(root.path()).unwrap();
        assert!(
            RunSummary::all(root.path())
                .unwrap()
                .iter()
                .all(|(_, it)| it.is_ok())
        );
        assert_eq!(tree(root.path()), before);
    }
}

/// `NNRun::all` and `RunSummary::all` go on behind a run that cannot be read, and say why it cannot.
#[test]
fn a_run_that_cannot_be_read_does_not_hide_the_others() {
    for version in LIBRARY_VERSIONS {
        let root = copy_of(version);
        let sound = NNRun::ids(root.path()).unwrap();
        let broken = root.path().join("runs/broken");
        fs::create_dir(&broken).unwrap();
        fs::write(broken.join("run.yaml"), "- no mapping\n").unwrap();
        // Other systems refuse such a name.
        #[cfg(target_os = "linux")]
        {
            use std::os::unix::ffi::OsStrExt;
            let name = std::ffi::OsStr::from_bytes(b"not\xffutf8");
            let folder = root.path().join("runs").join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("run.yaml"), "").unwrap();
        }
        let odd = usize::from(cfg!(target_os = "linux"));
        let all = NNRun::all(root.path()).unwrap();
        assert_eq!(all.len(), sound.len() + 1 + odd);
        let read: Vec<_> = all.iter().filter(|(_, run)| run.is_ok()).collect();
        assert!(read.iter().map(|(name, _)| name).eq(&sound));
        let broken = all.iter().find(|(name, _)| name == "broken").unwrap();
        let error = broken.1.as_ref().unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Malformed { .. }),
            "{error}"
        );
        let summaries = RunSummary::all(root.path()).unwrap();
        let judged = summaries.iter().map(|(name, it)| (name, it.is_ok()));
        assert!(judged.eq(all.iter().map(|(name, it)| (name, it.is_ok()))));
    }
}

#[test]
fn what_is_absent_is_told_so_and_not_created() {
    let root = tempfile::tempdir().unwrap();
    let id = "cbcb83e7e2b607e54bb9725aa8d31d75";
    let error = NNRun::load(id, root.path()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoSuchRun { id: it } if it == id));
    assert!(NNRun::all(root.path()).unwrap().is_empty());
    assert!(RunSummary::all(root.path()).unwrap().is_empty());
    assert_eq!(NNRun::best_id(root.path()).unwrap(), None);
    assert!(NNRun::best(root.path()).unwrap().is_none());
    let store = CheckpointStore::new(id, root.path()).unwrap();
    let last = Checkpoints::Last.into();
    assert!(store.load(&last).unwrap().is_none());
    assert!(store.load_training_state(&last).unwrap().is_none());
    assert!(store.resume_point(&last).unwrap().is_none());
    assert!(store.verify(&last).unwrap().is_none());
    assert!(store.tags().unwrap().is_empty());
    assert!(store.digests(&last).unwrap().is_empty());
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn ids_and_tags_cannot_lead_elsewhere() {
    let root = tempfile::tempdir().unwrap();
    for id in ["", ".", "..", "a/b", "a\\b", "../x", "a\0b", "a*", "[x]"] {
        assert!(NNRun::load(id, root.path()).is_err(), "{id}");
        assert!(CheckpointStore::new(id, root.path()).is_err(), "{id}");
    }
    let long = "x".repeat(201);
    for tag in [
        "",
        ".",
        "..",
        "../last",
        "a/b",
        "a b",
        "_x",
        "last.pt.opt",
        "a.pt.opt.b",
        &long,
    ] {
        let error = CheckpointTag::new(tag).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::InvalidTag { .. }),
            "{tag}"
        );
    }
    for tag in ["last", "every_e3", "a.b-c", "0", "x.pt.opt_e1"] {
        assert_eq!(CheckpointTag::new(tag).unwrap().as_str(), tag);
    }
}

/// The longest tag is one with which every file of a save has a name that file systems take.
#[test]
fn the_longest_tag_can_be_saved() {
    let root = tempfile::tempdir().unwrap();
    let store = CheckpointStore::new("x", root.path()).unwrap();
    let tag = CheckpointTag::new(&"x".repeat(200)).unwrap();
    store
        .save(
            &tag,
            &super::support::checkpoint(1),
            Some(&super::support::training_state(1)),
        )
        .unwrap();
    assert!(store.verify(&tag).unwrap().is_some());
    assert_eq!(store.tags().unwrap(), [tag]);
    // Names that no tag has are told of.
    let folder = root.path().join("runs/x/checkpoints");
    for name in [format!("{}.pt", "y".repeat(201)), "a b.pt".to_owned()] {
        fs::write(folder.join(name), "").unwrap();
    }
    fs::write(folder.join(".hidden.pt"), "").unwrap();
    let others = store.other_files().unwrap();
    assert_eq!(
        others,
        ["a b.pt".to_owned(), format!("{}.pt", "y".repeat(201))]
    );
}

#[test]
fn records_of_an_epoch_that_was_not_finished_are_left_out() {
    let root = copy_of("0.4.1");
    let expected = read("0.4.1", "expected.json");
    let id = expected.get("run_id");
    let folder = root.path().join("runs").join(id.text());
    let all = expected.get("n_idps").size();

    // `last` of an earlier epoch: the three records of each later epoch do not count.
    let checkpoints = folder.join("checkpoints");
    fs::copy(checkpoints.join("q3.pt"), checkpoints.join("last.pt")).unwrap();
    let epoch = expected
        .get("checkpoints")
        .get(&format!("{}/q3", id.text()));
    let epochs = epoch.get("epoch_idx").size() + 1;
    let run = NNRun::load(id.text(), root.path()).unwrap();
    assert_eq!(run.idps().len(), all / 8 * epochs);

    fs::remove_file(checkpoints.join("last.pt")).unwrap();
    assert!(
        NNRun::load(id.text(), root.path())
            .unwrap()
            .idps()
            .is_empty()
    );

    fs::write(checkpoints.join("last.pt"), b"").unwrap();
    assert!(NNRun::load(id.text(), root.path()).is_err());

    // Without the mark everything counts.
    fs::remove_file(folder.join(".history-committed-by-last")).unwrap();
    assert_eq!(
        NNRun::load(id.text(), root.path()).unwrap().idps().len(),
        all
    );
}

#[test]
fn unknown_keys_of_a_run_are_kept() {
    let root = copy_of("0.4.1");
    let expected = read("0.4.1", "expected.json");
    let id = expected.get("run_id");
    let path = root.path().join("runs").join(id.text()).join("run.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let later = text.replace("model:\n", "later: [1]\nmodel:\n  zzz: a\n");
    fs::write(&path, later).unwrap();
    let run = NNRun::load(id.text(), root.path()).unwrap();
    assert_eq!(run.id(), id.text());
    let elsewhere = tempfile::tempdir().unwrap();
    run.save(elsewhere.path()).unwrap();
    let again = NNRun::load(id.text(), elsewhere.path()).unwrap();
    assert_eq!(again.full_state().unwrap(), run.full_state().unwrap());
    assert!(again.full_state().unwrap().contains_key("later"));
}

#[test]
fn a_summary_says_what_a_list_shows() {
    let root = copy_of("0.4.1");
    let expected = read("0.4.1", "expected.json");
    let id = expected.get("run_id");
    let summaries = RunSummary::all(root.path()).unwrap();
    let (_, summary) = summaries
        .into_iter()
        .find(|(it, _)| it == id.text())
        .unwrap();
    let summary = summary.unwrap();
    assert_eq!((summary.net.as_str(), summary.epochs), ("feed_fwd", 8));
    assert_eq!((summary.planned_epochs, summary.records), (8, 24));
    let best = expected
        .get("checkpoints")
        .get(&format!("{}/best", id.text()));
    let error = best.get("idp_state").get("val_edp").get("error").float();
    let found = summary.best.unwrap();
    assert_eq!((found.name.as_str(), found.value), ("val_edp.error", error));
    let changed = summary.last_change.unwrap();
    // Whoever looks takes the locks; that changes nothing.
    let store = CheckpointStore::new(id.text(), root.path()).unwrap();
    let last = store.path(&Checkpoints::Last.into());
    let lock = fs::File::create(last.with_file_name("last.pt.lock")).unwrap();
    lock.set_modified(changed + std::time::Duration::from_secs(99))
        .unwrap();
    let run = NNRun::load(id.text(), root.path()).unwrap();
    let again = RunSummary::new(&run, id.text(), root.path()).unwrap();
    assert_eq!(again.last_change, Some(changed));

    let epochs = NNRun::load(id.text(), root.path()).unwrap().epochs();
    assert_eq!(epochs.len(), 8);
    assert!(
        epochs
            .iter()
            .all(|epoch| epoch.train_loss.is_some() && epoch.val_loss.is_some())
    );
}
