//! Journals that are made to hurt: a typed error, and no memory out of proportion.

use std::fs;
use std::path::PathBuf;

use nnx_run::journal::Lineage;
use nnx_run::{ErrorKind, NNRun};
use nnx_tests::{Json, sha256};
use tempfile::TempDir;

use super::{all_of, copy_of, id_of};

const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

struct Case {
    root: TempDir,
    id: String,
    history: PathBuf,
}

impl Case {
    fn new() -> Self {
        let id = id_of("small");
        let root = copy_of(&id);
        let history = root.path().join("runs").join(&id).join("history");
        Self { root, id, history }
    }

    /// The manifest with other numbers.
    fn manifest(&self, changes: &[(&str, &str)]) {
        let path = self.history.join("journal.json");
        let manifest = Json::read(&path);
        let entries = manifest.state().iter().map(|(key, value)| {
            let changed = changes.iter().find(|(changed, _)| *changed == key);
            let text = match changed {
                Some((_, text)) => (*text).to_owned(),
                None => nnx_params::python_text::json_dumps(value),
            };
            format!("\"{key}\": {text}")
        });
        let text = entries.collect::<Vec<_>>().join(", ");
        fs::write(path, format!("{{{text}}}")).unwrap();
    }

    /// An index of these lines, which the manifest agrees with.
    fn index(&self, lines: &[String], records: usize) {
        let mut chain = GENESIS.to_owned();
        for line in lines {
            chain = sha256(format!("{chain}{line}").as_bytes());
        }
        let text = lines.concat();
        fs::write(self.history.join("index.jsonl"), &text).unwrap();
        self.manifest(&[
            ("index_bytes", &text.len().to_string()),
            ("index_chain", &format!("\"{chain}\"")),
            ("chunks", &lines.len().to_string()),
            ("records", &records.to_string()),
        ]);
    }

    /// The error of a load.
    fn error(&self) -> nnx_run::Error {
        let error = NNRun::load(&self.id, self.root.path()).unwrap_err();
        assert!(error.path().is_some(), "{error} names no file");
        assert!(error.to_string().len() < 1000, "{error}");
        error
    }

    #[track_caller]
    fn check_corrupt(&self) {
        let error = self.error();
        let is_corrupt = matches!(error.kind(), ErrorKind::HistoryCorruption { .. });
        assert!(is_corrupt, "{error}");
    }

    #[track_caller]
    fn check_limit(&self) {
        let error = self.error();
        assert!(
            matches!(error.kind(), ErrorKind::LimitExceeded { .. }),
            "{error}"
        );
    }
}

fn entry(number: usize, file: &str, records: &str, sha256: &str) -> String {
    format!(
        "{{\"seq\":{number},\"file\":\"{file}\",\"records\":{records},\"first_epoch\":0,\
         \"last_epoch\":0,\"sha256\":\"{sha256}\"}}\n"
    )
}

/// The counts of the manifest are compared with the bytes that are there before they are believed.
#[test]
fn numbers_of_the_manifest_are_not_believed() {
    let huge = u64::MAX.to_string();
    for key in ["chunks", "records", "index_bytes"] {
        for number in [&*huge, "1000000000", "33554432"] {
            let case = Case::new();
            case.manifest(&[(key, number)]);
            let kind = case.error();
            let is_limit = matches!(kind.kind(), ErrorKind::LimitExceeded { .. });
            assert_eq!(
                is_limit,
                key == "index_bytes" && number != "33554432",
                "{kind}"
            );
        }
    }
    // Numbers that no machine counts to.
    for key in [
        "retention",
        "chunks",
        "records",
        "index_bytes",
        "epochs",
        "epochs_bytes",
    ] {
        for number in [
            "1".repeat(30),
            "9".repeat(1000),
            "-1".to_owned(),
            "1e400".to_owned(),
        ] {
            let case = Case::new();
            case.manifest(&[(key, &number)]);
            case.check_corrupt();
        }
    }
    // A window of any size holds the records that there are.
    let case = Case::new();
    case.manifest(&[("retention", &huge), ("epochs_bytes", &huge)]);
    let run = NNRun::load(&case.id, case.root.path()).unwrap();
    assert_eq!(run.idps().len(), 15);
    let error = run.journal_epochs().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::LimitExceeded { .. }),
        "{error}"
    );
    assert_eq!(run.epochs().len(), 5);
}

#[test]
fn numbers_of_the_index_are_not_believed() {
    let name = "chunk-00000000.jsonl";
    let digest = sha256(&fs::read(Case::new().history.join(name)).unwrap());
    let huge = u64::MAX.to_string();
    for (records, counted) in [("1000000000", 1_000_000_000), (&*huge, usize::MAX)] {
        let case = Case::new();
        case.index(&[entry(0, name, records, &digest)], counted);
        case.check_corrupt();
    }
    for records in ["-1", "1.5", "null", "\"2\"", "[2]", "99999999999999999999"] {
        let case = Case::new();
        case.index(&[entry(0, name, records, &digest)], 2);
        case.check_corrupt();
    }
    // Many that add up beyond what can be counted.
    let case = Case::new();
    let names = (0..3).map(|number| format!("chunk-{number:08}.jsonl"));
    let lines: Vec<_> = names
        .zip(0..)
        .map(|(name, number)| entry(number, &name, &huge, ""))
        .collect();
    case.index(&lines, 3);
    case.check_corrupt();
}

