//! The contents of entries.

use bytes::Bytes;

use super::super::ZipArchive;
use super::{Entry, accept, archive, deflate, read, refuse, torch};
use crate::{ErrorKind, Limits};

#[test]
fn a_stored_entry_of_two_sizes_has_no_range() {
    let entry = Entry {
        size: 3,
        ..Entry::stored("r/a", b"1234")
    };
    let file = Bytes::from(archive(&[entry], b""));
    let archive = ZipArchive::parse(&file, &Limits::default()).unwrap();
    let entry = archive.entry("r/a").unwrap();
    for error in [
        archive.range(entry).unwrap_err(),
        archive.data(entry).unwrap_err(),
        archive.data_unverified(entry).unwrap_err(),
    ] {
        let error = error.to_string();
        assert!(error.contains("takes 4 bytes but states 3"), "{error}");
        assert!(error.contains("(entry `r/a`)"), "{error}");
    }
}

#[test]
fn deflated_entries_are_inflated() {
    let text = "tensor ".repeat(40_000);
    let content = deflate(text.as_bytes());
    let entry = || Entry {
        crc: crc32fast::hash(text.as_bytes()),
        ..Entry::deflated("r/a", &content, text.len() as u32)
    };
    accept(&archive(&[entry()], b""), &[("r/a", &text)]);
    accept(
        &archive(&[Entry::deflated("r/a", &deflate(b""), 0)], b""),
        &[("r/a", "")],
    );
    let wrong = Entry { crc: 1, ..entry() };
    refuse(&archive(&[wrong], b""), "the checksum 0x00000001");
}

#[test]
fn a_deflated_entry_must_be_what_it_states() {
    let content = deflate(&[7; 1_000]);
    let refuse = |content: &[u8], size, expected| {
        refuse(
            &archive(&[Entry::deflated("r/a", content, size)], b""),
            expected,
        );
    };
    refuse(&content, 999, "but the deflate stream goes on");
    refuse(&content, 1_001, "the deflate stream gave 1000");
    refuse(&content[..content.len() - 1], 1_000, "cut short");
    refuse(
        &[&content[..], b"x"].concat(),
        1_000,
        "the deflate stream ends after",
    );
    refuse(b"\xff\xff\xff\xff", 1_000, "the deflate stream is broken");
    refuse(b"", 1, "0 deflated bytes cannot give the 1");
    // Used to ask for two gigabytes.
    refuse(&content, 1 << 31, "cannot give the 2147483648");
}

#[test]
fn other_methods_are_refused_by_name() {
    let entry = Entry {
        method: 93,
        ..Entry::stored("r/a", b"x")
    };
    refuse(&archive(&[entry], b""), "method 93 (Zstandard)");
    // An entry that is not read is no obstacle.
    let entry = Entry {
        method: 14,
        ..Entry::stored("r/a", b"x")
    };
    let file = Bytes::from(archive(&[entry, Entry::stored("r/b", b"y")], b""));
    let archive = ZipArchive::parse(&file, &Limits::default()).unwrap();
    assert_eq!(archive.data(archive.entry("r/b").unwrap()).unwrap(), "y");
}

#[test]
fn limits_hold_at_their_value_and_break_below() {
    let entries = 8;
    assert!(read(torch::ARCHIVE, &Limits::default().max_zip_entries(entries)).is_ok());
    let error = read(
        torch::ARCHIVE,
        &Limits::default().max_zip_entries(entries - 1),
    )
    .unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::LimitExceeded {
            limit: "max_zip_entries",
            allowed: 7,
            found: 8
        }
    ));

    let content = deflate(&[7; 1_000]);
    let file = archive(&[Entry::deflated("r/a", &content, 1_000)], b"");
    assert!(read(&file, &Limits::default().max_inflated_bytes(1_000)).is_ok());
    let error = read(&file, &Limits::default().max_inflated_bytes(999)).unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::LimitExceeded {
            limit: "max_inflated_bytes",
            allowed: 999,
            found: 1_000
        }
    ));

    // The limit holds for all deflated entries together, before one is inflated.
    let file = archive(
        &[
            Entry::deflated("r/a", &content, 1_000),
            Entry::deflated("r/b", &content, 1_000),
            Entry::stored("r/c", b"more"),
        ],
        b"",
    );
    assert!(read(&file, &Limits::default().max_inflated_bytes(2_000)).is_ok());
    let limits = Limits::default().max_inflated_bytes(1_999);
    let error = ZipArchive::parse(Bytes::from(file), &limits).unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::LimitExceeded {
            limit: "max_inflated_bytes",
            allowed: 1_999,
            found: 2_000
        }
    ));
}
