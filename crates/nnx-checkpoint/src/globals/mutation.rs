//! The known names that make new objects, so that filling these changes nothing else.

use super::SafetyLevel;

/// The safety of changing the result of a known class or function.
pub(super) fn of_known(module: &str, name: &str) -> SafetyLevel {
    if is_enum(module, name) {
        SafetyLevel::Suspicious
    } else if is_class(module, name) || makes_new(module, name) {
        SafetyLevel::Innocuous
    } else {
        SafetyLevel::Dangerous
    }
}

/// Whether calling the class gives a member of it, which all Python shares. Pickling one never asks
/// for a state.
fn is_enum(module: &str, name: &str) -> bool {
    module.starts_with("nnx.nn.enum.")
        || module.starts_with("transformers.")
        || matches!(
            name,
            "InterpolationMode"
                | "MappingType"
                | "OptState"
                | "QuantType"
                | "SafeUUID"
                | "TorchAODType"
                | "ZeroPointDomain"
                | "_MEM_FORMAT_ENCODING"
                | "_OrthMaps"
        )
}

/// Whether a known name is that of a class: all of them begin with a capital, but for those of
/// Python and NumPy, and no known function does.
pub(super) fn is_class(module: &str, name: &str) -> bool {
    name.trim_start_matches('_')
        .starts_with(|first: char| first.is_uppercase())
        || matches!(
            module,
            "__builtin__" | "builtins" | "collections" | "datetime" | "numpy" | "torch"
        )
}

/// The functions that make an object, which is filled afterwards.
fn makes_new(module: &str, name: &str) -> bool {
    match module {
        "copy_reg"
        | "copyreg"
        | "numpy._core.multiarray"
        | "numpy.core.multiarray"
        | "numpy._core.numeric"
        | "numpy.core.numeric"
        | "numpy.random._pickle"
        | "numpy.random.bit_generator" => true,
        "torch._utils" => name.starts_with("_rebuild_"),
        _ => false,
    }
}
