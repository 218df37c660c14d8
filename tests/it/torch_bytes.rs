//! Byte for byte: what `torch.save` wrote is what we write for the same object.

use nnx_checkpoint::torch::TorchObject;
use nnx_checkpoint::{CheckpointFormat, NNCheckpoint};
use nnx_tests::{Fixture, Form};

/// The zip fixtures with the folder that holds their records.
fn zip_fixtures() -> Vec<(Fixture, std::path::PathBuf, String)> {
    let all: Vec<_> = Fixture::all()
        .into_iter()
        .flat_map(|fixture| {
            let files = fixture.files();
            files
                .into_iter()
                .map(move |(form, path)| (fixture.clone(), form, path))
        })
        .filter(|(_, form, _)| *form == Form::Zip)
        .map(|(fixture, _, path)| {
            let root = fixture
                .sidecar
                .get("files")
                .get("zip")
                .get("zip_root")
                .text()
                .to_owned();
            (fixture, path, root)
        })
        .collect();
    assert!(all.len() > 60, "only {} zip fixtures", all.len());
    all
}

#[test]
fn a_graph_that_came_from_a_file_is_written_as_that_file() {
    let fixtures = zip_fixtures();
    for (fixture, path, root) in &fixtures {
        let mut written = Vec::new();
        let object = TorchObject::open(path).unwrap();
        object.write_to(&mut written, root).unwrap();
        assert!(
            written == std::fs::read(path).unwrap(),
            "{} differs",
            fixture.label()
        );
    }
    println!(
        "{} of {} torch files written byte for byte",
        fixtures.len(),
        fixtures.len()
    );
}

/// The classes' own bytes: decoded into typed values, then encoded again, as NNx 0.4.1 would.
#[test]
fn a_checkpoint_of_0_4_1_is_written_as_python_writes_it() {
    /// What a typed checkpoint does not know about its file.
    const OTHERWISE: &[(&str, &str)] = &[
        ("pickle_protocol3", "another protocol than `to_file` uses"),
        ("pickle_protocol4", "another protocol than `to_file` uses"),
        ("pickle_protocol5", "another protocol than `to_file` uses"),
        ("short_slots4", "an older version's list of values"),
        ("short_slots5", "an older version's list of values"),
        ("short_slots6", "an older version's list of values"),
    ];
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("written.pt");
    let (mut same, mut differing) = (0, Vec::new());
    for (fixture, path, _) in zip_fixtures() {
        if fixture.version != "0.4.1" {
            continue;
        }
        NNCheckpoint::from_file(&path)
            .unwrap()
            .to_file(&target, CheckpointFormat::Pickle)
            .unwrap();
        if std::fs::read(&target).unwrap() == std::fs::read(&path).unwrap() {
            same += 1;
        } else {
            differing.push(fixture.name);
        }
    }
    let expected: Vec<_> = OTHERWISE.iter().map(|(name, _)| *name).collect();
    assert_eq!(differing, expected);
    println!("{same} checkpoints written byte for byte; otherwise by design: {OTHERWISE:?}");
}
