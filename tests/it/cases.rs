//! The cases from public bug reports: every file and folder of every `expected.json`.

pub(crate) mod judge;

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use nnx_tests::{Json, fixtures_dir};

use self::judge::{judge, read};

/// Set to the path of a case's file in the process that judges it under limits.
const CHILD: &str = "NNX_TESTS_CASE_FILE";
/// The address space of that process, in KiB.
const CHILD_KIB: u64 = 1 << 20;
/// The processor time of that process, in seconds.
const CHILD_SECONDS: u64 = 20;

/// Files whose outcome differs from the expected one, each with the reason.
const DEVIATIONS: &[(&str, &str)] = &[
    (
        "E07_dcp_folder/step-500/__0_0.distcp",
        "a file of a checkpoint of several processes opens the whole of it, as its folder does",
    ),
    (
        "M05_config_dropped/no_config",
        "the missing configuration is for `from_pretrained` to name; weights alone are read",
    ),
    (
        "P20_quantized_state_dict/qlinear.pt",
        "quantised tensors are read, as their integers with scale and zero point beside them",
    ),
    (
        "X01_memo_bomb/bomb.pt",
        "the pickle sets an item of a text, at which CPython stops with a `TypeError` as well",
    ),
];

fn cases_dir() -> PathBuf {
    fixtures_dir().join("cases")
}

/// A file or folder of a case, with the expected outcome.
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

/// Judges a file in a process of its own, with little address space and time.
fn judge_in_child(case: &Case) -> Result<(), String> {
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!(
            "ulimit -v {CHILD_KIB} && ulimit -t {CHILD_SECONDS} && \
             exec \"$0\" --exact cases::child --ignored --nocapture"
        ))
        .arg(std::env::current_exe().unwrap())
        .env(CHILD, &case.label)
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap();
    if output.status.success() && String::from_utf8_lossy(&output.stdout).contains("1 passed") {
        return Ok(());
    }
    let error = String::from_utf8_lossy(&output.stderr);
    let told = error.lines().find_map(|line| line.split_once(": "));
    Err(match told {
        Some((label, what)) if label == case.label => what.to_owned(),
        _ => format!("a process of its own ended with {}: {error}", output.status),
    })
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
    let start = Instant::now();
    let outcome = read(&case.path);
    let took = start.elapsed();
    if let Err(wrong) = judge(&case.expected, outcome) {
        panic!("\n{label}: {wrong}");
    }
    let Some(limits) = case.expected.find("limits") else {
        return;
    };
    if let Some(seconds) = limits.find("seconds").map(|seconds| seconds.float()) {
        // Tells a hang from work; how fast the work is done is for the benches.
        assert!(
            took.as_secs_f64() < seconds * 60.0,
            "\n{label}: took {took:?}"
        );
    }
    if let Some(limit) = limits.find("rss_mb") {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"))
            .and_then(|kib| kib.parse::<usize>().ok())
            .unwrap_or_default();
        assert!(
            peak < limit.size() * 1024,
            "\n{label}: {peak} KiB were resident"
        );
    }
}

#[test]
fn every_file_of_every_case_is_judged() {
    let cases = cases();
    let entries = cases.len();
    let (mut judged, mut agreeing, mut apart, mut hostile) = (0, 0, 0, 0);
    let mut deviations = Vec::new();
    for case in &cases {
        let is_hostile = case.expected.find("hostile").is_some();
        let verdict = if is_hostile || case.expected.find("limits").is_some() {
            apart += 1;
            judge_in_child(case)
        } else {
            judge(&case.expected, read(&case.path))
        };
        judged += 1;
        if is_hostile {
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
        "{agreeing} of {judged} case files as expected; {hostile} are hostile, {apart} were \
         judged in a process of 1 GiB"
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

/// Counts the statements of the cases on writing. Conversions and saving are judged in
/// `convert/cases.rs`.
#[test]
fn what_is_said_of_writing_is_counted() {
    let (mut steps, mut told) = (0, Vec::new());
    for entry in std::fs::read_dir(cases_dir()).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        let id = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let expected = Json::read(&folder.join("expected.json"));
        let topic = if id.starts_with('M') {
            "model folders"
        } else if id.starts_with("E60") {
            "running a model"
        } else {
            "converting and saving"
        };
        let conversions = expected
            .find("convert")
            .map_or(0, |files| files.state().len());
        let scenario = expected
            .find("scenario")
            .map_or(0, |steps| steps.items().len());
        if conversions + scenario > 0 {
            steps += conversions + scenario;
            told.push(format!(
                "{id}: {conversions} conversions and {scenario} steps of {topic}"
            ));
        }
    }
    told.sort();
    println!("{steps} conversions and steps in {} cases:", told.len());
    for line in &told {
        println!("{line}");
    }
    assert_eq!((steps, told.len()), (25, 19));
}
