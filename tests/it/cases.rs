//! The cases from public bug reports: every file and folder of every `expected.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nnx_checkpoint::{CheckpointReader, Error, ErrorKind};
use nnx_tests::{Json, fixtures_dir, sha256};

/// Set to the path of a case's file in the process that judges it under limits.
const CHILD: &str = "NNX_TESTS_CASE_FILE";
/// The address space of that process, in KiB.
const CHILD_KIB: u64 = 1 << 20;

/// Files where what is done differs from what is expected, each with the reason.
const DEVIATIONS: &[(&str, &str)] = &[];

fn cases_dir() -> PathBuf {
    fixtures_dir().join("cases")
}

/// A file or folder of a case, with what is expected of it.
struct Case {
    /// `folder/file`.
    label: String,
    path: PathBuf,
    expected: Json,
}

fn cases() -> Vec<Case> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(cases_dir())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    let mut cases = Vec::new();
    for folder in folders {
        let id = folder.file_name().unwrap().to_str().unwrap();
        let files = Json::read(&folder.join("expected.json")).get("files");
        for name in files.state().keys() {
            cases.push(Case {
                label: format!("{id}/{name}"),
                path: folder.join(name),
                expected: files.get(name),
            });
        }
    }
    cases
}

/// What became of a file.
struct Outcome {
    /// By name: dtype as safetensors spells it, shape, hash.
    tensors: BTreeMap<String, (String, Vec<usize>, String)>,
    others: BTreeSet<String>,
    metadata: Vec<(String, String)>,
    notes: Vec<String>,
    format: &'static str,
}

/// Opens a file and takes every tensor's bytes.
fn read(path: &Path) -> Result<Outcome, Error> {
    let reader = CheckpointReader::open(path)?;
    let mut tensors = BTreeMap::new();
    for entry in reader.tensors() {
        let tensor = reader.tensor(entry.name())?;
        let bytes = tensor.to_bytes()?;
        assert_eq!(bytes.len() as u64, entry.byte_len(), "{}", entry.name());
        let dtype = entry
            .dtype()
            .safetensors_name()
            .unwrap_or(entry.dtype().name());
        tensors.insert(
            entry.name().to_owned(),
            (dtype.to_owned(), entry.shape().to_vec(), sha256(&bytes)),
        );
    }
    assert_eq!(tensors.len(), reader.tensors().len(), "names differ");
    Ok(Outcome {
        tensors,
        others: reader
            .others()
            .iter()
            .map(|other| other.path().to_owned())
            .collect(),
        metadata: reader
            .metadata()
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
        notes: reader.notes().to_vec(),
        format: reader.format().name(),
    })
}

/// The tensors of an entry, under the names that are expected; `F4` shapes count single values
/// there, pairs here.
fn expected_tensors(
    expected: &Json,
    key: &str,
) -> Option<BTreeMap<String, (String, Vec<usize>, String)>> {
    let tensors = expected.find(key)?;
    let tensors = tensors.state().keys().map(|name| {
        let tensor = tensors.get(name);
        let dtype = tensor.get("dtype").text().to_owned();
        let mut shape: Vec<usize> = tensor.get("shape").items().iter().map(Json::size).collect();
        if let ("F4", Some(last)) = (dtype.as_str(), shape.last_mut()) {
            *last /= 2;
        }
        let hash = tensor.get("sha256").text().to_owned();
        (name.to_owned(), (dtype, shape, hash))
    });
    Some(tensors.collect())
}

/// Whether a leaf is listed: under its own path, or by what it lies below or holds.
fn is_listed(others: &BTreeSet<String>, path: &str) -> bool {
    others.iter().any(|other| {
        let lies_below = |above: &str, below: &str| {
            below == above
                || below
                    .strip_prefix(above)
                    .is_some_and(|rest| rest.starts_with('.'))
        };
        lies_below(other, path) || lies_below(path, other)
    })
}

