//! A writer that stops at any step, or that is refused one, leaves a journal that is whole.

use std::fs;

use nnx_run::journal::{JournalWriter, Lineage};
use nnx_run::{HistoryJournal, NNRun};

use super::super::support::{idp, run, tree};
use super::all_of;

fn spec() -> HistoryJournal {
    HistoryJournal::builder()
        .retention(4)
        .chunk_size(2)
        .build()
        .unwrap()
}

/// A record counts once it is published, whatever other files are beside it.
#[test]
fn what_is_not_published_does_not_count() {
    let root = tempfile::tempdir().unwrap();
    let run = run("steps");
    let mut writer = JournalWriter::create(run.id(), root.path(), spec()).unwrap();
    let run = run.with_history(writer.folder().to_owned());
    let check = |epochs: usize| {
        let loaded = NNRun::load(run.id(), root.path()).unwrap();
        let all = all_of(run.id(), root.path(), Lineage::Excluded).unwrap();
        assert_eq!((all.len(), loaded.epochs().len()), (3 * epochs, epochs));
        NNRun::verify(run.id(), root.path()).unwrap();
    };
    writer.publish().unwrap();
    run.save(root.path()).unwrap();
    for epoch in 0..3 {
        check(epoch);
        for _ in 0..3 {
            writer.append(idp(epoch as i64, 0.5)).unwrap();
            check(epoch);
        }
        writer.end_epoch().unwrap();
        check(epoch);
        writer.publish().unwrap();
        check(epoch + 1);
    }
}

/// The disk refuses each file once; the call is repeated, and the journal is that of a writer that
/// was never refused.
#[test]
fn a_call_that_failed_may_be_repeated() {
    let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut refused = 0;
    let mut write = |root: &std::path::Path, obstacle: Option<&str>| {
        let run = run("repeated");
        let mut writer = JournalWriter::create(run.id(), root, spec()).unwrap();
        let path = obstacle.map(|name| writer.folder().join(name));
        if let Some(path) = &path {
            // Nothing can be written in the place of a folder that is not empty.
            fs::create_dir_all(path.join("x")).unwrap();
        }
        let mut repeat = |result: nnx_run::Result<()>| {
            let path = path.as_ref().filter(|_| result.is_err());
            if let Some(path) = path {
                fs::remove_dir_all(path).unwrap();
                refused += 1;
            }
            path.is_some()
        };
        for epoch in 0..2 {
            for _ in 0..3 {
                while repeat(writer.append(idp(epoch, 0.5))) {}
            }
            while repeat(writer.end_epoch()) {}
            while repeat(writer.publish()) {}
        }
        let folder = writer.folder().to_owned();
        let files = tree(&folder).into_iter().map(|(path, bytes)| {
            let path = path.strip_prefix(&folder).unwrap().to_owned();
            (path, String::from_utf8(bytes.unwrap()).unwrap())
        });
        let files: Vec<_> = files.collect();
        fs::remove_dir_all(&folder).unwrap();
        files
    };
    let whole = write(root.path(), None);
    assert_eq!(whole.len(), 7);
    for (name, _) in &whole {
        assert_eq!(
            write(other.path(), name.to_str()),
            whole,
            "{}",
            name.display()
        );
    }
    assert_eq!(refused, 7);
}
