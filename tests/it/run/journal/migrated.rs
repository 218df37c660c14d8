//! Moving a history into a journal.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use nnx_run::journal::{Lineage, migrate_history};
use nnx_run::{ErrorKind, HistoryJournal, NNRun};
use tempfile::TempDir;

use nnx_tests::copy_folder;

use super::super::support::tree;
use super::{all_of, folder, id_of};

fn unmigrated() -> (TempDir, String) {
    let root = tempfile::tempdir().unwrap();
    copy_folder(&folder().join("unmigrated/runs"), &root.path().join("runs"));
    (root, id_of("migrated"))
}

fn spec() -> HistoryJournal {
    HistoryJournal::builder()
        .retention(6)
        .chunk_size(2)
        .build()
        .unwrap()
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = tree(folder).into_iter().map(|(path, bytes)| {
        let name = path.file_name().unwrap().to_str().unwrap();
        (name.to_owned(), bytes.unwrap())
    });
    files.collect()
}

#[test]
fn the_journal_is_the_librarys() {
    let (root, id) = unmigrated();
    let run = root.path().join("runs").join(&id);
    let before = all_of(&id, root.path(), Lineage::Excluded).unwrap();
    migrate_history(&id, root.path(), spec(), false).unwrap();
    let wanted = folder().join("runs").join(&id).join("history");
    assert_eq!(files(&run.join("history")), files(&wanted));
    assert!(!run.join("idps.csv").exists());
    assert_eq!(all_of(&id, root.path(), Lineage::Excluded).unwrap(), before);
    assert_eq!(NNRun::load(&id, root.path()).unwrap().id(), id);
    NNRun::verify(&id, root.path()).unwrap();
    let error = migrate_history(&id, root.path(), spec(), false).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Migration { .. }),
        "{error}"
    );
}

#[test]
fn a_migration_that_was_stopped_goes_on() {
    // Before it was published: the files that are there are replaced.
    let (root, id) = unmigrated();
    let run = root.path().join("runs").join(&id);
    fs::create_dir(run.join("history")).unwrap();
    fs::write(run.join("history/index.jsonl"), "half").unwrap();
    let csv = fs::read(run.join("idps.csv")).unwrap();
    migrate_history(&id, root.path(), spec(), false).unwrap();
    NNRun::verify(&id, root.path()).unwrap();
    // After that: the file goes where the journal has its records.
    fs::write(run.join("idps.csv"), &csv).unwrap();
    migrate_history(&id, root.path(), spec(), false).unwrap();
    assert!(!run.join("idps.csv").exists());
    let text = String::from_utf8(csv).unwrap();
    let shorter: Vec<_> = text.lines().take(5).collect();
    let other = text.replacen(",0.01,", ",0.02,", 1);
    assert!(other != text);
    for text in [shorter.join("\n"), other] {
        fs::write(run.join("idps.csv"), text).unwrap();
        let error = migrate_history(&id, root.path(), spec(), false).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Migration { .. }),
            "{error}"
        );
        assert!(run.join("idps.csv").exists());
    }
}

#[test]
fn records_beyond_the_last_checkpoint_are_dropped_only_when_that_is_said() {
    let (root, id) = unmigrated();
    let run = root.path().join("runs").join(&id);
    let csv = fs::read_to_string(run.join("idps.csv")).unwrap();
    let line = csv.lines().nth(9).unwrap().replacen(",2,", ",3,", 1);
    fs::write(run.join("idps.csv"), format!("{csv}{line}\n")).unwrap();
    let before = tree(&run);
    let error = migrate_history(&id, root.path(), spec(), false).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Migration { .. }),
        "{error}"
    );
    let unlocked = || {
        let files = tree(&run).into_iter();
        files
            .filter(|(path, _)| !path.ends_with(".run.lock"))
            .collect::<Vec<_>>()
    };
    assert_eq!(unlocked(), before);
    migrate_history(&id, root.path(), spec(), true).unwrap();
    let wanted = folder().join("runs").join(&id).join("history");
    assert_eq!(files(&run.join("history")), files(&wanted));
}

#[test]
fn what_cannot_be_migrated_is_refused() {
    let (root, id) = unmigrated();
    #[track_caller]
    fn check(root: &Path, id: &str) {
        let error = migrate_history(id, root, spec(), false).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Migration { .. }),
            "{error}"
        );
    }
    check(root.path(), "best");
    let error = migrate_history("gone", root.path(), spec(), false).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::NoSuchRun { .. }),
        "{error}"
    );
    {
        let leases = root.path().join("runs/.leases");
        fs::create_dir_all(&leases).unwrap();
        let lease = fs::File::create(leases.join(format!("{id}.lock"))).unwrap();
        lease.lock().unwrap();
        check(root.path(), &id);
    }
    fs::remove_file(root.path().join("runs").join(&id).join("idps.csv")).unwrap();
    check(root.path(), &id);
}
