//! What a run records of the program that trained it.

use nnx_params::{State, Value};

/// The keys of the reference, with what holds for this program: no Python, hence no packages.
pub(super) fn of_this_program() -> State {
    let mut metadata = State::new();
    metadata.insert("cuda_available", false);
    metadata.insert("cuda_device_count", 0);
    for unknown in ["git_commit", "git_dirty", "numpy", "python", "torch"] {
        metadata.insert(unknown, Value::None);
    }
    metadata.insert("nnx", concat!("nnx-run ", env!("CARGO_PKG_VERSION")));
    let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    metadata.insert("platform", platform);
    metadata
}
