use super::*;

#[track_caller]
fn check(head_hex: &str, expected: Option<Format>) {
    let (pairs, rest) = head_hex.as_bytes().as_chunks::<2>();
    assert!(rest.is_empty());
    let head: Vec<u8> = pairs
        .iter()
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect();
    assert_eq!(sniff(&head), expected);
}

/// The first nine bytes of the sniffing fixtures, which is as far as NNx looks.
#[test]
fn nine_bytes_lead_to_the_loader_of_nnx() {
    check("504b03040000080800", Some(Format::TorchZip));
    check("504b0304", Some(Format::TorchZip));
    check("504b03040000000000", Some(Format::TorchZip));
    check("40030000000000007b", Some(Format::SafeTensors));
    check("00000000000100007b", Some(Format::SafeTensors));
    check("02000000000000007b", Some(Format::SafeTensors));
    // A header's length that begins like a pickle.
    check("80030000000000007b", Some(Format::SafeTensors));
    check("80000000000000007b", Some(Format::SafeTensors));
    check("80", Some(Format::Pickle));
    check("80027d710058010000", Some(Format::Pickle));
    check("8002636e6e782e6e6e", Some(Format::Pickle));
    check("8004950a0000000000", Some(Format::Pickle));
    // Nothing that NNx knows: its safetensors loader is to say so.
    check("", None);
    check("50", None);
    check("0000000000000000", None);
    check("000000000000000000", None);
    check("410300000000000020", None);
    check("68656c6c6f20776f72", None);
    check("6a756e6b504b030400", None);
    check("504b05060000000000", Some(Format::EmptyZip));
}

#[test]
fn the_magic_of_the_legacy_container_is_told_from_other_pickles() {
    check("80028a0a6cfc9c46f9206aa850192e", Some(Format::TorchLegacy));
    check(
        "80038a0a6cfc9c46f9206aa850192e80",
        Some(Format::TorchLegacy),
    );
    // Protocol 4 puts it into a frame.
    check(
        "8004950d000000000000008a0a6cfc9c46f9206aa850192e",
        Some(Format::TorchLegacy),
    );
    assert_eq!(
        sniff(b"L119547037146038801333356L\n.M\xe9\x03."),
        Some(Format::TorchLegacy)
    );
    assert_eq!(sniff(b"L119547037146038801333357L\n."), None);
    check("80028a0a6cfc9c46f9206aa850182e", Some(Format::Pickle));
    check("80028a0a6cfc9c46f9", Some(Format::Pickle));
}

#[test]
fn other_formats_are_named() {
    // 123 tensors: the ninth byte is a brace, but no header is as long as `GGUF` says.
    check("47475546030000007b00000000000000", Some(Format::Gguf));
    check("894844460d0a1a0a", Some(Format::Hdf5));
    check("934e554d5059010076007b", Some(Format::Npy));
    assert_eq!(
        sniff(b"version https://git-lfs.github.com/spec/v1\noid sha256:"),
        Some(Format::GitLfsPointer)
    );
    assert_eq!(sniff(b"\n <!DOCTYPE HTML><html>"), Some(Format::Html));
    assert_eq!(sniff(b"<HTML lang=en>"), Some(Format::Html));
    assert_eq!(sniff(b"<htm"), None);
    let mut tar = [0; SNIFF_BYTES];
    tar[..8].copy_from_slice(b"storages");
    tar[257..262].copy_from_slice(b"ustar");
    assert_eq!(sniff(&tar), Some(Format::Tar));
    assert_eq!(sniff(&tar[..261]), None);
}

#[test]
fn all_formats_are_listed_in_their_order() {
    // The last variant of the declaration: a new one must be added to the list and here.
    assert_eq!(Format::all().len(), Format::Html as usize + 1);
    for (index, format) in Format::all().iter().enumerate() {
        assert_eq!(*format as usize, index, "{format:?}");
    }
}

#[test]
fn models_of_other_libraries_and_compressed_files_are_named() {
    // `saved_model.pb` of TensorFlow: the version of its schema, then a graph of 46 and of 300 bytes.
    check("0801122e0a0c", Some(Format::SavedModel));
    check("080112ac020a0c", Some(Format::SavedModel));
    // The same version of an ONNX model, whose second field is the producer's name.
    check("08011207707974", Some(Format::Onnx));
    // `onnx.save` of a model with the producer name `pytorch`; then one with a graph alone.
    check("08081207707974", Some(Format::Onnx));
    check("08083a10", Some(Format::Onnx));
    check("0800120770", None);
    check("81a6706172616d7381", Some(Format::Flax));
    check("1f8b08000000", Some(Format::Compressed));
    check("28b52ffd", Some(Format::Compressed));
    check("fd377a585a00", Some(Format::Compressed));
    check("425a6839", Some(Format::Compressed));
}

#[test]
fn every_compression_is_named() {
    #[track_caller]
    fn check(head: &[u8], expected: &str) {
        assert_eq!(sniff(head), Some(Format::Compressed), "{head:x?}");
        assert_eq!(compression(head), Some(expected));
    }
    check(b"\x1f\x8b\x08\0\0\0\0\0\0\x03", "gzip");
    // `zlib.compress(b"a" * 9, level)` of the levels 0, 6 and 9.
    check(b"\x78\x01\x01\x09\x00\xf6\xff\x61", "zlib");
    check(b"\x78\x9c\x4b\x84\x03\x00\x11\xf4", "zlib");
    check(b"\x78\xda\x4b\x84\x03\x00\x11\xf4", "zlib");
    check(b"BZh91AY&SY", "bzip2");
    check(b"\xfd7zXZ\0", "xz");
    check(b"\x28\xb5\x2f\xfd\x04", "Zstandard");
    check(b"\x50\x2a\x4d\x18\x04", "Zstandard");
    check(b"7z\xbc\xaf\x27\x1c\0\x04", "7z");
    check(b"Rar!\x1a\x07\x01\0", "RAR");
    check(b"Rar!\x1a\x07\0", "RAR");
    check(b"\x04\x22\x4d\x18\x64\x40\xa7", "LZ4");
    check(b"\x1f\x9d\x90\x61\xc2\xc6\x10\x80", "compress");
    check(b"LZIP\x01\x0c", "lzip");
    check(b"ZF0x1b                ", "joblib");
    check(b"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0", "LZMA");
}

#[test]
fn the_length_of_a_header_is_no_compression() {
    // 40,056 and 40,223 bytes, the first of which is a space.
    assert_eq!(sniff(b"\x78\x9c\0\0\0\0\0\0 {"), None);
    assert_eq!(sniff(b"\x1f\x9d\0\0\0\0\0\0 {"), None);
    assert_eq!(sniff(b"x^2 + y^2"), None);
    assert_eq!(compression(b"x^2 + y^2"), None);
    assert_eq!(compression(b""), None);
}
