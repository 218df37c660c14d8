//! Calls that the real library refuses, and the files that they leave on disk.

mod calls;

use std::path::Path;

use nnx_tests::{Json, fixtures_dir};

use calls::call;

/// Calls that cannot be written in Rust, each with the reason.
const NOT_EXPRESSIBLE: [(&str, &str); 2] = [
    ("params None", "the parameters are not optional"),
    (
        "an objective that is not callable",
        "the type of an objective is checked when the program is compiled",
    ),
];

/// The names of our errors for a class of Python. A subclass is a class of its own here.
fn names(class: &str) -> &'static [&'static str] {
    match class {
        "ValueError" => &[
            "invalid_configuration",
            "cannot_resume",
            "invalid_data",
            "wrong_target",
            "wrong_input",
            "wrong_weights",
        ],
        "FloatingPointError" => &["diverged"],
        "FileExistsError" => &["run_exists"],
        "ComponentRestoreError" => &["component_restore"],
        "TaskValidationError" => &["invalid_configuration"],
        "PrecisionUnsupportedError" => &["invalid_configuration", "unsupported"],
        other => panic!("an unknown class {other}"),
    }
}

#[test]
fn what_is_refused_leaves_as_much() {
    let cases = Json::read(&fixtures_dir().join("training/errors.json"))
        .get("cases")
        .items();
    let (mut refused, mut passed, mut skipped) = (0, 0, Vec::new());
    for case in &cases {
        let name = case.get("case").text().to_owned();
        if NOT_EXPRESSIBLE.iter().any(|(known, _)| *known == name) {
            skipped.push(name);
            continue;
        }
        let root = tempfile::tempdir().unwrap();
        let result = call(&name, root.path());
        match (case.find("error"), result) {
            (None, Ok(())) => passed += 1,
            (Some(class), Err(failure)) => {
                let mut allowed = names(class.text()).to_vec();
                if name == "resume into bf16" {
                    // It is refused because nothing is trained in bfloat16, resumed or not.
                    allowed.push("unsupported");
                }
                assert!(
                    allowed.contains(&failure.name.as_str()),
                    "{name}: a {} is {}, `{}`",
                    class.text(),
                    failure.name,
                    failure.text
                );
                for word in case.get("mentions").texts() {
                    assert!(
                        failure.text.contains(&word),
                        "{name}: `{}` has no {word}",
                        failure.text
                    );
                }
                refused += 1;
            }
            (expected, found) => {
                let found = found.map_err(|failure| failure.text);
                panic!("{name}: {found:?}, expected {expected:?}");
            }
        }
        assert_eq!(
            runs(root.path()),
            case.get("runs_left").size(),
            "{name}: runs left"
        );
    }
    println!(
        "{refused} calls are refused and {passed} are not, as by the real library; {skipped:?} cannot be \
         written"
    );
    assert_eq!(cases.len(), 53);
    assert_eq!((refused, passed, skipped.len()), (46, 5, 2));
}

fn runs(root: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(root.join("runs")) else {
        return 0;
    };
    entries
        .map(Result::unwrap)
        .filter(|entry| {
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            entry.file_type().unwrap().is_dir() && !is_hidden
        })
        .count()
}
