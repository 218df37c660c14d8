use std::io::Write;

use bytes::Bytes;

use super::{ZipArchive, ZipWriter};
use crate::Limits;
use crate::error::Result;

mod content;
pub(crate) mod torch;

/// The contents of all entries, in order.
fn read(file: &[u8], limits: &Limits) -> Result<Vec<(String, Bytes)>> {
    let archive = ZipArchive::parse(Bytes::copy_from_slice(file), limits)?;
    archive
        .entries()
        .iter()
        .map(|entry| Ok((entry.name().to_owned(), archive.data(entry)?)))
        .collect()
}

#[track_caller]
fn accept(file: &[u8], expected: &[(&str, &str)]) {
    let found = read(file, &Limits::default()).unwrap();
    let found: Vec<_> = found.iter().map(|(n, d)| (n.as_str(), &d[..])).collect();
    let expected: Vec<_> = expected.iter().map(|(n, d)| (*n, d.as_bytes())).collect();
    assert_eq!(found, expected);
}

#[track_caller]
fn refuse(file: &[u8], expected: &str) {
    let error = read(file, &Limits::default()).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

/// torch's archive with some bytes replaced, each from an offset on.
fn patched(patches: &[(usize, &[u8])]) -> Vec<u8> {
    let mut file = torch::ARCHIVE.to_vec();
    for (at, bytes) in patches {
        file[*at..][..bytes.len()].copy_from_slice(bytes);
    }
    file
}

/// One entry of an archive by hand, local header and central header in agreement.
struct Entry<'a> {
    name: &'a str,
    flags: u16,
    method: u16,
    crc: u32,
    size: u32,
    content: &'a [u8],
}

impl<'a> Entry<'a> {
    fn stored(name: &'a str, content: &'a [u8]) -> Self {
        Self {
            name,
            flags: 0,
            method: 0,
            crc: crc32fast::hash(content),
            size: content.len() as u32,
            content,
        }
    }

    fn deflated(name: &'a str, content: &'a [u8], size: u32) -> Self {
        Self {
            method: 8,
            crc: 0,
            size,
            ..Self::stored(name, content)
        }
    }

    fn fields(&self, version: u16) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(version.to_le_bytes());
        out.extend(self.flags.to_le_bytes());
        out.extend(self.method.to_le_bytes());
        out.extend([0; 4]);
        out.extend(self.crc.to_le_bytes());
        out.extend((self.content.len() as u32).to_le_bytes());
        out.extend(self.size.to_le_bytes());
        out.extend((self.name.len() as u16).to_le_bytes());
        out.extend([0; 2]);
        out
    }
}

