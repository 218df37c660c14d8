//! Zip archives, read and written.

use bytes::Bytes;
use nnx_checkpoint::zip::{ZipArchive, ZipWriter};

use crate::limits::{ENOUGH_BYTES, limits};

/// An archive's entries are those of its directory, and all of them can be written and read.
///
/// # Panics
/// When they are not, or cannot.
pub fn zip(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    let Ok(archive) = ZipArchive::parse(&bytes, &limits()) else {
        return;
    };
    assert!(
        archive.entries().len() <= data.len() / 46,
        "more entries than headers"
    );
    let mut contents = Vec::new();
    let mut copied = 0;
    for entry in archive.entries() {
        let found = archive
            .entry(entry.name())
            .expect("a listed entry has its name");
        assert!(
            std::ptr::eq(found, entry),
            "`{}` leads to another entry",
            entry.name()
        );
        let Ok(content) = archive.data(entry) else {
            continue;
        };
        assert_eq!(
            content.len() as u64,
            entry.size(),
            "size of `{}`",
            entry.name()
        );
        if entry.is_stored() {
            let file = bytes.as_ptr_range();
            let range = content.as_ptr_range();
            let within = file.start <= range.start && range.end <= file.end;
            assert!(content.is_empty() || within, "a stored entry was copied");
        }
        copied += content.len();
        contents.push((entry.name(), content));
        if copied > ENOUGH_BYTES {
            break;
        }
    }
    write_and_read(&contents);
}

fn write_and_read(contents: &[(&str, Bytes)]) {
    let mut writer = ZipWriter::new(Vec::new(), "root");
    let mut written = Vec::new();
    for (name, content) in contents {
        // A name near the format's bound leaves no room for the root.
        if writer.record(name, content).is_ok() {
            written.push((format!("root/{name}"), content));
        }
    }
    let taken = written
        .iter()
        .any(|(name, _)| name == "root/.data/serialization_id");
    let file = match writer.finish() {
        Ok(file) => Bytes::from(file),
        Err(error) => {
            assert!(taken, "not finished: {error}");
            return;
        }
    };
    let archive = ZipArchive::parse(&file, &limits()).expect("a written archive is read");
    assert_eq!(
        archive.entries().len(),
        written.len() + 1,
        "the id is added"
    );
    for (name, content) in written {
        let entry = archive.entry(&name).expect("a written record is there");
        let found = archive.data(entry).expect("a written record is read");
        assert!(found == *content, "`{name}` differs");
    }
}
