use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::{FileReport, Verdict, scan_bytes};
use crate::zip::ZipWriter;

/// Runs a program in every unpickler that comes so far.
const PAYLOAD: &[u8] = b"cposix\nsystem\n(S'true'\ntR.";
/// `I0x10`, which Python reads and many a scanner does not.
const PREFIX: &[u8] = b"I0x10\n0";

fn judge(bytes: &[u8]) -> FileReport {
    scan_bytes(Bytes::copy_from_slice(bytes))
}

#[track_caller]
fn check(bytes: &[u8], expected: Verdict) {
    let found = judge(bytes);
    assert_eq!(
        found.verdict(),
        expected,
        "{}: {found:?}",
        bytes.escape_ascii()
    );
}

fn hidden() -> Vec<u8> {
    [PREFIX, PAYLOAD].concat()
}

/// `pickle.dumps(…, 2)` of a text.
fn text(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap().to_le_bytes();
    [b"X", &length[..], text.as_bytes()].concat()
}

/// The bytes that `torch.save(…, _use_new_zipfile_serialization=False)` writes around the object's pickle.
fn legacy(object: &[u8]) -> Vec<u8> {
    let magic = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";
    let sizes = b"\x80\x02}q\x00.";
    [
        &magic[..],
        b"\x80\x02M\xe9\x03.",
        sizes,
        object,
        b"\x80\x02]q\x00.",
    ]
    .concat()
}

fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Vec::new(), "archive");
    for (name, content) in entries {
        writer.record(name, content).unwrap();
    }
    writer.finish().unwrap()
}

/// Each prefix leaves the stack as it was in CPython, so that the payload runs; those behind the
/// gap are refused by its C unpickler and taken by its Python one, or by other versions.
#[test]
fn no_prefix_hides_what_follows_it() {
    for prefix in [
        &b"I0x10\n0"[..],
        b"I1_0\n0",
        b"I 5\n0",
        b"I5 \n0",
        b"I010\n0",
        b"I000\n0",
        b"L0x1\n0",
        b"L1_0L\n0",
        b"L 5L\n0",
        b"L0o7L\n0",
        b"Np 1\n0",
        b"Np1_0\n0",
        b"Np-0\n0",
        b"Np 1\ng 1\n00",
        b"\x96\x01\x00\x00\x00\x00\x00\x00\x00a\x980",
        b"N(e0",
        b"N(u0",
        b"N(\x900",
        b"c__builtin__\nlist\nNb0",
        b"ccollections\nOrderedDict\nctorch\nSize\n)RR0",
        //
        b"F 1.0\n0",
        b"F1_0.0\n0",
        b"S'a' \n0",
        b"\x95\xff\x00\x00\x00\x00\x00\x00\x00",
        b"c__builtin__\nlist\n)Rctorch.nn.functional\nrelu\n}b00",
    ] {
        check(&[prefix, PAYLOAD].concat(), Verdict::Dangerous);
        check(&[b"\x80\x02", prefix, PAYLOAD].concat(), Verdict::Dangerous);
        check(
            &[b"N.\x80\x02", prefix, PAYLOAD].concat(),
            Verdict::Dangerous,
        );
    }
    let huge = [b"L0x", &*vec![b'9'; 5000], b"L\n0", PAYLOAD].concat();
    check(&huge, Verdict::Dangerous);
    let huge = [b"I", &*vec![b'9'; 5000], b"\n0", PAYLOAD].concat();
    check(&huge, Verdict::Dangerous);
    // `ctypes` of Python 2: the names are byte strings.
    check(
        b"U\x05posixU\x06system\x93(S'true'\ntR.",
        Verdict::Dangerous,
    );
    check(
        b"S'posix'\nS'system'\n\x93(S'true'\ntR.",
        Verdict::Dangerous,
    );
}

/// Where names are of no known harm, a part that could not be followed is no reason to go on.
#[test]
fn what_cannot_be_followed_and_names_something_is_not_clean() {
    check(b"F 1.0\n0ccollections\nOrderedDict\n)R.", Verdict::Unjudged);
    check(
        b"N.F 1.0\n0ccollections\nOrderedDict\n)R.",
        Verdict::Unjudged,
    );
    check(
        b"ctorch.nn.functional\nrelu\nN}(U\x07__doc__Nu\x86b.",
        Verdict::Unjudged,
    );
}

#[test]
fn texts_that_begin_like_a_pickle_are_clean() {
    for text in [
        &b"Import\nList\nSet\ncurl\nsystem call\n"[..],
        b"Numbers:\n1. one\n",
        b"class Net:\n    pass\nimport os\nsystem\n",
        b"import os\nimport sys\nos.system('ls')\n",
        b"Include\ncos\nsystem of equations\n",
        b"(a) first\n(b) second\n",
        b"I\nL\nS\nos.system\n",
        b"PK is short for Phil Katz\n",
        b"eval\nexec\nsystem\npopen\n",
    ] {
        check(text, Verdict::Clean);
    }
}

