use super::*;
use crate::Limits;
use crate::zip::ZipArchive;
use crate::zip::tests::torch;

#[test]
fn torchs_archive_is_written_again_byte_for_byte() {
    let file = bytes::Bytes::from_static(torch::ARCHIVE);
    let archive = ZipArchive::parse(&file, &Limits::default()).unwrap();
    let mut writer = ZipWriter::new(Vec::new(), "archive");
    for (name, header, size) in torch::RECORDS {
        let data = archive.data(archive.entry(&format!("archive/{name}")).unwrap());
        writer.record(name, &data.unwrap()).unwrap();
        let record = writer.records[*name];
        assert_eq!((record.header, record.size), (*header, *size));
    }
    assert!(writer.finish().unwrap() == torch::ARCHIVE);
}

/// Length and CRC-32 of a file that `torch._C.PyTorchFileWriter` of torch 2.15 wrote: `data/0` and
/// so on, with `i % sizes` bytes of value `i % 251`, then `byteorder` and `version`.
#[track_caller]
fn check(count: usize, sizes: usize, len: usize, crc: u32) {
    let mut writer = ZipWriter::new(Vec::new(), "archive");
    for i in 0..count {
        let data = vec![(i % 251) as u8; i % sizes];
        writer.record(&format!("data/{i}"), &data).unwrap();
    }
    writer.record("byteorder", b"little").unwrap();
    writer.record("version", b"3\n").unwrap();
    let file = writer.finish().unwrap();
    assert_eq!((file.len(), crc32fast::hash(&file)), (len, crc));
}

#[test]
fn archives_of_any_size_are_torchs() {
    check(0, 3, 674, 0x21a0_a836);
    check(1, 3, 798, 0x4f5d_cc12);
    check(5, 3, 1_486, 0x36f7_60ce);
    check(11, 3, 2_487, 0x4470_ef22);
    check(12, 3, 2_676, 0x24fb_35ef);
    check(28, 3, 5_316, 0x103a_fc60);
    check(60, 3, 10_724, 0x6bda_1cda);
    check(300, 3, 51_164, 0xfcb3_f7bb);
    check(2_000, 3, 338_876, 0x4ee8_99a0);
    // More entries than 16 bits count.
    check(66_000, 2, 10_549_564, 0x5c22_bcb8);
}

#[test]
fn what_torch_could_not_read_is_refused() {
    let mut writer = ZipWriter::new(Vec::new(), "archive");
    writer.record("a", b"1").unwrap();
    let error = writer.record("a", b"2").unwrap_err();
    assert_eq!(error.entry(), Some("a"));
    assert!(writer.record(&"x".repeat(65_528), b"").is_err());
    assert!(writer.record(&"x".repeat(65_527), b"").is_ok());
    assert!(ZipWriter::new(Vec::new(), "").record("a", b"").is_err());

    let mut writer = ZipWriter::new(Vec::new(), "archive");
    writer.record(ID_RECORD, b"").unwrap();
    assert!(writer.finish().is_err());
}
