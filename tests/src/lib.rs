//! The fixtures that the real library wrote, with its values for them.
//!
//! They are in `tests/fixtures`; its `README.md` tells how each was made. A fixture that cannot be
//! read stops the run: nothing is skipped.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a broken fixture must stop the run"
)]

mod fixture;
mod json;

use std::fs;
use std::path::Path;

pub use fixture::{BARE_STATE_DICT, ExpectedTensor, Fixture, Form, LIBRARY_VERSIONS, fixtures_dir};
pub use json::Json;

/// Copies a folder with everything in it. The copies may be written to.
///
/// # Panics
/// When a file cannot be read or written.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder to copy to");
    for entry in fs::read_dir(from).expect("a folder to copy") {
        let entry = entry.expect("an entry of a folder");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a kind of file").is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            // Not `fs::copy`, which would keep a file read-only.
            let bytes = fs::read(entry.path()).expect("a file to copy");
            fs::write(&target, bytes).expect("a file to write");
        }
    }
}

/// A float64 as Python's `float.hex` writes it, and `nan`, `inf` and `-inf`.
///
/// # Panics
/// When the text is no such float.
pub fn float_from_hex(text: &str) -> f64 {
    match text {
        "nan" => return f64::NAN,
        "inf" => return f64::INFINITY,
        "-inf" => return f64::NEG_INFINITY,
        _ => {}
    }
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    let parts = rest
        .strip_prefix("0x")
        .and_then(|rest| rest.split_once('p'));
    let (digits, exponent) = parts.expect("hexadecimal digits and an exponent");
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    // At most 53 bits, which a float64 has exactly.
    let mantissa = u64::from_str_radix(&format!("{whole}{fraction}"), 16).expect("a mantissa");
    let shift = 4 * i32::try_from(fraction.len()).expect("a short fraction");
    let exponent: i32 = exponent.parse().expect("an exponent");
    sign * mantissa as f64 * 2_f64.powi(exponent - shift)
}

/// The sha-256 of some bytes, in lower-case hex.
pub fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