#[test]
fn hidden_payloads_are_found_wherever_pickles_are() {
    check(&legacy(&hidden()), Verdict::Dangerous);
    let keys = [&legacy(b"\x80\x02N."), &*hidden()].concat();
    check(&keys, Verdict::Dangerous);
    check(
        &zip(&[("data.pkl", &hidden()), ("version", b"3\n")]),
        Verdict::Dangerous,
    );

    let mut header = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".to_vec();
    header.resize(117, b' ');
    header.push(b'\n');
    let array = [b"\x93NUMPY\x01\x00\x76\x00", &*header, &hidden()].concat();
    check(&array, Verdict::Dangerous);
    check(&zip(&[("a.npy", &array)]), Verdict::Dangerous);

    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&hidden()).unwrap();
    check(&packed.finish().unwrap(), Verdict::Dangerous);

    let length = u8::try_from(hidden().len()).unwrap();
    check(
        &[b"\x80\x04C", &[length][..], &hidden(), b"."].concat(),
        Verdict::Dangerous,
    );
}

/// The length of the header is `U@`, a text of 64 bytes to pickle; the header ends in `V`, whose
/// line is the rest of it.
#[test]
fn a_safetensors_file_that_is_a_pickle_too_is_found() {
    let body = [b"0", &*hidden()].concat();
    let mut header = br#"{"__metadata__":{"a":""#.to_vec();
    header.resize(58, b'x');
    header.extend(b"0V\"},\"t\":{\"dtype\":\"U8\",\"shape\":[");
    let length = body.len();
    header.extend(format!("{length}],\"data_offsets\":[0,{length}]}}}}").bytes());
    header.resize(0x4054, b' ');
    header.push(b'\n');
    let file = [&0x4055_u64.to_le_bytes()[..], &header, &body].concat();
    assert!(
        crate::safetensors::SafeTensors::parse(
            Bytes::from(file.clone()),
            &crate::Limits::default()
        )
        .is_ok()
    );
    check(&file, Verdict::Dangerous);
}

