//! The fuzz body `history` for libFuzzer.
#![cfg_attr(fuzzing, no_main)]
#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| nnx_fuzz::history(data));
#[cfg(not(fuzzing))]
fn main() {}
