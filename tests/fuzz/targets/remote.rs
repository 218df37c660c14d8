//! The fuzz body `remote` for libFuzzer.
#![cfg_attr(fuzzing, no_main)]
#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| nnx_fuzz::remote(data));
#[cfg(not(fuzzing))]
fn main() {}
