use bytes::Bytes;
use indexmap::IndexMap;

use super::{SafeTensors, write, write_within};
use crate::error::Result;
use crate::{Dtype, ErrorKind, Limits, Storage, Tensor};

fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let length = header.len() as u64;
    [&length.to_le_bytes(), header.as_bytes(), data].concat()
}

fn parse(file: &[u8]) -> Result<SafeTensors> {
    SafeTensors::parse(Bytes::copy_from_slice(file), &Limits::default())
}

/// The result of a header followed by `len` bytes: each tensor's name, dtype and shape, in order.
#[track_caller]
fn accept(header: &str, len: u8, expected: &str) {
    let data: Vec<u8> = (0..len).collect();
    let read = parse(&file(header, &data)).unwrap();
    let found: Vec<String> = read
        .tensors()
        .map(|(name, tensor)| format!("{name} {} {:?}", tensor.dtype(), tensor.shape()))
        .collect();
    assert_eq!(found.join("; "), expected);
    let all: Vec<u8> = read
        .tensors()
        .flat_map(|(_, tensor)| tensor.to_bytes().unwrap().into_owned())
        .collect();
    assert_eq!(all, data);
}

#[track_caller]
fn refuse(header: &str, len: u8, expected: &str) {
    refuse_file(&file(header, &vec![0; len.into()]), expected);
}

#[track_caller]
fn refuse_file(file: &[u8], expected: &str) {
    let error = parse(file).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn tensors_come_in_the_order_of_their_bytes() {
    accept(
        r#"{"b":{"dtype":"I8","shape":[2],"data_offsets":[5,7]},
            "a":{"data_offsets":[0,4],"shape":[1],"dtype":"F32"},
            "empty":{"dtype":"I64","shape":[3,0],"data_offsets":[4,4]},
            "c":{"dtype":"BOOL","shape":[],"data_offsets":[4,5]}}"#,
        7,
        "a float32 [1]; empty int64 [3, 0]; c bool []; b int8 [2]",
    );
    accept("{}", 0, "");
    // safetensors 0.8 takes white space on both sides.
    accept(
        " {\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}\n ",
        1,
        "a uint8 [1]",
    );
    accept(
        r#"{"\u00e9\n":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#,
        1,
        "é\n uint8 [1]",
    );
}

#[test]
fn each_tensor_has_a_storage_of_its_own() {
    let header = r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}"#;
    let bytes = Bytes::from(file(header, &[1, 2]));
    let read = SafeTensors::parse(&bytes, &Limits::default()).unwrap();
    let (a, b) = (read.get("a").unwrap(), read.get("b").unwrap());
    assert!(!a.storage().is_same(b.storage()));
    assert_eq!(
        b.storage().bytes().unwrap().as_ptr(),
        bytes[bytes.len() - 1..].as_ptr()
    );
    assert!(read.get("c").is_none());
}