#[test]
fn no_name_of_the_index_leads_out_of_the_folder() {
    for name in [
        "..",
        "../run.yaml",
        "/etc/passwd",
        "chunk-0.jsonl",
        "chunk-00000000.jsonl\\u0000",
        "./chunk-00000000.jsonl",
        "",
    ] {
        let case = Case::new();
        case.index(&[entry(0, name, "2", GENESIS)], 2);
        case.check_corrupt();
    }
}

#[test]
fn endless_lines_and_deep_values_are_refused() {
    let deep = "[".repeat(1 << 20);
    let nested = format!(
        "{{\"a\":{}1{}}}",
        "{\"a\":".repeat(10_000),
        "}".repeat(10_000)
    );
    let long = "x".repeat(4 << 20);
    for text in [&deep, &nested, &long, &"{\"a\":1,".repeat(1 << 18)] {
        let case = Case::new();
        case.index(&[format!("{text}\n")], 0);
        case.check_corrupt();

        let case = Case::new();
        case.index(
            &[entry(
                0,
                "chunk-00000000.jsonl",
                "1",
                &sha256(text.as_bytes()),
            )],
            1,
        );
        fs::write(case.history.join("chunk-00000000.jsonl"), text).unwrap();
        case.check_corrupt();

        let case = Case::new();
        fs::write(case.history.join("epochs.jsonl"), text).unwrap();
        case.manifest(&[("epochs_bytes", &text.len().to_string())]);
        let run = NNRun::load(&case.id, case.root.path()).unwrap();
        assert!(run.journal_epochs().is_err());

        let case = Case::new();
        fs::write(case.history.join("journal.json"), text).unwrap();
        case.error();
    }
    let case = Case::new();
    fs::write(case.history.join("journal.json"), " ".repeat(2 << 20)).unwrap();
    case.check_limit();
}

/// A chunk of many empty lines, and an index of many chunks.
#[test]
fn many_lines_are_read() {
    let case = Case::new();
    let blank = "\n".repeat(8 << 20);
    case.index(
        &[entry(
            0,
            "chunk-00000000.jsonl",
            "0",
            &sha256(blank.as_bytes()),
        )],
        0,
    );
    fs::write(case.history.join("chunk-00000000.jsonl"), blank).unwrap();
    assert_eq!(
        NNRun::load(&case.id, case.root.path())
            .unwrap()
            .idps()
            .len(),
        0
    );
    assert!(
        all_of(&case.id, case.root.path(), Lineage::Excluded)
            .unwrap()
            .is_empty()
    );

    let case = Case::new();
    let line = |number: usize| entry(number, &format!("chunk-{number:08}.jsonl"), "0", "");
    let lines: Vec<_> = (0..50_000).map(line).collect();
    case.index(&lines, 0);
    case.check_corrupt();
}

/// Python reads a record of any epoch; a check of the run tells of one that NNx does not write.
#[test]
fn epochs_that_nobody_counts_are_told() {
    for (epoch, is_stray) in [("-1", false), ("0.5", true), ("NaN", true)] {
        let case = Case::new();
        let name = "chunk-00000000.jsonl";
        let record = fs::read_to_string(case.history.join(name)).unwrap();
        let record = record.lines().next().unwrap();
        let record =
            record.replacen("\"epoch_idx\":0", &format!("\"epoch_idx\":{epoch}"), 1) + "\n";
        case.index(&[entry(0, name, "1", &sha256(record.as_bytes()))], 1);
        fs::write(case.history.join(name), record).unwrap();
        let run = NNRun::load(&case.id, case.root.path()).unwrap();
        let warned = run.warnings().any(|it| it.kind == "malformed");
        assert_eq!(warned, is_stray, "{epoch}");
        let error = NNRun::verify(&case.id, case.root.path()).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Malformed { .. }),
            "{error}"
        );
        assert!(error.to_string().contains("in record 1"), "{error}");
    }
}

/// A pipe in the place of a file would never end.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_refused() {
    for name in ["chunk-00000009.jsonl", "index.jsonl"] {
        let case = Case::new();
        let path = case.history.join(name);
        fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        if !made.is_ok_and(|status| status.success()) {
            fs::create_dir(&path).unwrap();
        }
        case.check_corrupt();
    }
}

/// A file that is larger than allowed takes no memory: it is sparse, and is not read to its end.
#[test]
fn a_chunk_without_end_is_refused() {
    let case = Case::new();
    let file = fs::OpenOptions::new()
        .write(true)
        .open(case.history.join("index.jsonl"));
    file.unwrap().set_len(1 << 40).unwrap();
    // Bytes beyond those that the manifest counts do not belong to the index.
    assert!(NNRun::load(&case.id, case.root.path()).is_ok());
    case.manifest(&[("index_bytes", &(1_u64 << 40).to_string())]);
    case.check_limit();

    let case = Case::new();
    let file = fs::OpenOptions::new()
        .write(true)
        .open(case.history.join("journal.json"));
    file.unwrap().set_len(1 << 40).unwrap();
    case.check_limit();

    let case = Case::new();
    let path = case.history.join("chunk-00000009.jsonl");
    let file = fs::OpenOptions::new().write(true).open(path);
    file.unwrap().set_len(1 << 40).unwrap();
    case.check_limit();
}
