//! Damaged journals: an error where the real library raises one, and the same records where not.

use std::fs;
use std::path::Path;

use nnx_run::journal::Lineage;
use nnx_run::{ErrorKind, NNRun, Result};
use nnx_tests::Json;

use super::{all_of, check_digest, check_series, copy_of, id_of, read};

/// Makes the edits of a case.
fn edit(history: &Path, edits: &Json) {
    for (file, edit) in edits.state() {
        let path = history.join(file);
        if edit.is_none() {
            fs::remove_file(path).unwrap();
            continue;
        }
        let edit = Json(edit.clone());
        let mut bytes = fs::read(&path).unwrap_or_default();
        let at = edit.get("at").size();
        let inserted = unhex(edit.get("inserted").text());
        bytes.splice(at..at + edit.get("removed").size(), inserted);
        fs::write(path, bytes).unwrap();
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().map(|it| it.to_digit(16).unwrap()).collect();
    digits
        .chunks(2)
        .map(|it| (it[0] * 16 + it[1]) as u8)
        .collect()
}

/// The value, or none where both failed.
#[track_caller]
fn both<T>(found: Result<T>, expected: &Json, at: &str) -> Option<(T, Json)> {
    match (found, expected.find("value")) {
        (Ok(found), Some(expected)) => Some((found, expected)),
        (Err(error), None) => {
            let is_typed = matches!(
                error.kind(),
                ErrorKind::HistoryCorruption { .. } | ErrorKind::Malformed { .. }
            );
            assert!(is_typed, "{at}: {error}");
            assert!(error.path().is_some(), "{at}: {error} names no file");
            None
        }
        (Ok(_), None) => panic!("{at}: the library raises {}", expected.get("error").text()),
        (Err(error), Some(_)) => panic!("{at}: the library reads it: {error}"),
    }
}

#[test]
fn every_damage_is_judged_as_the_library_judges_it() {
    let id = id_of("small");
    let (mut cases, mut refused, mut fallbacks) = (0, 0, 0);
    for case in read("damaged.json").items() {
        let at = case.get("name").text().to_owned();
        let root = copy_of(&id);
        let history = root.path().join("runs").join(&id).join("history");
        edit(&history, &case.get("edits"));

        let loaded = NNRun::load(&id, root.path());
        if let Ok(run) = &loaded {
            let expected = case.get("series");
            check_series(&run.epochs(), &expected.get("value"), &at);
            // Where the library warns, the error is there for those who ask.
            let is_fallback = expected.find("warnings").is_some();
            assert_eq!(run.journal_epochs().is_err(), is_fallback, "{at}");
            fallbacks += usize::from(is_fallback);
        }
        let is_refused = loaded.is_err();
        if let Some((run, expected)) = both(loaded, &case.get("load"), &at) {
            check_digest(run.idps(), &expected, &at);
        }
        let all = all_of(&id, root.path(), Lineage::Excluded);
        let is_broken = is_refused || all.is_err();
        if let Some((records, expected)) = both(all, &case.get("iter"), &at) {
            check_digest(&records, &expected, &at);
        }
        if is_broken {
            assert!(NNRun::verify(&id, root.path()).is_err(), "{at}");
        }
        refused += usize::from(is_broken);
        cases += 1;
    }
    println!("{cases} journals judged: {refused} refused, {fallbacks} without rows");
    assert!(cases > 70 && refused > 40 && fallbacks >= 8);
}

/// `verify` finds what a load does not look at.
#[test]
fn the_whole_journal_is_verified() {
    let id = id_of("small");
    let check = |file: &str, change: fn(&mut Vec<u8>), expected: &str| {
        let root = copy_of(&id);
        let path = root
            .path()
            .join("runs")
            .join(&id)
            .join("history")
            .join(file);
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(&path, bytes).unwrap();
        NNRun::load(&id, root.path()).unwrap();
        let error = NNRun::verify(&id, root.path()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::HistoryCorruption { .. }));
        assert_eq!(error.path(), Some(&*path));
        assert!(error.to_string().contains(expected), "{error}");
    };
    check("chunk-00000003.jsonl", |bytes| bytes[9] ^= 1, "chunk 3");
    check("chunk-00000000.jsonl", |bytes| bytes.clear(), "chunk 0");
    check("epochs.jsonl", |bytes| bytes[0] = b'[', "line 1");
    check("epochs.jsonl", |bytes| bytes.clear(), "found 0");
}

/// Every file of a journal cut at many lengths and with bits flipped: an error, or a run, and no
/// panic.
#[test]
fn no_damage_makes_it_panic() {
    let id = id_of("small");
    let root = copy_of(&id);
    let history = root.path().join("runs").join(&id).join("history");
    let (mut loads, mut errors) = (0, 0);
    for file in [
        "journal.json",
        "index.jsonl",
        "epochs.jsonl",
        "chunk-00000009.jsonl",
    ] {
        let path = history.join(file);
        let whole = fs::read(&path).unwrap();
        for length in (0..whole.len()).step_by(7) {
            let mut flipped = whole.clone();
            flipped[length] ^= 1 << (length % 8);
            for bytes in [&whole[..length], &flipped] {
                fs::write(&path, bytes).unwrap();
                match NNRun::load(&id, root.path()) {
                    Ok(run) => {
                        loads += 1;
                        let _ = run.epochs();
                        let _ = run.record_count();
                    }
                    Err(_) => errors += 1,
                }
            }
        }
        fs::write(&path, &whole).unwrap();
    }
    println!("{errors} damaged journals refused, {loads} loaded");
    assert!(errors > 600 && loads > 150);
    NNRun::verify(&id, root.path()).unwrap();
}
