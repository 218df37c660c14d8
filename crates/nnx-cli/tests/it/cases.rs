//! `nnx scan` over the cases from public bug reports, whose `expected.json` says which files carry
//! a payload and which hold sound tensors.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Fewer would mean that cases were lost.
const LEAST_HOSTILE: usize = 20;
const LEAST_SOUND: usize = 100;

/// Its headers contradict one another, so its entries are not looked into at all.
const HOSTILE_BUT_UNJUDGED: &str = "Z05_encrypted_flag/hostile_local.pt";
/// It fills a text as if it were a dict; no pickler writes such a thing, and Python fails there.
const SOUND_BUT_UNJUDGED: &str = "X01_memo_bomb/bomb.pt";

#[test]
fn payloads_are_dangerous_and_sound_files_are_not() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/cases");
    let verdicts = scan(&cases);
    let (mut hostile, mut sound, mut not_flagged) = (0, 0, 0);
    for case in fs::read_dir(&cases).unwrap() {
        let case = case.unwrap().path();
        let Ok(expected) = fs::read_to_string(case.join("expected.json")) else {
            continue;
        };
        let expected: Value = serde_json::from_str(&expected).unwrap();
        for (name, file) in expected["files"].as_object().into_iter().flatten() {
            let path = case.join(name);
            let place = path.strip_prefix(&cases).unwrap().to_str().unwrap();
            let Some(verdict) = verdicts.get(path.to_str().unwrap()) else {
                assert_eq!(file["kind"], "directory", "{place} has no verdict");
                continue;
            };
            if file["hostile"] == Value::Bool(true) {
                hostile += 1;
                let expected = match place {
                    HOSTILE_BUT_UNJUDGED => "unjudged",
                    _ => "dangerous",
                };
                assert_eq!(verdict, expected, "{place}");
            } else {
                assert_ne!(verdict, "dangerous", "{place}");
                if file.get("tensors").is_some() && place != SOUND_BUT_UNJUDGED {
                    sound += 1;
                    assert_ne!(verdict, "unjudged", "{place}");
                }
            }
        }
        // Files that are in a folder, or that no reader opens, and yet must not be flagged.
        for name in expected["scan"]["not_dangerous"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let path = case.join(name.as_str().unwrap());
            let verdict = &verdicts[path.to_str().unwrap()];
            assert!(
                !matches!(&**verdict, "dangerous" | "unjudged"),
                "{}: {verdict}",
                path.display()
            );
            not_flagged += 1;
        }
    }
    assert!(
        not_flagged >= 1,
        "{not_flagged} files that are not to be flagged"
    );
    assert!(hostile >= LEAST_HOSTILE, "{hostile} hostile files");
    assert!(sound >= LEAST_SOUND, "{sound} sound files");
}

/// The verdict on each file, by its path.
fn scan(folder: &Path) -> HashMap<String, String> {
    let here = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnx"));
    command.arg("scan").arg(folder).arg("--json");
    let done = command.current_dir(here.path()).output().unwrap();
    assert_eq!(
        fs::read_dir(here.path()).unwrap().count(),
        0,
        "a payload has run"
    );
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    let files = report["files"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    files
        .map(|file| (text(&file["path"]), text(&file["verdict"])))
        .collect()
}