/// Judges an outcome; an error says what is wrong.
fn judge(expected: &Json, outcome: Result<Outcome, Error>) -> Result<(), String> {
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            let mut reasons: Vec<String> = Vec::new();
            if let Some(reason) = expected.find("error") {
                reasons.push(reason.text().to_owned());
                reasons.extend(expected.find("or").map(|or| or.texts()).unwrap_or_default());
            } else if let Some(reasons_too) = expected.find("or_error") {
                reasons.extend(reasons_too.texts());
            } else {
                return Err(format!("refused: {error}"));
            }
            return if reasons.iter().any(|reason| fits(reason, &error)) {
                Ok(())
            } else {
                Err(format!(
                    "refused for another reason than {reasons:?}: {error}"
                ))
            };
        }
    };
    if let Some(reason) = expected.find("error") {
        let read_after_all = expected_tensors(expected, "tensors_if_read")
            .is_some_and(|tensors| tensors == outcome.tensors);
        let is_empty = reason.text() == "no_tensors" && outcome.tensors.is_empty();
        return if read_after_all || is_empty || expected.find("accept_ok").is_some() {
            Ok(())
        } else {
            Err(format!(
                "read, with tensors {:?}, where `{}` was expected",
                outcome.tensors.keys(),
                reason.text()
            ))
        };
    }
    let tensors = expected_tensors(expected, "tensors").expect("tensors or an error");
    for (name, tensor) in &tensors {
        let found = outcome.tensors.get(name);
        if found != Some(tensor) {
            return Err(format!("`{name}` is {found:?}, expected {tensor:?}"));
        }
    }
    if expected.find("more_tensors_ok").is_none() && tensors.len() != outcome.tensors.len() {
        return Err(format!(
            "tensors {:?}, expected {:?}",
            outcome.tensors.keys(),
            tensors.keys()
        ));
    }
    for path in expected
        .find("skipped")
        .map(|paths| paths.texts())
        .unwrap_or_default()
    {
        if !is_listed(&outcome.others, &path) {
            return Err(format!("`{path}` is not among {:?}", outcome.others));
        }
    }
    if let Some(metadata) = expected.find("metadata") {
        let metadata: Vec<(String, String)> = metadata
            .state()
            .keys()
            .map(|key| (key.to_owned(), metadata.get(key).text().to_owned()))
            .collect();
        if metadata != outcome.metadata {
            return Err(format!("metadata {:?}", outcome.metadata));
        }
    }
    if let Some(format) = expected.find("format")
        && format.text() != outcome.format
    {
        return Err(format!("format {}", outcome.format));
    }
    match expected.find("warn") {
        Some(warn) if outcome.notes.is_empty() => Err(format!("no note of `{}`", warn.text())),
        _ => Ok(()),
    }
}

/// Whether the error is one for that reason: by its kind, and where a kind is wide, by a word of
/// its text.
fn fits(reason: &str, error: &Error) -> bool {
    let text = error.to_string();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let malformed = matches!(error.kind(), ErrorKind::Malformed { .. });
    let unsupported = matches!(error.kind(), ErrorKind::Unsupported { .. });
    match reason {
        "forbidden_global" => matches!(error.kind(), ErrorKind::ForbiddenGlobal { .. }),
        "limit_exceeded" | "header_too_large"
            if matches!(error.kind(), ErrorKind::Limit { .. }) =>
        {
            true
        }
        "name_collision" => matches!(error.kind(), ErrorKind::NameCollision { .. }),
        "missing_shard" => matches!(error.kind(), ErrorKind::MissingShard { .. }),
        "path_traversal" => matches!(error.kind(), ErrorKind::PathTraversal { .. }),
        "unknown_format" | "format_mismatch" | "bad_magic" => {
            matches!(error.kind(), ErrorKind::NotACheckpoint { .. })
        }
        "unsupported_tensor"
        | "unsupported_dtype"
        | "unknown_storage_type"
        | "zip_unsupported_method"
        | "unsupported_opcode" => unsupported,
        "zip_encrypted" => unsupported && says(&["encrypted"]),
        "zip_header_mismatch" => malformed && says(&["local header"]),
        "missing_data_pkl" => malformed && says(&["data.pkl"]),
        "ambiguous_root" => malformed && says(&["two folders"]),
        "missing_storage" => malformed && says(&["no record of storage", "does not hold storage"]),
        "storage_too_short" | "storage_size_mismatch" => {
            malformed && says(&["by its persistent id", "bytes"])
        }
        "out_of_bounds" | "overflow" => {
            malformed && says(&["overflow", "reaches", "takes", "must be", "dimensions"])
        }
        "truncated" | "not_fully_covered" => {
            malformed && says(&["ends", "end", "cut short", "found", "expected"])
        }
        "duplicate_key" => malformed && says(&["twice"]),
        "invalid_offsets" => malformed && says(&["offsets"]),
        "shape_mismatch" | "misaligned_slice" => malformed && says(&["shape"]),
        "malformed_pickle"
        | "invalid_header"
        | "metadata_not_string"
        | "zip_corrupt"
        | "header_too_large"
        | "trailing_data"
        | "prefix_data" => malformed,
        _ => false,
    }
}