#[test]
fn metadata_keeps_its_order() {
    let read = parse(&file(r#"{"__metadata__":{"z":"1","a":"2","é":"3"}}"#, &[])).unwrap();
    let expected = [("z", "1"), ("a", "2"), ("é", "3")];
    assert!(
        read.metadata()
            .iter()
            .map(|(k, v)| (&**k, &**v))
            .eq(expected)
    );
}

#[test]
fn a_key_may_stand_once() {
    let a = r#""a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}"#;
    let b = r#""\u0061":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}"#;
    refuse(
        &format!("{{{a},{a}}}"),
        1,
        "the key `a` stands there twice (tensor `a`, offset ",
    );
    refuse(&format!("{{{a},{b}}}"), 2, "the key `a` stands there twice");
    refuse(
        r#"{"__metadata__":{},"__metadata__":{}}"#,
        0,
        "the key `__metadata__` stands",
    );
    refuse(
        r#"{"__metadata__":{"k":"1","k":"1"}}"#,
        0,
        "the key `k` stands there twice",
    );
    refuse(
        r#"{"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#,
        1,
        "the key `dtype` stands there twice (tensor `a`",
    );
}

#[test]
fn a_header_has_one_form() {
    refuse("", 0, "the header is no valid one: EOF");
    refuse("[]", 0, "expected an object of tensors (offset 0x8)");
    refuse("{} {}", 0, "trailing characters (offset 0xb)");
    refuse("\u{feff}{}", 0, "expected value (offset 0x8)");
    refuse(
        r#"{"__metadata__":{"k":1}}"#,
        0,
        "expected a string (entry `__metadata__`",
    );
    refuse(r#"{"__metadata__":[]}"#, 0, "expected an object of strings");
    refuse(r#"{"a":1}"#, 0, "`data_offsets` (tensor `a`");
    refuse(
        r#"{"a":{"dtype":"U8","shape":[1]}}"#,
        0,
        "missing field `data_offsets`",
    );
    refuse(r#"{"a":{"shape":[-1]}}"#, 0, "invalid value: integer `-1`");
    refuse(r#"{"a":{"shape":[1.0]}}"#, 0, "floating point");
    refuse(
        r#"{"a":{"data_offsets":[0,1,2]}}"#,
        0,
        "trailing characters",
    );
    refuse(r#"{"a":{"scale":1}}"#, 0, "unknown field `scale`");
    refuse(
        r#"{"a":{"dtype":"F8_E3M4","shape":[1],"data_offsets":[0,1]}}"#,
        1,
        "the safetensors dtype `F8_E3M4` is not supported (tensor `a`)",
    );
    let mut bytes = file(r#"{"a?":0}"#, &[]);
    bytes[11] = 0xff;
    refuse_file(&bytes, "expected a header in UTF-8 (offset 0xb)");
    for deep in [r#"{"a":"#, r#"{"__metadata__":{"k":"#, ""] {
        assert!(parse(&file(&format!("{deep}{}", "[".repeat(1_000_000)), &[])).is_err());
    }
}

#[test]
fn tensors_fill_the_file_without_gaps() {
    let one = |offsets: &str, shape: &str| {
        format!(r#"{{"a":{{"dtype":"F32","shape":{shape},"data_offsets":{offsets}}}}}"#)
    };
    refuse(
        &one("[4,8]", "[1]"),
        8,
        "that begin at 0, where the tensor before ends",
    );
    refuse(&one("[4,0]", "[1]"), 4, "found [4, 0] (tensor `a`)");
    refuse(&one("[0,4]", "[1]"), 3, "reach past the 3 bytes of tensors");
    refuse(
        &one("[0,4]", "[1]"),
        5,
        "expected 4 bytes of tensors, found 5 (offset ",
    );
    refuse(&one("[0,4]", "[2]"), 4, "(tensor `a`)");
    refuse(&one("[0,8]", "[1]"), 8, "takes 4 bytes, got 8");
    refuse(
        &one("[0,18446744073709551615]", "[1]"),
        8,
        "reach past the 8 bytes",
    );
    refuse(
        &one("[0,4]", "[18446744073709551615,18446744073709551615]"),
        4,
        "overflow",
    );
    refuse(&one("[0,0]", "[18446744073709551615,2,0]"), 0, "overflow");
    let two = |second: &str| {
        format!(
            r#"{{"a":{{"dtype":"U8","shape":[4],"data_offsets":[0,4]}},"b":{{"dtype":"U8","shape":[4],"data_offsets":{second}}}}}"#
        )
    };
    refuse(&two("[0,4]"), 4, "found [0, 4] (tensor `b`)");
    refuse(&two("[2,6]"), 6, "found [2, 6] (tensor `b`)");
    refuse(&two("[5,9]"), 9, "found [5, 9] (tensor `b`)");
}

#[test]
fn the_header_must_be_there() {
    refuse_file(b"", "found 0 bytes");
    refuse_file(&[0; 7], "found 7 bytes");
    refuse_file(
        b"\xff\xff\xff\xff\xff\xff\xff\xff{}",
        "a header of 18446744073709551615 bytes",
    );
    refuse_file(b"hello world", "or is no safetensors file");

    let bytes = Bytes::from(file("{}      ", &[]));
    assert!(SafeTensors::parse(&bytes, &Limits::default().max_header_bytes(8)).is_ok());
    let error = SafeTensors::parse(&bytes, &Limits::default().max_header_bytes(7)).unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::LimitExceeded {
            limit: "max_header_bytes",
            allowed: 7,
            found: 8
        }
    ));
}

/// The format counts single 4-bit floats: `save({"x": zeros((2, 2), float4_e2m1fn_x2)})` of
/// safetensors 0.8 with torch 2.15.
#[test]
fn four_bit_floats_are_counted_in_pairs() {
    let expected =
        b"8\0\0\0\0\0\0\0{\"x\":{\"dtype\":\"F4\",\"shape\":[2,4],\"data_offsets\":[0,4]}} \0\0\0\0";
    let tensor = Tensor::from_bytes(Dtype::Float4E2M1FnX2, &[2, 2], vec![0; 4]).unwrap();
    let mut written = Vec::new();
    write(&mut written, &[("x", &tensor)], None).unwrap();
    assert_eq!(written, expected);
    assert_eq!(parse(expected).unwrap().get("x").unwrap().shape(), [2, 2]);

    let header = r#"{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}"#;
    refuse(header, 2, "fill whole bytes, found [3] (tensor `a`)");
    let header = r#"{"a":{"dtype":"F4","shape":[],"data_offsets":[0,1]}}"#;
    refuse(header, 1, "fill whole bytes");
    let scalar = Tensor::from_bytes(Dtype::Float4E2M1FnX2, &[], vec![0]).unwrap();
    assert!(write(&mut Vec::new(), &[("x", &scalar)], None).is_err());
}

/// All dtypes, in no order, and names that need escapes: the tensors of one file that
/// `safetensors.torch.save` 0.8 wrote with metadata `{"k": "vé\t/"}`.
fn tensors() -> Vec<(&'static str, Tensor)> {
    let tensor = |dtype, shape: &[usize], hex: &str| {
        let bytes: Vec<u8> = hex
            .as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect();
        Tensor::from_bytes(dtype, shape, bytes).unwrap()
    };
    vec![
        ("t0", tensor(Dtype::Bool, &[2], "0001")),
        ("t1", tensor(Dtype::UInt8, &[2], "0001")),
        ("t2", tensor(Dtype::Int8, &[2], "0001")),
        ("t3", tensor(Dtype::Float8E5M2, &[2], "003c")),
        ("t4", tensor(Dtype::Float8E4M3Fn, &[2], "0038")),
        ("t5", tensor(Dtype::Float8E8M0Fnu, &[2], "007f")),
        ("t6", tensor(Dtype::Float8E4M3FnUz, &[2], "0040")),
        ("t7", tensor(Dtype::Float8E5M2FnUz, &[2], "0040")),
        ("t8", tensor(Dtype::Int16, &[2], "00000100")),
        ("t9", tensor(Dtype::UInt16, &[2], "00000100")),
        ("t10", tensor(Dtype::Float16, &[2], "0000003c")),
        ("t11", tensor(Dtype::BFloat16, &[2], "0000803f")),
        ("t12", tensor(Dtype::Int32, &[2], "0000000001000000")),
        ("t13", tensor(Dtype::UInt32, &[2], "0000000001000000")),
        ("t14", tensor(Dtype::Float32, &[2], "000000000000803f")),
        (
            "t15",
            tensor(Dtype::Complex64, &[2], "00000000000000000000803f00000000"),
        ),
        (
            "t16",
            tensor(Dtype::Float64, &[2], "0000000000000000000000000000f03f"),
        ),
        (
            "t17",
            tensor(Dtype::Int64, &[2], "00000000000000000100000000000000"),
        ),
        (
            "t18",
            tensor(Dtype::UInt64, &[2], "00000000000000000100000000000000"),
        ),
        ("é\n\"\\\x7f\u{2028}", tensor(Dtype::Float32, &[2, 0], "")),
        ("B", tensor(Dtype::Float32, &[], "0000803f")),
        ("a", tensor(Dtype::Float32, &[1, 2], "0000803f0000803f")),
    ]
}

fn borrowed<'a>(tensors: &'a [(&'static str, Tensor)]) -> Vec<(&'static str, &'a Tensor)> {
    tensors
        .iter()
        .map(|(name, tensor)| (*name, tensor))
        .collect()
}

fn written(
    tensors: &[(&str, &Tensor)],
    metadata: Option<&IndexMap<String, String>>,
) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    write(&mut out, tensors, metadata)?;
    Ok(out)
}

#[test]
fn a_written_file_is_that_of_the_real_library() {
    let tensors = tensors();
    let metadata = IndexMap::from([("k".to_owned(), "vé\t/".to_owned())]);
    let ours = written(&borrowed(&tensors), Some(&metadata)).unwrap();
    // Length and checksum of the file that Python wrote.
    assert_eq!((ours.len(), crc32fast::hash(&ours)), (1_476, 0xf74a_435f));

    let mut reversed = borrowed(&tensors);
    reversed.reverse();
    assert!(written(&reversed, Some(&metadata)).unwrap() == ours);

    let read = parse(&ours).unwrap();
    assert_eq!(read.metadata(), &metadata);
    let again: Vec<_> = read.tensors().collect();
    assert!(written(&again, Some(&metadata)).unwrap() == ours);
}

#[test]
fn the_formats_own_crate_reads_what_we_write_and_writes_the_same() {
    let tensors = tensors();
    let metadata = IndexMap::from([("k".to_owned(), "v".to_owned())]);
    for metadata in [None, Some(&metadata)] {
        let ours = written(&borrowed(&tensors), metadata).unwrap();
        let judge = ::safetensors::SafeTensors::deserialize(&ours).unwrap();
        assert_eq!(judge.len(), tensors.len());
        for (name, tensor) in &tensors {
            let view = judge.tensor(name).unwrap();
            assert_eq!(view.shape(), tensor.shape());
            assert_eq!(view.data(), &*tensor.to_bytes().unwrap());
            assert_eq!(
                view.dtype().to_string(),
                tensor.dtype().safetensors_name().unwrap()
            );
        }
        let map = metadata.map(|map| map.clone().into_iter().collect());
        let theirs = ::safetensors::serialize(judge.tensors(), map).unwrap();
        assert!(ours == theirs);
    }
}

#[test]
fn views_are_gathered() {
    let storage = Storage::new(vec![0, 1, 2, 3, 4, 5]);
    let view = Tensor::view(storage, Dtype::UInt8, 0, &[3, 2], &[1, 3]).unwrap();
    let file = written(&[("a", &view), ("b", &view)], None).unwrap();
    let read = parse(&file).unwrap();
    for name in ["a", "b"] {
        let tensor = read.get(name).unwrap();
        assert_eq!(&*tensor.to_bytes().unwrap(), [0, 3, 1, 4, 2, 5]);
    }
}

#[test]
fn what_the_format_cannot_hold_is_refused_before_a_byte_is_written() {
    #[track_caller]
    fn refuse(tensors: &[(&str, &Tensor)], limits: &Limits, expected: &str) {
        let mut out = Vec::new();
        let error = write_within(&mut out, tensors, None, limits)
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(out, b"");
    }
    let limits = Limits::default();
    let good = Tensor::from_bytes(Dtype::UInt8, &[1], vec![1]).unwrap();
    let complex = Tensor::from_bytes(Dtype::Complex128, &[1], vec![1; 16]).unwrap();
    refuse(
        &[("a", &good), ("c", &complex)],
        &limits,
        "no dtype for `complex128` (tensor `c`)",
    );
    refuse(
        &[("a", &good), ("a", &good)],
        &limits,
        "two tensors have one name",
    );
    refuse(
        &[("a", &good), ("__metadata__", &good)],
        &limits,
        "reserves the name",
    );

    let bomb = Tensor::view(good.storage().clone(), Dtype::UInt8, 0, &[1 << 40], &[0]).unwrap();
    refuse(&[("a", &good), ("b", &bomb)], &limits, "max_expanded_bytes");

    // Each is within the limit, both together are not.
    let wide = Tensor::view(good.storage().clone(), Dtype::UInt8, 0, &[61], &[0]).unwrap();
    let both = [("a", &wide), ("b", &wide)];
    let exact = limits.max_expanded_bytes(120);
    assert!(write_within(&mut Vec::new(), &both, None, &exact).is_ok());
    refuse(
        &both,
        &limits.max_expanded_bytes(119),
        "the limit `max_expanded_bytes` allows 119, the file asks for 120 or more",
    );

    // Two tensors on one storage are free, a third one is not.
    let all = ["a", "b", "c"].map(|name| (name, &good));
    let size = good.byte_len() as u64;
    assert_eq!(good.byte_len(), good.storage().bytes().unwrap().len());
    let none = limits.max_expanded_bytes(0);
    assert!(write_within(&mut Vec::new(), &all[..2], None, &none).is_ok());
    let exact = limits.max_expanded_bytes(size);
    assert!(write_within(&mut Vec::new(), &all, None, &exact).is_ok());
    let tight = limits.max_expanded_bytes(size - 1);
    refuse(&all, &tight, "max_expanded_bytes");

    let file = written(&[("a", &good)], None).unwrap();
    let header = u64::from_le_bytes(file[..8].try_into().unwrap());
    let tight = limits.max_header_bytes(header);
    assert!(write_within(&mut Vec::new(), &[("a", &good)], None, &tight).is_ok());
    let tight = limits.max_header_bytes(header - 1);
    refuse(&[("a", &good)], &tight, "max_header_bytes");
}

#[test]
fn a_file_cut_anywhere_or_with_a_flipped_bit_is_survived() {
    let tensors = tensors();
    let file = written(&borrowed(&tensors), None).unwrap();
    for len in 0..file.len() {
        assert!(parse(&file[..len]).is_err(), "{len}");
    }
    let mut flipped = file;
    for bit in 0..flipped.len() * 8 {
        flipped[bit / 8] ^= 1 << (bit % 8);
        // Most give an error, some another name or number; all return.
        let _ = parse(&flipped);
        flipped[bit / 8] ^= 1 << (bit % 8);
    }
}
