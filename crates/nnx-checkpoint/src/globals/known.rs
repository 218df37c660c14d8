//! What PyTorch, NumPy, Python's plain data and NNx are saved with.
//!
//! A name stands here when rebuilding with it does nothing beyond making the object it names.

use crate::Dtype;

/// Whether the name is one of plain data.
pub(super) fn is_known(module: &str, name: &str) -> bool {
    match module {
        "torch" => {
            TORCH.contains(&name)
                || Dtype::from_storage_class(name).is_some()
                || Dtype::from_name(name).is_some()
        }
        "torch.cuda" => Dtype::from_storage_class(name).is_some(),
        "torch._utils" => name.starts_with("_rebuild_"),
        "numpy" => NUMPY.contains(&name),
        "numpy.dtypes" => is_class(name) && name.ends_with("DType"),
        _ => {
            NAMES
                .iter()
                .any(|(m, names)| *m == module && names.contains(&name))
                || FAMILIES
                    .iter()
                    .any(|family| module.starts_with(family) && is_class(name))
                // The classes of a TorchScript archive, whose program stands beside them.
                || module == "__torch__"
                || module.starts_with("__torch__.")
        }
    }
}

/// Whether the name is that of a class, by Python's custom: a function, or a module that a module
/// imports (`pathlib.os`), begins with a small letter, and what lies within something has a dot.
fn is_class(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Packages whose classes are made of tensors, numbers and one another.
const FAMILIES: &[&str] = &[
    "nnx.nn.enum.",
    "nnx.nn.params.",
    "torch.nn.modules.",
    "torch.nn.quantized.",
    "torch.ao.nn.",
    "torch.optim.",
];

#[rustfmt::skip]
const TORCH: &[&str] = &[
    "Generator", "Size", "Tensor", "device", "dtype", "layout", "memory_format", "per_channel_affine",
    "per_channel_affine_float_qparams", "per_channel_symmetric", "per_tensor_affine",
    "per_tensor_symmetric", "preserve_format", "contiguous_format", "channels_last",
    "channels_last_3d", "sparse_bsc", "sparse_bsr", "sparse_coo", "sparse_csc", "sparse_csr",
    "strided", "jagged",
];

#[rustfmt::skip]
const NUMPY: &[&str] = &[
    "bool_", "bool", "bytes_", "complex128", "complex64", "datetime64", "dtype", "float16",
    "float32", "float64", "int16", "int32", "int64", "int8", "longdouble", "longlong", "ndarray",
    "object_", "str_", "timedelta64", "uint16", "uint32", "uint64", "uint8", "ulonglong", "void",
];

const BUILTINS: &[&str] = &[
    "Ellipsis",
    "NoneType",
    "NotImplemented",
    "bool",
    "bytearray",
    "bytes",
    "complex",
    "dict",
    "float",
    "frozenset",
    "int",
    "list",
    "long",
    "object",
    "range",
    "set",
    "slice",
    "str",
    "tuple",
    "unicode",
    "xrange",
];

const COPYREG: &[&str] = &["__newobj__", "__newobj_ex__", "_reconstructor"];
const MULTIARRAY: &[&str] = &["_reconstruct", "scalar"];

#[rustfmt::skip]
const NAMES: &[(&str, &[&str])] = &[
    ("datetime", &["date", "datetime", "time", "timedelta", "timezone", "tzinfo"]),
    ("pathlib", &["Path", "PosixPath", "PurePath", "PurePosixPath", "PureWindowsPath", "WindowsPath"]),
    ("builtins", BUILTINS),
    ("__builtin__", BUILTINS),
    ("copyreg", COPYREG),
    ("copy_reg", COPYREG),
    ("_codecs", &["encode"]),
    ("argparse", &["Namespace"]),
    ("collections", &["Counter", "OrderedDict", "defaultdict", "deque"]),
    ("ordereddict", &["OrderedDict"]),
    ("decimal", &["Decimal"]),
    ("_decimal", &["Decimal"]),
    ("fractions", &["Fraction"]),
    ("types", &["SimpleNamespace"]),
    ("uuid", &["UUID"]),
    ("nnx.models", &["RuntimeModule", "_model_spec"]),
    ("nnx.monitors", &["MonitorRecord", "MonitorSpec"]),
    ("nnx.nn.params.nn_evaluation_data_point", &["_FrozenMetrics"]),
    ("nnx.nn.params.nn_params", &["_ImmutableList"]),
    ("nnx.precision", &["PrecisionPolicy"]),
    ("nnx.tasks", &["TaskSpec"]),
    ("numpy.core.multiarray", MULTIARRAY),
    ("numpy._core.multiarray", MULTIARRAY),
    ("numpy.core.numeric", &["_frombuffer"]),
    ("numpy._core.numeric", &["_frombuffer"]),
    ("numpy.random._pickle", &["__bit_generator_ctor", "__generator_ctor", "__randomstate_ctor"]),
    ("torch._tensor", &["Tensor", "_rebuild_from_type_v2"]),
    ("torch.distributions.distribution", &["Distribution"]),
    ("torch.jit._pickle", &["build_boollist", "build_doublelist", "build_intlist", "build_tensor_from_id", "build_tensorlist", "restore_type_tag"]),
    ("torch.nn.parameter", &["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"]),
    ("torch.nn", &["Parameter"]),
    ("torch.serialization", &["_get_layout"]),
    // Its argument is a file of `torch.save` as bytes; what that names is looked at on its own.
    ("torch.storage", &["TypedStorage", "UntypedStorage", "_TypedStorage", "_UntypedStorage"]),
    ("torch.tensor", &["Tensor"]),
    ("torch.utils.hooks", &["RemovableHandle"]),
];