/// Judges a file in a process of its own, with little address space.
fn judge_in_child(case: &Case, seconds: f64) -> Result<(), String> {
    let binary = std::env::current_exe().unwrap();
    let start = Instant::now();
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!(
            "ulimit -v {CHILD_KIB} && exec \"$0\" --exact cases::child --ignored --nocapture"
        ))
        .arg(binary)
        .env(CHILD, &case.label)
        .output()
        .unwrap();
    let took = start.elapsed();
    if !output.status.success() {
        return Err(format!(
            "in a process of its own: {}",
            String::from_utf8_lossy(&output.stdout)
                .lines()
                .chain(String::from_utf8_lossy(&output.stderr).lines())
                .filter(|line| !line.is_empty())
                .collect::<Vec<_>>()
                .join(" / ")
        ));
    }
    // The start of the process is counted as well.
    if took > Duration::from_secs_f64(seconds) {
        return Err(format!("took {took:?}, more than {seconds} s"));
    }
    Ok(())
}

#[test]
#[ignore = "runs as the process that judges one file under limits"]
fn child() {
    let Ok(label) = std::env::var(CHILD) else {
        return;
    };
    let case = cases()
        .into_iter()
        .find(|case| case.label == label)
        .unwrap();
    let outcome = read(&case.path);
    if let Err(wrong) = judge(&case.expected, outcome) {
        panic!("{label}: {wrong}");
    }
    if let Some(limit) = case.expected.get("limits").find("rss_mb") {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"))
            .and_then(|kib| kib.parse::<usize>().ok())
            .unwrap_or_default();
        assert!(
            peak < limit.size() * 1024,
            "{label}: {peak} KiB were resident"
        );
    }
}

#[test]
fn every_file_of_every_case_is_judged() {
    let cases = cases();
    let entries = cases.len();
    let (mut judged, mut agreeing, mut limited, mut hostile) = (0, 0, 0, 0);
    let mut deviations = Vec::new();
    for case in &cases {
        let verdict = match case.expected.find("limits") {
            Some(limits) => {
                limited += 1;
                let seconds = limits
                    .find("seconds")
                    .map_or(10.0, |seconds| seconds.float());
                judge_in_child(case, seconds)
            }
            None => judge(&case.expected, read(&case.path)),
        };
        judged += 1;
        if case.expected.find("hostile").is_some() {
            hostile += 1;
            for place in [PathBuf::from("PWNED"), case.path.with_file_name("PWNED")] {
                assert!(!place.exists(), "{}: the payload ran", case.label);
            }
        }
        match verdict {
            Ok(()) => agreeing += 1,
            Err(wrong) => deviations.push((case.label.as_str(), wrong)),
        }
    }
    assert_eq!(judged, entries);
    assert!(entries >= 200, "only {entries} entries found");
    println!(
        "{agreeing} of {judged} case files as expected; {hostile} hostile, {limited} under limits"
    );
    for (label, wrong) in &deviations {
        let reason = DEVIATIONS.iter().find(|(known, _)| known == label);
        println!(
            "deviation {label}: {wrong}; {}",
            reason.map_or("NO REASON", |(_, reason)| reason)
        );
    }
    let found: Vec<&str> = deviations.iter().map(|(label, _)| *label).collect();
    let known: Vec<&str> = DEVIATIONS.iter().map(|(label, _)| *label).collect();
    assert_eq!(found, known);
}