fn archive(entries: &[Entry<'_>], comment: &[u8]) -> Vec<u8> {
    let (mut file, mut central) = (Vec::new(), Vec::new());
    for entry in entries {
        central.extend(b"PK\x01\x02\x14\x00");
        central.extend(entry.fields(20));
        central.extend([0; 10]);
        central.extend((file.len() as u32).to_le_bytes());
        central.extend(entry.name.as_bytes());
        file.extend(b"PK\x03\x04");
        file.extend(entry.fields(20));
        file.extend(entry.name.as_bytes());
        file.extend(entry.content);
    }
    let start = file.len() as u32;
    file.extend(&central);
    file.extend(end_record(
        entries.len() as u16,
        central.len() as u32,
        start,
    ));
    file.extend((comment.len() as u16).to_le_bytes());
    file.extend(comment);
    file
}

/// An end record but for the length of its comment.
fn end_record(count: u16, size: u32, start: u32) -> Vec<u8> {
    let mut out = b"PK\x05\x06\0\0\0\0".to_vec();
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend(size.to_le_bytes());
    out.extend(start.to_le_bytes());
    out
}

fn deflate(data: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    writer.write_all(data).unwrap();
    writer.finish().unwrap()
}

#[test]
fn torchs_archive_is_read() {
    let file = Bytes::from_static(torch::ARCHIVE);
    let archive = ZipArchive::parse(&file, &Limits::default()).unwrap();
    let expected: Vec<_> = torch::RECORDS
        .iter()
        .map(|(name, _, size)| (format!("archive/{name}"), *size))
        .chain([("archive/.data/serialization_id".to_owned(), 40)])
        .collect();
    let found: Vec<_> = archive
        .entries()
        .iter()
        .map(|entry| (entry.name().to_owned(), entry.size()))
        .collect();
    assert_eq!(found, expected);

    let data = |name| archive.data(archive.entry(name).unwrap()).unwrap();
    assert_eq!(data("archive/version"), "3\n");
    assert_eq!(
        data("archive/data/0"),
        [0, 0, 128, 63, 0, 0, 0, 64].as_slice()
    );
    assert_eq!(data("archive/data/1"), "");
    assert!(archive.entry("archive/VERSION").is_none());
    assert!(archive.entry("version").is_none());

    // Nothing is copied.
    let storage = data("archive/data/0");
    assert_eq!(storage.as_ptr(), file[768..].as_ptr());
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    for len in 0..torch::ARCHIVE.len() {
        assert!(
            read(&torch::ARCHIVE[..len], &Limits::default()).is_err(),
            "{len}"
        );
    }
}

#[test]
fn a_flipped_bit_gives_an_error_or_the_same_contents() {
    let sound = read(torch::ARCHIVE, &Limits::default()).unwrap();
    let mut file = torch::ARCHIVE.to_vec();
    let mut refused = 0;
    for bit in 0..file.len() * 8 {
        file[bit / 8] ^= 1 << (bit % 8);
        match read(&file, &Limits::default()) {
            // A name may change in both headers' places only, so it never changes unnoticed.
            Ok(found) => assert_eq!(found, sound, "bit {bit}"),
            Err(_) => refused += 1,
        }
        file[bit / 8] ^= 1 << (bit % 8);
    }
    // All contents, signatures, sizes, offsets and names are covered.
    assert!(refused > 5_000, "{refused}");
}

#[test]
fn what_is_around_the_archive_is_refused() {
    let file = torch::ARCHIVE;
    refuse(
        &[b"junk", file].concat(),
        "at 0x687; 4 bytes that do not belong",
    );
    refuse(&[file, b"junk"].concat(), "to end the file, found 4 bytes");
    refuse(&[file, file].concat(), "; 1765 bytes that do not belong");
    let short = archive(&[Entry::stored("a/b", b"c")], b"");
    refuse(
        &[b"junk".as_slice(), &short].concat(),
        "4 bytes that do not belong to the archive",
    );
    refuse(b"PK\x03\x04", "found none");
    refuse(b"", "found none");
}

#[test]
fn local_headers_must_agree_with_the_central_directory() {
    // Offsets within the header of `data/0`, whose numbers are deferred and zero.
    let at = torch::RECORDS[4].1 as usize;
    refuse(
        &patched(&[(at + 6, &[9])]),
        "the flags 9, the central directory 8",
    );
    refuse(
        &patched(&[(at + 6, &[0])]),
        "the flags 0, the central directory 8",
    );
    refuse(&patched(&[(at + 8, &[8])]), "the method 8");
    refuse(&patched(&[(at + 14, &[1])]), "the checksum 1");
    refuse(&patched(&[(at + 18, &[1])]), "the compressed size 1");
    refuse(&patched(&[(at + 22, &[1])]), "the size 1");
    refuse(&patched(&[(at + 30 + 13, b"7")]), "`archive/data/7`");
    refuse(&patched(&[(at, b"PK\x01\x02")]), "of the local header");
    refuse(&patched(&[(at + 28, &[255])]), "reach into the next entry");
    // The same numbers as in the central directory are fine.
    accept_all(&patched(&[(at + 18, &[8]), (at + 22, &[8])]));
}

#[track_caller]
fn accept_all(file: &[u8]) {
    let expected = read(torch::ARCHIVE, &Limits::default()).unwrap();
    assert_eq!(read(file, &Limits::default()).unwrap(), expected);
}

#[test]
fn the_central_directory_is_checked() {
    // Offsets within the central header of `data.pkl`.
    let at = torch::DIRECTORY;
    refuse(&patched(&[(at + 8, &[9])]), "the entry is encrypted");
    refuse(&patched(&[(at + 16, &[0xff])]), "the checksum");
    refuse(
        &patched(&[(at + 20, &[208])]),
        "takes 208 bytes but states 220",
    );
    refuse(&patched(&[(at + 22, &[1])]), "to end before 0x12c");
    refuse(&patched(&[(at + 34, &[1])]), "split archive");
    refuse(
        &patched(&[(at + 42, &[1])]),
        "its first entry behind 1 bytes",
    );
    refuse(
        &patched(&[(at + 24, &[0xff; 4])]),
        "64-bit numbers, to which the entry points",
    );
    refuse(
        &patched(&[(at + 46, b"\xff")]),
        r"in UTF-8, found `\xffrchive/data.pkl`",
    );
    refuse(&patched(&[(at, b"PK\x03\x04")]), "of the central directory");
    // A checksum of zero is none.
    accept_all(&patched(&[(at + 16, &[0; 4])]));
}

#[test]
fn entries_that_overlap_or_share_a_name_are_refused() {
    let twice = archive(
        &[Entry::stored("r/a", b"1"), Entry::stored("r/a", b"2")],
        b"",
    );
    refuse(&twice, "two entries have one name (entry `r/a`)");

    let mut file = archive(
        &[Entry::stored("r/a", b"1"), Entry::stored("r/b", b"1")],
        b"",
    );
    let second = file.len() - 22 - 49;
    assert_eq!(&file[second..][..4], b"PK\x01\x02");
    file[second + 42..][..4].copy_from_slice(&[0; 4]);
    refuse(&file, "where the next entry");
    // A content that starts inside a local header's extra field is not reached from outside.
    file[second + 42..][..4].copy_from_slice(&33u32.to_le_bytes());
    refuse(&file, "where the next entry");
}

#[test]
fn names_are_only_names() {
    let names = ["/etc/passwd", "../../x", "r\0x", "a/", "网络", "C:\\x", ""];
    let entries: Vec<_> = names.iter().map(|name| Entry::stored(name, b"x")).collect();
    let expected: Vec<_> = names.iter().map(|name| (*name, "x")).collect();
    accept(&archive(&entries, b""), &expected);
}

#[test]
fn comments_are_no_end_records() {
    let entries = || [Entry::stored("r/a", b"1")];
    let expected = [("r/a", "1")];
    accept(&archive(&entries(), b"PK\x05\x06"), &expected);
    accept(&archive(&entries(), &[b'-'; 65_535]), &expected);
    accept(
        &archive(&entries(), &[b"PK\x05\x06".as_slice(); 400].concat()),
        &expected,
    );

    // A record in the comment whose directory is not where it says.
    let mut fake = end_record(1, 49, 34);
    fake.extend([0; 2]);
    accept(&archive(&entries(), &fake), &expected);

    // One whose empty directory is: some reader would see an archive without entries.
    let at = archive(&entries(), b"").len() as u32;
    let mut fake = end_record(0, 0, at);
    fake.extend([0; 2]);
    refuse(&archive(&entries(), &fake), "two end records are sound");
}

#[test]
fn an_archive_without_entries_is_sound() {
    accept(&archive(&[], b""), &[]);
}

#[test]
fn long_numbers_are_read() {
    // Python's zipfile writes so with `force_zip64`.
    let entry = Entry::stored("r/a", b"12");
    let mut file = b"PK\x03\x04\x2d\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend(entry.crc.to_le_bytes());
    file.extend([0xff; 8]);
    file.extend([3, 0, 20, 0]);
    file.extend(b"r/a\x01\x00\x10\x00");
    file.extend(2u64.to_le_bytes());
    file.extend(2u64.to_le_bytes());
    file.extend(b"12");
    let start = file.len() as u64;
    file.extend(b"PK\x01\x02\x2d\0\x2d\0\0\0\0\0\0\0\0\0");
    file.extend(entry.crc.to_le_bytes());
    file.extend([0xff; 8]);
    file.extend([3, 0, 32, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0]);
    file.extend([0xff; 4]);
    file.extend(b"r/a\x01\x00\x1c\x00");
    file.extend(2u64.to_le_bytes());
    file.extend(2u64.to_le_bytes());
    file.extend(0u64.to_le_bytes());
    file.extend(0u32.to_le_bytes());
    let size = file.len() as u64 - start;
    let record = file.len() as u64;
    file.extend(b"PK\x06\x06\x2c\0\0\0\0\0\0\0\x2d\0\x2d\0\0\0\0\0\0\0\0\0");
    for number in [1, 1, size, start] {
        file.extend(u64::to_le_bytes(number));
    }
    file.extend(b"PK\x06\x07\0\0\0\0");
    file.extend(record.to_le_bytes());
    file.extend(1u32.to_le_bytes());
    let end = file.len();
    file.extend(end_record(0xffff, u32::MAX, u32::MAX));
    file.extend([0; 2]);
    accept(&file, &[("r/a", "12")]);

    let mut wrong = file.clone();
    wrong[end + 8..][..4].copy_from_slice(&[2, 0, 2, 0]);
    refuse(&wrong, "the two end records disagree");
    let mut wrong = file.clone();
    wrong[end - 4] = 2;
    refuse(&wrong, "split over several files");
    // The 64-bit numbers of the local header are 14 bytes after its name's length.
    let mut wrong = file;
    wrong[37] = 3;
    refuse(&wrong, "the size 3");
}

#[test]
fn an_entry_of_another_archive_does_no_harm() {
    let long = ZipArchive::parse(Bytes::from_static(torch::ARCHIVE), &Limits::default()).unwrap();
    let mut writer = ZipWriter::new(Vec::new(), "archive");
    writer.record("version", b"3\n").unwrap();
    let short = Bytes::from(writer.finish().unwrap());
    let short = ZipArchive::parse(&short, &Limits::default()).unwrap();
    for entry in long.entries() {
        assert!(short.data(entry).is_err());
    }
}
