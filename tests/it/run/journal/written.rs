//! The writer makes the files of the real library, byte for byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use nnx_params::{NNEvaluationDataPoint, NNIterationDataPoint};
use nnx_run::journal::{JournalWriter, Lineage};
use nnx_run::{ErrorKind, HistoryJournal, NNRun};
use nnx_tests::Json;

use super::super::support::{checkpoint, idp, run};
use super::{all_of, folder, read};

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let file = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).unwrap())
    };
    entries.map(file).collect()
}

/// Every record that the manifest counts, also those beyond the checkpoint `last`.
fn published(id: &str) -> (Vec<NNIterationDataPoint>, HistoryJournal) {
    let root = super::copy_of(id);
    let folder = root.path().join("runs").join(id);
    fs::remove_file(folder.join(".history-committed-by-last")).unwrap();
    let manifest = Json::read(&folder.join("history/journal.json"));
    let spec = HistoryJournal::builder()
        .retention(manifest.get("retention").size())
        .chunk_size(manifest.get("chunk_size").size())
        .build()
        .unwrap();
    (all_of(id, root.path(), Lineage::Excluded).unwrap(), spec)
}

#[test]
fn every_journal_is_written_byte_for_byte() {
    let expected = read("expected.json");
    let (mut journals, mut compared) = (0, 0);
    for (name, epochs) in expected.get("epochs_written").state() {
        let epochs: Vec<_> = Json(epochs.clone())
            .items()
            .iter()
            .map(Json::size)
            .collect();
        let id = expected.get("ids").get(name).text().to_owned();
        let (records, spec) = published(&id);
        assert_eq!(records.len(), epochs.iter().sum::<usize>(), "{name}");

        let root = tempfile::tempdir().unwrap();
        let mut writer = JournalWriter::create(run(name).id(), root.path(), spec).unwrap();
        assert!(!writer.folder().exists());
        let mut records = records.into_iter();
        for count in epochs {
            let mut last = None;
            for record in records.by_ref().take(count) {
                // The validation comes after the last record, as in a training.
                let early = record
                    .clone()
                    .with_val_edp(None)
                    .with_epoch_summary(None, None);
                writer.append(early).unwrap();
                last = Some(record);
            }
            writer.replace_last(last.unwrap()).unwrap();
            writer.end_epoch().unwrap();
            // Nothing waits any more.
            writer.end_epoch().unwrap();
            writer.publish().unwrap();
        }
        let (found, mut wanted) = (files(writer.folder()), {
            files(&folder().join("runs").join(&id).join("history"))
        });
        // Records that an interrupted training left beyond the manifest do not belong to the
        // journal.
        cut(&mut wanted);
        assert_eq!(
            found.keys().collect::<Vec<_>>(),
            wanted.keys().collect::<Vec<_>>(),
            "{name}"
        );
        for (file, bytes) in &wanted {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            assert_eq!(text(&found[file]), text(bytes), "{name}/{file}");
            compared += 1;
        }
        journals += 1;
    }
    println!("{journals} journals written, {compared} files compared");
    assert!(journals >= 12 && compared > 80);
}

/// Leaves what the manifest counts.
fn cut(files: &mut BTreeMap<String, Vec<u8>>) {
    let manifest = String::from_utf8(files["journal.json"].clone()).unwrap();
    let manifest = Json(nnx_params::python_text::json_loads(&manifest).unwrap());
    for (file, key) in [
        ("index.jsonl", "index_bytes"),
        ("epochs.jsonl", "epochs_bytes"),
    ] {
        let bytes = files.get_mut(file).unwrap();
        bytes.truncate(manifest.get(key).size());
    }
    let beyond = format!("chunk-{:08}.jsonl", manifest.get("chunks").size());
    files.retain(|name, _| !name.starts_with("chunk") || *name < beyond);
}

