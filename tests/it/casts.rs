//! Casts between dtypes against torch's: every pair over the inputs that `fixtures/casts/make.py`
//! describes, made here again.

use std::collections::{HashMap, HashSet};

use nnx_checkpoint::{Caster, Dtype, ErrorKind, cast};
use nnx_tests::{Json, fixtures_dir, sha256};

/// Ordered pairs of different dtypes: 72 among floats, 81 from bool and integers to floats, 26
/// from bool and integers to wider integers, 12 among complex dtypes.
const PAIRS: usize = 72 + 81 + 26 + 12;

#[test]
fn every_pair_casts_as_torch_does() {
    let expected = expected();
    let sources: HashMap<Dtype, Source> = expected
        .get("inputs")
        .state()
        .keys()
        .map(|name| {
            (
                dtype(name),
                Source::make(name, &expected.get("inputs").get(name)),
            )
        })
        .collect();
    let mut judged = 0;
    let mut elements = 0;
    for row in expected.get("casts").items() {
        let (from, to) = pair(&row);
        let source = &sources[&from];
        check_short(&source.short, from, to, &codes(row.get("short").text()));
        let bytes = cast(&source.bytes, from, to).unwrap();
        assert_eq!(
            sha256(&bytes),
            row.get("sha256").text(),
            "{from} to {to}: the short list agrees, the long one does not"
        );
        judged += 1;
        elements += bytes.len() / to.component_size();
    }
    println!("{judged} pairs of dtypes judged, over {elements} numbers");
    assert_eq!(judged, PAIRS);
}

#[test]
fn torch_treats_a_lone_element_otherwise_for_two_pairs_only() {
    // The documentation of `Caster` names these two.
    let found: Vec<_> = expected()
        .get("casts")
        .items()
        .iter()
        .filter(|row| row.find("differs_alone").is_some())
        .map(pair)
        .collect();
    assert_eq!(
        found,
        [
            (Dtype::Float64, Dtype::BFloat16),
            (Dtype::Float16, Dtype::Float32)
        ]
    );
}

#[test]
fn pieces_of_any_length_give_what_the_whole_gives() {
    for (from, to) in [
        (Dtype::Float32, Dtype::BFloat16),
        (Dtype::Float8E5M2, Dtype::Float64),
        (Dtype::Int16, Dtype::Int64),
        (Dtype::Complex64, Dtype::Complex32),
        (Dtype::Float16, Dtype::Float16),
    ] {
        let mut random = Lcg(3);
        let bytes: Vec<u8> = (0..4099 * from.size())
            .map(|_| random.next(8) as u8)
            .collect();
        let whole = cast(&bytes, from, to).unwrap();
        assert_eq!(whole.len(), 4099 * to.size());
        let caster = Caster::new(from, to).unwrap();
        for elements in [1, 7, 511, 512, 513, 1024, 4099] {
            let mut pieces = vec![0xaa];
            for piece in bytes.chunks(elements * from.size()) {
                caster.cast_into(piece, &mut pieces).unwrap();
            }
            assert_eq!(pieces[0], 0xaa, "what stood in the target stays");
            assert!(
                pieces[1..] == whole,
                "{from} to {to}, {elements} at a time, gives other bytes"
            );
        }
    }
}

