//! Servers that do something wrong: an error or the right bytes, and never others.

use std::sync::{Arc, Mutex};

use nnx_checkpoint::torch::TorchBuilder;
use nnx_checkpoint::{CheckpointReader, Dtype, OpenOptions, Result, Tensor};
use nnx_store::StoreLocation;

use crate::server::{Fault, Server};

/// A PyTorch file with two tensors of a mebibyte.
pub(crate) fn torch_file() -> Vec<u8> {
    let mut builder = TorchBuilder::new();
    let mut pairs = Vec::new();
    for index in 0..2u8 {
        let tensor =
            Tensor::from_bytes(Dtype::UInt8, &[1 << 20], vec![index + 1; 1 << 20]).unwrap();
        let key = builder.text(&format!("layer.{index}"));
        pairs.push((key, builder.tensor(&tensor).unwrap()));
    }
    let root = builder.dict(pairs);
    let mut file = Vec::new();
    builder.finish(root).write_to(&mut file, "archive").unwrap();
    file
}

/// Opens a file and gives the notes.
fn open(server: &Server, name: &str) -> Result<(CheckpointReader, Vec<String>)> {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let receive = Arc::clone(&notes);
    let note = move |note: &str| receive.lock().unwrap().push(note.to_owned());
    let location = StoreLocation::source(&server.url(name), Arc::new(note))?;
    let reader = location.open(&OpenOptions::default())?;
    let notes = notes.lock().unwrap().clone();
    Ok((reader, notes))
}

/// Opens the file and reads all of it.
#[track_caller]
fn is_right(server: &Server) -> Vec<String> {
    let (reader, notes) = open(server, "model.pt").unwrap();
    assert_eq!(reader.tensors().len(), 2);
    for index in 0..2u8 {
        let tensor = reader.tensor(&format!("layer.{index}")).unwrap();
        let bytes = tensor.to_bytes().unwrap();
        assert!(bytes.len() == 1 << 20 && bytes.iter().all(|byte| *byte == index + 1));
    }
    notes
}

#[track_caller]
fn fails(fault: Fault, expected: &str) {
    let server = Server::from_bytes(&torch_file(), fault);
    let outcome = open(&server, "model.pt").and_then(|(reader, _)| {
        reader.tensor("layer.0")?;
        reader.tensor("layer.1")
    });
    let error = outcome.expect_err("a fault").to_string();
    assert!(error.contains(expected), "{fault:?}: {error}");
}

#[test]
fn a_server_with_ranges() {
    let server = Server::from_bytes(&torch_file(), Fault::None);
    assert_eq!(is_right(&server), [""; 0]);
}

#[test]
fn a_server_without_ranges_sends_the_file_whole() {
    let server = Server::from_bytes(&torch_file(), Fault::NoRanges);
    let notes = is_right(&server);
    assert!(notes[0].contains("serves no ranges"), "{notes:?}");
}

#[test]
fn a_large_file_without_ranges_is_refused() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(257 << 20).unwrap();
    let server = Server::start(file, Fault::NoRanges);
    let error = open(&server, "model.pt").unwrap_err().to_string();
    assert!(error.contains("larger than"), "{error}");
}

#[test]
fn a_server_that_is_unavailable_for_a_while() {
    let server = Server::from_bytes(&torch_file(), Fault::Unavailable(2));
    is_right(&server);
}

#[test]
fn other_bytes_than_those_asked_for_are_an_error() {
    fails(Fault::OtherRange, "request to the store failed");
    fails(
        Fault::ShortRange,
        "bytes of the object, and the server sent",
    );
    fails(Fault::NoSize, "request to the store failed");
}

#[test]
fn a_body_beyond_the_part_is_an_error_and_not_read() {
    fails(Fault::LongRange, "the server sent more");
}

#[test]
fn a_server_without_etags_is_noted() {
    let server = Server::from_bytes(&torch_file(), Fault::NoTag);
    let notes = is_right(&server);
    assert!(notes[0].contains("no ETag"), "{notes:?}");
}

#[test]
fn a_body_that_ends_early_is_an_error() {
    fails(Fault::ShortBody, "request to the store failed");
}

#[test]
fn a_file_that_changes_while_it_is_read_is_an_error() {
    for after in 1..4 {
        fails(Fault::Changed(after), "changed while it was read");
        fails(Fault::ChangedInSilence(after), "changed while it was read");
    }
}

#[test]
fn a_file_that_is_not_there_and_an_empty_one() {
    let server = Server::from_bytes(&[], Fault::None);
    let missing = open(&server, "missing.pt").unwrap_err();
    assert_eq!(missing.name(), "not_found");
    assert!(
        missing
            .path()
            .unwrap()
            .to_string_lossy()
            .contains("missing.pt")
    );
    assert_eq!(open(&server, "empty.pt").unwrap_err().name(), "empty");
}
