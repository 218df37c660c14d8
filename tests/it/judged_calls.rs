//! Pickles with `getattr` and `functools.partial`, which are judged by their arguments.
//!
//! `tests/fixtures/tools/judged_calls.py` wrote the pickles, unpickled each in a process of its own
//! under an audit hook, and recorded in `expected.json` what it did.

use std::path::PathBuf;

use nnx_checkpoint::scan::{self, Verdict};
use nnx_checkpoint::{CheckpointReader, ErrorKind, OpenOptions, SafetyLevel};
use nnx_tests::{Json, fixtures_dir};

fn dir() -> PathBuf {
    fixtures_dir().join("calls")
}

/// The names in the file, each with its safety level.
fn named(path: &PathBuf) -> Vec<(String, SafetyLevel)> {
    let options = OpenOptions::default().allow_dangerous_globals(true);
    let reader =
        CheckpointReader::open_with(path, &options).unwrap_or_else(|error| panic!("{error}"));
    let globals = reader.globals().iter();
    let named = globals.map(|global| (format!("{}.{}", global.module, global.name), global.level));
    named.collect()
}

#[test]
fn what_a_call_did_in_python_is_what_it_is_judged_by() {
    let expected = Json::read(&dir().join("expected.json"));
    let (mut hostile, mut sound) = (0, 0);
    for name in expected.state().keys() {
        let case = expected.get(name);
        let named = named(&dir().join(name));
        let is_dangerous = named
            .iter()
            .any(|(_, standing)| *standing == SafetyLevel::Dangerous);
        let verdict = scan::scan_file(dir().join(name)).verdict();
        let is_hostile = !case.get("evidence").items().is_empty();
        assert_eq!(is_dangerous, is_hostile, "{name}: {named:?}");
        let expected = if is_hostile {
            Verdict::Dangerous
        } else {
            Verdict::Clean
        };
        assert_eq!(verdict, expected, "{name}");
        if is_hostile {
            hostile += 1;
        } else {
            assert!(
                named
                    .iter()
                    .all(|(_, standing)| *standing == SafetyLevel::Innocuous),
                "{name}: {named:?}"
            );
            sound += 1;
        }
    }
    let pickles = std::fs::read_dir(dir()).unwrap().count() - 1;
    assert_eq!(hostile + sound, pickles);
    assert!(
        hostile >= 27 && sound >= 13,
        "{hostile} hostile, {sound} sound"
    );
}

/// Files of real projects: the safety levels of their names, and that they open by default.
#[test]
fn files_of_real_projects_are_judged_by_what_their_calls_are_given() {
    let cases = fixtures_dir().join("cases");
    for (file, expected) in [
        // A statistic of mmengine's `HistoryBuffer` is an attribute of a known class.
        (
            "E01_mmengine_message_hub/epoch_12.pth",
            SafetyLevel::Innocuous,
        ),
        // `torch.relu`, as an attribute of the class that has PyTorch's functions.
        (
            "E03_enum_by_getattr/activation.ckpt",
            SafetyLevel::Innocuous,
        ),
        // Members of enumerations, beside classes that are on no list.
        ("E03_enum_by_getattr/last.ckpt", SafetyLevel::Suspicious),
        (
            "E03_enum_by_getattr/training_args.bin",
            SafetyLevel::Suspicious,
        ),
        // A time zone by its name, which Python looks for in its database.
        ("E03_enum_by_getattr/zoned.ckpt", SafetyLevel::Suspicious),
    ] {
        let path = cases.join(file);
        let named = named(&path);
        let has = |wanted| named.iter().any(|(_, standing)| *standing == wanted);
        let worst = if has(SafetyLevel::Dangerous) {
            SafetyLevel::Dangerous
        } else if has(SafetyLevel::Suspicious) {
            SafetyLevel::Suspicious
        } else {
            SafetyLevel::Innocuous
        };
        assert_eq!(worst, expected, "{file}: {named:?}");
        let reader = CheckpointReader::open(&path).unwrap_or_else(|error| panic!("{error}"));
        assert!(reader.notes().is_empty(), "{file}: {:?}", reader.notes());
    }
}

/// A file that is dangerous for a call alone opens, with a note.
#[test]
fn a_dangerous_call_is_noted() {
    for name in [
        "getattr_of_an_unknown_class.pkl",
        "partial_of_an_unknown_function.pkl",
    ] {
        let reader = CheckpointReader::open(dir().join(name)).unwrap();
        let notes = reader.notes();
        let is_note = |note: &String| note.contains("can run code when Python unpickles");
        assert!(notes.iter().any(is_note), "{name}: {notes:?}");
    }
}

/// A name that is dangerous by itself refuses a file, whatever calls it.
#[test]
fn what_is_named_within_a_call_refuses_a_file_by_default() {
    for name in [
        "getattr_chained.pkl",
        "getattr_as_a_value.pkl",
        "getattr_and_fill.pkl",
        "getattr_of_a_module.pkl",
        "partial_of_a_dangerous_function.pkl",
        "partial_of_a_partial.pkl",
        "partial_with_a_dangerous_state.pkl",
    ] {
        let error = CheckpointReader::open(dir().join(name)).expect_err(name);
        assert!(
            matches!(error.kind(), ErrorKind::UnsafeGlobal { .. }),
            "{name}: {error}"
        );
    }
}
