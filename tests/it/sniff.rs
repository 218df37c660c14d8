//! The format of a file by its first bytes, and the result of `from_file` for files that are
//! damaged or something else: each of the `sniff` fixtures as the real library judged it.

use nnx_checkpoint::{ErrorKind, Format, NNCheckpoint, SNIFF_BYTES, sniff};
use nnx_tests::{Json, fixtures_dir};

/// The entry of a path that does not exist.
const MISSING: &str = "(missing path)";

#[test]
fn from_file_judges_every_sniff_fixture_as_the_reference_does() {
    let dir = fixtures_dir().join("sniff");
    let expected = Json::read(&dir.join("expected-0.4.1.json"));
    let mut judged = 0;
    for name in expected.state().keys() {
        let entry = expected.get(name);
        let outcome = NNCheckpoint::from_file(dir.join(name));
        match (entry.find("error"), entry.find("result")) {
            (Some(reference), _) => {
                let error = outcome.expect_err(name);
                let absent = matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::Empty | ErrorKind::NotNNCheckpoint { .. }
                );
                assert!(
                    !absent,
                    "{name}: {error}, the reference raises {}",
                    reference.text()
                );
            }
            (None, Some(_)) => {
                let checkpoint = outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
                let keys: Vec<_> = checkpoint.net_state.iter().map(|(name, _)| name).collect();
                assert_eq!(keys, entry.get("keys").texts(), "{name}");
                assert_eq!(
                    checkpoint.training_state_id.as_deref(),
                    entry.find("training_state_id").as_ref().map(Json::text),
                    "{name}"
                );
                assert_eq!(
                    checkpoint.net_params.map(|params| params.class()),
                    entry.find("net_params_class").as_ref().map(Json::text),
                    "{name}"
                );
            }
            (None, None) => {
                let error = outcome.expect_err(name);
                let absent = match error.kind() {
                    ErrorKind::NotFound => name == MISSING,
                    ErrorKind::Empty | ErrorKind::NotNNCheckpoint { .. } => true,
                    _ => false,
                };
                assert!(absent, "{name}: {error}, the reference returns None");
            }
        }
        judged += 1;
    }
    let files = std::fs::read_dir(&dir).unwrap().count();
    // All but the two files of expected values, and one path that is no file.
    assert_eq!(judged, files - 2 + 1, "every file of the folder is judged");
    println!("{judged} sniff fixtures judged");
}

#[test]
fn every_sniff_fixture_has_the_format_that_the_reference_dispatches_on() {
    let dir = fixtures_dir().join("sniff");
    let expected = Json::read(&dir.join("expected-0.4.1.json"));
    for name in expected.state().keys().filter(|name| *name != MISSING) {
        let bytes = std::fs::read(dir.join(name)).unwrap();
        let found = sniff(&bytes[..bytes.len().min(SNIFF_BYTES)]);
        assert_eq!(found, sniff(&bytes), "{name}: the prefix must be enough");
        // Section 9 of the format's rules, in their order.
        let torch_zip = bytes.starts_with(b"PK\x03\x04");
        let safetensors = bytes.get(8) == Some(&b'{');
        let pickle = bytes.first() == Some(&0x80);
        match found {
            Some(Format::TorchZip) => assert!(torch_zip, "{name}"),
            Some(Format::SafeTensors) => assert!(safetensors && !torch_zip, "{name}"),
            Some(Format::TorchLegacy | Format::Pickle) => {
                assert!(pickle && !safetensors && !torch_zip, "{name}");
            }
            _ => assert!(!torch_zip && !safetensors && !pickle, "{name}: {found:?}"),
        }
    }
}