/// A header whose checksum field is made from the sum of its bytes, and the content.
fn tar_entry(
    name: &[u8],
    kind: u8,
    content: &[u8],
    signed: bool,
    checksum: fn(i32) -> String,
) -> Vec<u8> {
    let mut block = [0_u8; 512];
    block[..name.len()].copy_from_slice(name);
    block[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
    block[148..156].fill(b' ');
    block[156] = kind;
    let sum: i32 = block
        .iter()
        .map(|&byte| {
            if signed {
                i32::from(byte.cast_signed())
            } else {
                i32::from(byte)
            }
        })
        .sum();
    let field = checksum(sum);
    block[148..148 + field.len()].copy_from_slice(field.as_bytes());
    let mut entry = [&block[..], content].concat();
    entry.resize(entry.len().next_multiple_of(512), 0);
    entry
}

fn usual(sum: i32) -> String {
    format!("{sum:06o}\0 ")
}

#[test]
fn tar_archives_are_read_as_python_reads_them() {
    let tar = |name: &[u8], signed, checksum| {
        let first = tar_entry(name, b'0', b"", signed, checksum);
        let second = tar_entry(b"storages", b'0', &hidden(), false, usual);
        [&*first, &second, &[0; 1024]].concat()
    };
    check(&tar(b"\x80\x02K\x01.", false, usual), Verdict::Dangerous);
    check(&tar(b"\x80\x02K\x01.", true, usual), Verdict::Dangerous);
    check(
        &tar(b"a", false, |sum| format!("{sum:06o}\0x")),
        Verdict::Dangerous,
    );
    check(
        &tar(b"a", false, |sum| format!("0_{sum:05o}\0")),
        Verdict::Dangerous,
    );
    check(
        &tar(b"a", false, |sum| format!(" {sum:o} ")),
        Verdict::Dangerous,
    );
    check(
        &tar(b"a", false, |sum| format!("{:06o}\0 ", sum + 1)),
        Verdict::Clean,
    );

    // A kind that `tarfile` does not know is a file to it; a folder has no content.
    let behind = |kind| {
        let first = tar_entry(b"a", kind, &hidden(), false, usual);
        [&*first, &[0; 1024]].concat()
    };
    check(&behind(b'Z'), Verdict::Dangerous);
    let folder = tar_entry(b"a", b'5', b"", false, usual);
    let mut stated = folder.clone();
    stated[124..136].copy_from_slice(b"00000001000\0");
    stated[148..156].fill(b' ');
    let sum: i32 = stated.iter().map(|&byte| i32::from(byte)).sum();
    stated[148..156].copy_from_slice(usual(sum).as_bytes());
    let hidden_behind = tar_entry(b"storages", b'0', &hidden(), false, usual);
    check(
        &[&*stated, &hidden_behind, &[0; 1024]].concat(),
        Verdict::Dangerous,
    );
}

#[test]
fn tar_entries_with_holes_are_not_clean() {
    let records: &[u8] = b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n";
    let extended = tar_entry(b"x", b'x', records, false, usual);
    let content = [b"1\n0\n3\n", &[0; 506][..], b"abc"].concat();
    let entry = tar_entry(b"storages", b'0', &content, false, usual);
    check(
        &[&*extended, &entry, &[0; 1024]].concat(),
        Verdict::Unjudged,
    );
    let old = tar_entry(b"storages", b'S', b"abc", false, usual);
    check(&[&*old, &[0; 1024]].concat(), Verdict::Unjudged);
}

/// `build_intlist` gives back what it is given.
#[test]
fn filling_what_a_function_gives_is_dangerous() {
    let relu = b"ctorch.nn.functional\nrelu\n";
    let same = [
        b"\x80\x02ctorch.jit._pickle\nbuild_intlist\n",
        &relu[..],
        b"\x85R",
    ]
    .concat();
    check(&[&*same, b"."].concat(), Verdict::Clean);
    let state = [b"N}", &*text("__doc__"), b"N", b"s\x86b."].concat();
    check(&[&same, &*state].concat(), Verdict::Dangerous);
    check(&[&*same, b"K\x01a."].concat(), Verdict::Dangerous);
    check(&[&*same, b"K\x01K\x02s."].concat(), Verdict::Dangerous);
    // A member of an enumeration is everybody's.
    check(
        b"\x80\x02cuuid\nSafeUUID\nK\x00\x85R}K\x01K\x02sb.",
        Verdict::Suspicious,
    );
    // Opcodes that make objects of their own.
    for made in [
        &b"cuuid\nUUID\n)\x81}b."[..],
        b"ccopy_reg\n_reconstructor\n(ctorch.nn.modules.linear\nLinear\nc__builtin__\nobject\nNtR}b.",
        b"cnumpy\ndtype\nU\x02f4\x85R(K\x03U\x01<NNNtb.",
    ] {
        check(&[b"\x80\x02", made].concat(), Verdict::Clean);
    }
}

/// PyTorch compares the source of such a class, and may write a file.
#[test]
fn a_class_that_comes_with_its_source_is_known_if_it_is_a_known_class() {
    let by_id = |class: &[u8]| {
        let parts = [text("module"), class.to_vec(), text("a.py"), text("source")];
        legacy(&[b"\x80\x02(", &*parts.concat(), b"tQ)\x81}b."].concat())
    };
    check(
        &by_id(b"ctorch.nn.modules.linear\nLinear\n"),
        Verdict::Clean,
    );
    check(&by_id(b"ctorch.nn.functional\nrelu\n"), Verdict::Dangerous);
    check(&by_id(b"cmine\nNet\n"), Verdict::Suspicious);
    check(
        &by_id(b"ctorch.jit._pickle\nbuild_intlist\nctorch.nn.modules.linear\nLinear\n\x85R"),
        Verdict::Suspicious,
    );
}

#[test]
fn the_classes_of_a_program_are_known_beside_it_alone() {
    let pickle: &[u8] = b"\x80\x02c__torch__\nNet\n)\x81}b.";
    check(pickle, Verdict::Suspicious);
    check(
        &zip(&[("data.pkl", pickle), ("version", b"3\n")]),
        Verdict::Suspicious,
    );
    let constants: &[u8] = b"\x80\x02).";
    check(
        &zip(&[("data.pkl", pickle), ("constants.pkl", constants)]),
        Verdict::Clean,
    );
    check(
        &zip(&[("other", pickle), ("constants.pkl", constants)]),
        Verdict::Suspicious,
    );
}

/// An archive that `zipfile.ZipFile` opens.
#[test]
fn a_zip_archive_among_other_bytes_is_looked_into() {
    let archive = zip(&[("data.pkl", &hidden()), ("version", b"3\n")]);
    for (front, back) in [
        (&b""[..], &b""[..]),
        (b"junkjunk", b""),
        (b"junkjunk", b"xx"),
        (b"junkjunk", &[b'x'; 60_000]),
    ] {
        check(&[front, &archive, back].concat(), Verdict::Dangerous);
    }
    // The offsets do not fit: nothing begins where the archive would.
    let mut shifted = [b"junkjunk", &*archive, b"xx"].concat();
    let end = shifted.len() - 24;
    shifted[end + 16..end + 20].copy_from_slice(&[0xff, 0xff, 0xff, 0x7f]);
    check(&shifted, Verdict::Unjudged);
    check(
        b"junk PK\x05\x06 and no archive, but long enough",
        Verdict::Clean,
    );
}

/// A text that many calls share is looked at once: all of them together took a time that grew with
/// the square of the file.
#[test]
fn what_many_calls_share_is_looked_at_once() {
    let encode = [
        &b"\x80\x02c_codecs\nencode\nq\x000"[..],
        &text("N."),
        b"q\x01",
        &text("latin1"),
        b"q\x020(",
        &b"h\x00h\x01h\x02\x86R".repeat(1000),
        b"t.",
    ];
    let found = judge(&encode.concat());
    assert_eq!((found.verdict(), found.pickles()), (Verdict::Clean, 2));
}
