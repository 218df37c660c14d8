//! Damaging files on purpose.

use crate::dictionary::TOKENS;
use crate::random::Random;

/// Bytes that an input may grow to.
const MAX_BYTES: usize = 1 << 16;
/// Changes made to one input, at most.
const MAX_CHANGES: usize = 6;
/// Numbers at which length fields tend to break.
const NUMBERS: &[u64] = &[
    0,
    1,
    2,
    3,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX - 1,
    u64::MAX,
];

/// One of some seeds, changed in a few places.
pub(crate) fn mutant(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = random.pick(seeds).clone();
    for _ in 0..=random.below(MAX_CHANGES) {
        change(&mut input, seeds, random);
    }
    input.truncate(MAX_BYTES);
    input
}

fn change(input: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let at = random.below(input.len());
    match random.below(12) {
        0 | 1 => flip(input, at, random),
        2 => set(input, at, &[random.next().to_le_bytes()[0]]),
        3 => input.truncate(at),
        4 => {
            let end = (at + 1 + random.below(16)).min(input.len());
            input.drain(at.min(end)..end);
        }
        5 => {
            let end = (at + 1 + random.below(64)).min(input.len());
            let piece = input.get(at..end).unwrap_or_default().to_vec();
            let to = random.below(input.len() + 1);
            insert(input, to, &piece);
        }
        6 | 7 => number(input, at, random),
        8 => {
            let token = random.pick(TOKENS);
            set(input, at, token);
        }
        9 => {
            let token = random.pick(TOKENS);
            insert(input, at, token);
        }
        10 => {
            let other = random.pick(seeds);
            splice(input, at, other, random);
        }
        _ => {
            let digit = b'0' + random.next().to_le_bytes()[0] % 10;
            // Length fields of text formats are digits: change one that is there.
            if let Some(byte) = input.iter_mut().skip(at).find(|byte| byte.is_ascii_digit()) {
                *byte = digit;
            }
        }
    }
}

fn flip(input: &mut [u8], at: usize, random: &mut Random) {
    if let Some(byte) = input.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
}

/// A little-endian number of 1, 2, 4 or 8 bytes: a known one, or the one that is there, changed
/// a little.
fn number(input: &mut [u8], at: usize, random: &mut Random) {
    let width = 1 << random.below(4);
    let mut bytes = [0; 8];
    if let Some(there) = input.get(at..at + width) {
        bytes[..width].copy_from_slice(there);
    }
    let number = match random.below(4) {
        0 => u64::from_le_bytes(bytes).wrapping_add(1 + random.next() % 8),
        1 => u64::from_le_bytes(bytes).wrapping_sub(1 + random.next() % 8),
        2 => input.len() as u64,
        _ => *random.pick(NUMBERS),
    };
    set(input, at, &number.to_le_bytes()[..width]);
}

fn set(input: &mut [u8], at: usize, bytes: &[u8]) {
    for (target, byte) in input.iter_mut().skip(at).zip(bytes) {
        *target = *byte;
    }
}

fn insert(input: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    input.splice(at..at, bytes.iter().copied());
}

/// The input's beginning, then another seed's end.
fn splice(input: &mut Vec<u8>, at: usize, other: &[u8], random: &mut Random) {
    input.truncate(at);
    let from = random.below(other.len());
    input.extend_from_slice(other.get(from..).unwrap_or_default());
}
