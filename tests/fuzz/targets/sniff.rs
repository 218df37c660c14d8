//! The fuzz body `sniff` for libFuzzer.
#![cfg_attr(fuzzing, no_main)]
#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| nnx_fuzz::sniff(data));
#[cfg(not(fuzzing))]
fn main() {}
