//! The files that a training leaves, compared with those of the fixture.

use std::collections::BTreeSet;
use std::path::Path;

use nnx_params::Checkpoints;
use nnx_run::CheckpointTag;
use nnx_run::yaml::from_yaml;
use nnx_tests::Json;

use super::fixture::Fixture;
use super::judge::{bound_of, training_state};
use super::setup::Seen;

pub(super) fn judge(fixture: &Fixture, seen: &Seen, root: &Path) {
    let run = &seen.trained.run;
    let folder = root.join("runs").join(run.id());
    list(fixture, &folder);
    let text = std::fs::read_to_string(folder.join("run.yaml")).unwrap();
    let expected = std::fs::read_to_string(fixture.path("run.yaml")).unwrap();
    assert_eq!(text, expected, "{}", fixture.name);
    let expected = fixture.path("idps.csv");
    if expected.exists() {
        table(fixture, &folder.join("idps.csv"), &expected);
    } else {
        journal(fixture, &folder);
    }
    resume(fixture, &folder);
    let store = run.store(root).unwrap();
    let manifests = fixture.side.get("checkpoints");
    for tag in ["first", "q1", "q2", "q3", "best", "last"] {
        let Some(expected) = manifests.find(tag) else {
            continue;
        };
        let tag: CheckpointTag = tag.parse().unwrap();
        let manifest = store.verify(&tag).unwrap().unwrap();
        for key in [
            "generation",
            "completed_epoch",
            "global_step",
            "committed_updates",
            "planned_n_epochs",
        ] {
            let found = manifest.state().get(key).cloned().unwrap();
            let expected = expected
                .find(key)
                .map_or(nnx_params::Value::None, |json| json.0);
            assert_eq!(found, expected, "{}: {key} of {tag}", fixture.name);
        }
    }
    training_state(fixture, &store);
    let last = store.load(&Checkpoints::Last.into()).unwrap().unwrap();
    assert_eq!(last.idp.epoch_idx(), run.idps().last().unwrap().epoch_idx());
}

/// The names of all files, ids left out.
fn list(fixture: &Fixture, folder: &Path) {
    let mut found = BTreeSet::new();
    collect(folder, folder, &mut found);
    let expected = fixture.side.get("files").texts();
    let expected: BTreeSet<String> = expected.iter().map(|name| without_id(name)).collect();
    assert_eq!(found, expected, "{}", fixture.name);
}

fn collect(root: &Path, folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, found);
            continue;
        }
        let name = path.strip_prefix(root).unwrap().to_str().unwrap();
        if !name.ends_with(".lock") {
            found.insert(without_id(name));
        }
    }
}

fn without_id(name: &str) -> String {
    match name.split_once(".opt.") {
        Some((before, after)) if after != "pt" => format!("{before}.opt.ID.pt"),
        _ => name.to_owned(),
    }
}

/// Compares two tables cell by cell.
fn table(fixture: &Fixture, found: &Path, expected: &Path) {
    let name = &fixture.name;
    let read = |path: &Path| -> Vec<Vec<String>> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines()
            .map(|line| line.split(',').map(str::to_owned).collect())
            .collect()
    };
    let (found, expected) = (read(found), read(expected));
    assert_eq!(found[0], expected[0], "{name}: the columns of idps.csv");
    assert_eq!(found.len(), expected.len(), "{name}: the rows of idps.csv");
    let columns = expected[0].clone();
    for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found.len(), expected.len(), "{name}: row {row}");
        for ((found, expected), column) in found.iter().zip(expected).zip(&columns) {
            let at = format!("{name}: idps.csv, row {row}, {column}");
            cell(&at, fixture, column, found, expected);
        }
    }
}

fn cell(at: &str, fixture: &Fixture, column: &str, found: &str, expected: &str) {
    if found == expected {
        return;
    }
    let numbers = (found.parse::<f64>(), expected.parse::<f64>());
    let (Ok(found), Ok(expected)) = numbers else {
        panic!("{at}: `{found}` is not `{expected}`");
    };
    let bound = bound_of(fixture, column, expected);
    assert!(
        (found - expected).abs() <= bound,
        "{at}: {found} is not {expected}"
    );
}

/// Compares the files of a journal: the rows of records within bounds, the manifest's numbers.
fn journal(fixture: &Fixture, folder: &Path) {
    let id = fixture.side.get("run_id");
    let theirs = fixture.path("runs").join(id.text()).join("history");
    let mut judged = 0;
    for entry in std::fs::read_dir(&theirs).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let ours = std::fs::read_to_string(folder.join("history").join(&name)).unwrap();
        let theirs = std::fs::read_to_string(&path).unwrap();
        assert_eq!(ours.lines().count(), theirs.lines().count(), "{name}");
        let keys = |text: &str| -> Vec<String> {
            let words = text.split('"').skip(1).step_by(2);
            words
                .filter(|word| word.len() < 32)
                .map(str::to_owned)
                .collect()
        };
        assert_eq!(keys(&ours), keys(&theirs), "{name}");
        judged += 1;
    }
    assert_eq!(judged, 9, "{}", fixture.name);
}

/// How the run says that it began.
fn resume(fixture: &Fixture, folder: &Path) {
    let text = std::fs::read_to_string(folder.join("metadata.yaml")).unwrap();
    let metadata = Json(from_yaml(&text).unwrap());
    let (found, expected) = (metadata.get("resume"), fixture.side.get("resume"));
    let (nnx_params::Value::Map(found), nnx_params::Value::Map(expected)) = (found.0, expected.0)
    else {
        panic!("{}: no resume in metadata.yaml", fixture.name);
    };
    for (key, expected) in expected.iter() {
        assert_eq!(found.get(key), Some(expected), "{}: {key}", fixture.name);
    }
    assert_eq!(found.len(), expected.len(), "{}", fixture.name);
}
