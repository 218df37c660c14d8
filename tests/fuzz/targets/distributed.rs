//! The fuzz body `distributed` for libFuzzer.
#![cfg_attr(fuzzing, no_main)]
#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| nnx_fuzz::distributed(data));
#[cfg(not(fuzzing))]
fn main() {}
