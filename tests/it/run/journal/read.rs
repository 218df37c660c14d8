//! Every journal is read as the real library reads it, and reading creates nothing.

use std::fs;

use nnx_params::Value;
use nnx_run::journal::{Lineage, export_history_csv};
use nnx_run::{NNRun, RunSummary};
use nnx_tests::Json;

use super::super::support::tree;
use super::{all_of, check_digest, check_series, copy_of_all, folder, line, read};

#[test]
fn every_run_loads_to_what_the_library_says() {
    let root = copy_of_all();
    let before = tree(root.path());
    let expected = read("expected.json");
    let runs = expected.get("runs");
    let (mut journals, mut records, mut epochs) = (0, 0, 0);
    for (name, case) in runs.state() {
        let case = Json(case.clone());
        let run = NNRun::load(case.get("id").text(), root.path()).unwrap();
        let has_journal = case.get("journal").0 == Value::Bool(true);
        assert_eq!(run.history().is_some(), has_journal, "{name}");
        journals += usize::from(has_journal);

        let idps = case.get("idps").items();
        assert_eq!(run.idps().len(), idps.len(), "{name}");
        for (found, expected) in run.idps().iter().zip(&idps) {
            // As text, since a not-a-number is no equal of itself.
            assert_eq!(line(&found.state()), line(expected.state()), "{name}");
        }
        check_series(&run.epochs(), &case.get("series"), name);
        epochs += run.epochs().len();

        let all = all_of(run.id(), root.path(), Lineage::Excluded).unwrap();
        check_digest(&all, &case.get("iter"), name);
        records += all.len();
        assert_eq!(run.record_count().unwrap(), all.len() as u64, "{name}");
        let summary = RunSummary::new(&run, run.id(), root.path()).unwrap();
        let counts = (summary.records, summary.epochs);
        assert_eq!(counts, (all.len(), run.epochs().len()), "{name}");

        if has_journal {
            check_left_out(&run, all.len());
        }

        let lineage = all_of(run.id(), root.path(), Lineage::Included).unwrap();
        check_digest(&lineage, &case.get("lineage").get("value"), name);

        NNRun::verify(run.id(), root.path()).unwrap();
    }
    assert_eq!(tree(root.path()), before, "reading changed something");
    println!("{journals} journals judged: {records} records, {epochs} epochs");
    assert!(journals >= 12 && records > 100 && epochs > 40);
}

/// A loaded run has read manifest, index and rows of its journal once: its answers about them do
/// not need the files again.
#[test]
fn a_loaded_run_reads_its_journal_once() {
    let root = copy_of_all();
    let mut judged = 0;
    for (name, case) in read("expected.json").get("runs").state() {
        let case = Json(case.clone());
        let run = NNRun::load(case.get("id").text(), root.path()).unwrap();
        let Some(history) = run.history() else {
            continue;
        };
        let records = run.record_count().unwrap();
        fs::remove_dir_all(history).unwrap();
        assert_eq!(run.record_count().unwrap(), records, "{name}");
        check_series(&run.epochs(), &case.get("series"), name);
        // Another history is another one's: the files are looked for again.
        let other = run.clone().with_history(history.to_owned());
        assert!(other.record_count().is_err(), "{name}");
        assert!(other.journal_epochs().is_err(), "{name}");
        judged += 1;
    }
    assert!(judged >= 12);
}

/// A warning reports the records of the journal beyond those that the library counts.
#[track_caller]
fn check_left_out(run: &NNRun, counted: usize) {
    let manifest = Json::read(&run.history().unwrap().join("journal.json"));
    let Value::Int(published) = manifest.get("records").0 else {
        panic!("a manifest counts records");
    };
    let expected: Vec<String> = match published - counted as i128 {
        0 => Vec::new(),
        more => vec![format!("{more} of the {published} records")],
    };
    let told: Vec<&str> = run.warnings().map(|it| it.message.as_str()).collect();
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for (told, expected) in told.iter().zip(&expected) {
        assert!(told.starts_with(expected), "{told}");
    }
}

#[test]
fn the_exported_table_is_the_librarys() {
    let root = copy_of_all();
    let target = tempfile::tempdir().unwrap();
    let ids = read("expected.json").get("ids");
    let mut tables = 0;
    for entry in fs::read_dir(folder().join("csv")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let (run, lineage) = match name.strip_suffix("_lineage") {
            Some(run) => (run, Lineage::Included),
            None => (name, Lineage::Excluded),
        };
        let id = ids.get(run);
        let written = target.path().join(name);
        let count = export_history_csv(id.text(), &written, root.path(), lineage).unwrap();
        let text = fs::read_to_string(&written).unwrap();
        assert_eq!(text, fs::read_to_string(&path).unwrap(), "{name}");
        assert_eq!(text.lines().count(), count + 1, "{name}");
        tables += 1;
    }
    println!("{tables} tables judged");
    assert_eq!(tables, ids.state().len() + 1);
}

/// The records in memory complete their epochs with the values that the rows lack.
#[test]
fn rows_are_completed_by_the_records_in_memory() {
    let root = copy_of_all();
    let run = NNRun::load(&super::id_of("small"), root.path()).unwrap();
    let epochs = run.epochs();
    let known: Vec<_> = epochs.iter().map(|epoch| !epoch.lr.is_nan()).collect();
    assert_eq!(known, [false, false, false, true, true]);
    let known: Vec<_> = epochs.iter().map(|epoch| epoch.val_edp.is_some()).collect();
    assert_eq!(known, [false, false, false, true, true]);
}

#[test]
fn a_run_that_is_not_there_is_told_so() {
    let root = tempfile::tempdir().unwrap();
    let error = all_of("x", root.path(), Lineage::Included).unwrap_err();
    assert!(matches!(error.kind(), nnx_run::ErrorKind::NoSuchRun { .. }));
    assert!(tree(root.path()).is_empty());
}