#[test]
fn part_of_an_element_is_refused() {
    check_part(Dtype::Float32, Dtype::Float16, 6, "float32", 4);
    check_part(Dtype::Float64, Dtype::Float32, 7, "float64", 8);
    check_part(Dtype::Complex64, Dtype::Complex128, 12, "complex64", 8);
    check_part(Dtype::Int16, Dtype::Int16, 1, "int16", 2);
    assert!(
        cast(&[], Dtype::Float32, Dtype::Float16)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn every_other_pair_is_refused_by_name() {
    let supported: HashSet<_> = expected().get("casts").items().iter().map(pair).collect();
    let mut refused = 0;
    for from in Dtype::all() {
        for to in Dtype::all() {
            if from == to {
                let bytes: Vec<u8> = (0..from.size()).map(|byte| 0x81 | byte as u8).collect();
                assert_eq!(cast(&bytes, from, to).unwrap(), bytes, "{from} to itself");
                continue;
            }
            if supported.contains(&(from, to)) {
                continue;
            }
            let error = Caster::new(from, to).expect_err("an unsupported pair");
            assert!(matches!(error.kind(), ErrorKind::Unsupported { .. }));
            let text = error.to_string();
            assert!(
                text.starts_with(&format!("no cast from `{from}` to `{to}`")),
                "{text}"
            );
            refused += 1;
        }
    }
    let dtypes = Dtype::all().count();
    assert_eq!(refused, dtypes * dtypes - dtypes - PAIRS);
}

/// Compares one number at a time, so that a failure names it.
#[track_caller]
fn check_short(inputs: &[u64], from: Dtype, to: Dtype, expected: &[u64]) {
    assert_eq!(inputs.len(), expected.len(), "{from} to {to}");
    let bytes = cast(&bytes_of(inputs, from), from, to).unwrap();
    for ((input, found), expected) in inputs
        .iter()
        .zip(bytes.chunks(to.component_size()))
        .zip(expected)
    {
        let mut code = [0; 8];
        code[..found.len()].copy_from_slice(found);
        let found = u64::from_le_bytes(code);
        assert!(
            found == *expected,
            "{from} {input:#x} to {to}: torch gives {expected:#x}, found {found:#x}"
        );
    }
}

#[track_caller]
fn check_part(from: Dtype, to: Dtype, len: usize, name: &str, size: usize) {
    let mut target = vec![1];
    let error = Caster::new(from, to)
        .unwrap()
        .cast_into(&vec![0; len], &mut target)
        .expect_err("part of an element");
    assert!(matches!(error.kind(), ErrorKind::Malformed { .. }));
    assert_eq!(
        error.to_string(),
        format!("expected whole elements of `{name}`, {size} bytes each, found {len} bytes")
    );
    assert_eq!(target, [1]);
}

fn expected() -> Json {
    Json::read(&fixtures_dir().join("casts/expected.json"))
}

fn dtype(name: &str) -> Dtype {
    Dtype::from_name(name).unwrap_or_else(|| panic!("no dtype `{name}`"))
}

fn pair(row: &Json) -> (Dtype, Dtype) {
    (dtype(row.get("from").text()), dtype(row.get("to").text()))
}

fn codes(text: &str) -> Vec<u64> {
    text.split(' ')
        .map(|code| u64::from_str_radix(code, 16).unwrap())
        .collect()
}

/// The inputs of one dtype, each a number's bits.
struct Source {
    bytes: Vec<u8>,
    short: Vec<u64>,
}

impl Source {
    /// Makes the inputs, which must be the ones that torch cast.
    #[track_caller]
    fn make(name: &str, recorded: &Json) -> Self {
        let dtype = dtype(name);
        let codes_made = inputs(dtype);
        assert_eq!(codes_made.len(), recorded.get("count").size(), "{name}");
        let bytes = bytes_of(&codes_made, dtype);
        assert_eq!(sha256(&bytes), recorded.get("sha256").text(), "{name}");
        Self {
            bytes,
            short: codes(recorded.get("short").text()),
        }
    }
}

fn bytes_of(codes: &[u64], dtype: Dtype) -> Vec<u8> {
    let size = dtype.component_size();
    codes
        .iter()
        .flat_map(|code| code.to_le_bytes().into_iter().take(size))
        .collect()
}

/// `inputs` of the script.
fn inputs(dtype: Dtype) -> Vec<u64> {
    let bits = 8 * dtype.component_size() as u32;
    let mut codes = match (dtype, bits) {
        (_, 8 | 16) => return (0..1 << bits).collect(),
        (Dtype::Float32 | Dtype::Complex64, _) => {
            float_codes((0..256).collect(), 8, 23, (1..24).collect(), &[-1, 0, 1])
        }
        (Dtype::Float64 | Dtype::Complex128, _) => {
            let exponents = [0, 1].into_iter().chain(860..1161).chain([2046, 2047]);
            let places = [1].into_iter().chain(28..53);
            let far = 1 << 28;
            let offsets = [-1, 0, 1, -far - 1, -far, far, far + 1];
            float_codes(exponents.collect(), 11, 52, places.collect(), &offsets)
        }
        _ => integer_codes(bits),
    };
    let mut random = Lcg(20);
    codes.extend((0..4096).map(|_| random.next(bits)));
    codes.resize(codes.len().next_multiple_of(64), 0);
    codes
}

/// `float_codes` of the script.
fn float_codes(
    exponents: Vec<u64>,
    exponent_bits: u32,
    mantissa_bits: u32,
    places: Vec<u32>,
    offsets: &[i64],
) -> Vec<u64> {
    let mut codes = Vec::new();
    for exponent in exponents {
        for sign in [0, 1] {
            let head = (sign << exponent_bits | exponent) << mantissa_bits;
            for &place in &places {
                let half = 1_i64 << (place - 1);
                for start in [0, 1 << place, -1 << place] {
                    for offset in offsets {
                        let mantissa = (start + half + offset).rem_euclid(1 << mantissa_bits);
                        codes.push(head | mantissa as u64);
                    }
                }
            }
        }
    }
    codes
}

/// `integer_codes` of the script.
fn integer_codes(bits: u32) -> Vec<u64> {
    let mask = u64::MAX >> (64 - bits);
    let mut codes = Vec::new();
    for high in 0..bits {
        for low in 0..=high {
            for offset in [u64::MAX, 0, 1] {
                let value = (1_u64 << high).wrapping_add(1 << low).wrapping_add(offset);
                codes.push(value & mask);
                codes.push(value.wrapping_neg() & mask);
            }
        }
    }
    codes
}

/// `lcg` of the script.
struct Lcg(u64);

impl Lcg {
    fn next(&mut self, bits: u32) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> (64 - bits)
    }
}