/// A training as it is written: history, run, checkpoint; then the run is opened.
#[test]
fn a_run_that_is_written_here_is_read_back() {
    let root = tempfile::tempdir().unwrap();
    let run = run("journal");
    let lease = run.reserve(root.path(), false).unwrap();
    let spec = HistoryJournal::builder()
        .retention(3)
        .chunk_size(2)
        .build()
        .unwrap();
    let mut writer = JournalWriter::create(run.id(), root.path(), spec).unwrap();
    let store = run.store(root.path()).unwrap();
    for epoch in 0..4 {
        for batch in 0..3 {
            let edp = NNEvaluationDataPoint::builder()
                .loss(f64::from(batch))
                .build()
                .unwrap();
            let number = epoch * 3 + batch;
            writer
                .append(NNIterationDataPoint::new(0.1, number, epoch, batch, edp))
                .unwrap();
        }
        let last = idp(epoch.into(), 0.5);
        writer.replace_last(last).unwrap();
        writer.end_epoch().unwrap();
        writer.publish().unwrap();
        let run = run.clone().with_history(writer.folder().to_owned());
        run.save_history(root.path()).unwrap();
        if epoch < 3 {
            let last = nnx_params::Checkpoints::Last.into();
            store.save(&last, &checkpoint(epoch.into()), None).unwrap();
        }
    }
    drop(lease);
    // The last epoch was not committed.
    let run = NNRun::load(run.id(), root.path()).unwrap();
    assert_eq!((run.idps().len(), run.record_count().unwrap()), (3, 9));
    let losses: Vec<_> = run.epochs().iter().map(|epoch| epoch.train_loss).collect();
    assert_eq!(losses, [Some(1.0); 3]);
    assert_eq!(
        all_of(run.id(), root.path(), Lineage::Excluded)
            .unwrap()
            .len(),
        9
    );
    NNRun::verify(run.id(), root.path()).unwrap();
    // Nobody writes into a journal that is there.
    let error = JournalWriter::create(run.id(), root.path(), spec).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::RunExists { .. }),
        "{error}"
    );

    // An epoch that cannot commit is taken back.
    writer.rollback().unwrap();
    let folder = root.path().join("runs").join(run.id());
    fs::remove_file(folder.join(".history-committed-by-last")).unwrap();
    assert_eq!(
        all_of(run.id(), root.path(), Lineage::Excluded)
            .unwrap()
            .len(),
        9
    );
}

#[test]
fn a_first_epoch_is_taken_back_to_nothing() {
    let root = tempfile::tempdir().unwrap();
    let run = run("first");
    let spec = HistoryJournal::builder().retention(7).build().unwrap();
    let mut writer = JournalWriter::create(run.id(), root.path(), spec).unwrap();
    assert!(writer.replace_last(idp(0, 0.5)).is_err());
    writer.append(idp(0, 0.5)).unwrap();
    writer.end_epoch().unwrap();
    writer.publish().unwrap();
    let run = run.with_history(writer.folder().to_owned());
    run.save(root.path()).unwrap();
    assert_eq!(NNRun::load(run.id(), root.path()).unwrap().idps().len(), 1);
    writer.rollback().unwrap();
    assert_eq!(NNRun::load(run.id(), root.path()).unwrap().idps().len(), 0);
}

/// A reservation that ends before the first save leaves nothing, its journal included.
#[test]
fn a_reservation_takes_its_journal_with_it() {
    let root = tempfile::tempdir().unwrap();
    let run = run("reserved");
    let lease = run.reserve(root.path(), false).unwrap();
    let spec = HistoryJournal::builder().retention(1).build().unwrap();
    let mut writer = JournalWriter::create(run.id(), root.path(), spec).unwrap();
    writer.append(idp(0, 0.5)).unwrap();
    writer.append(idp(0, 0.5)).unwrap();
    let folder = lease.folder().to_owned();
    assert!(folder.join("history/chunk-00000000.jsonl").is_file());
    drop(lease);
    assert!(!folder.exists());
}

#[test]
fn specifications_are_checked_as_in_python() {
    let of = |retention| HistoryJournal::builder().retention(retention);
    assert!(of(0).build().is_err());
    let spec = of(5).build().unwrap();
    assert_eq!((spec.chunk(), spec.chunk_size()), (5, None));
    assert!(of(5).chunk_size(0).build().is_err());
    assert!(of(5).chunk_size(6).build().is_err());
    assert_eq!(of(5).chunk_size(5).build().unwrap().chunk(), 5);
    assert_eq!(of(9999).build().unwrap().chunk(), 250);
    let default = HistoryJournal::default();
    assert_eq!((default.retention(), default.chunk()), (1000, 250));
}
