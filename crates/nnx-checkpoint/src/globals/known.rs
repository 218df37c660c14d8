//! The names in files of PyTorch, NumPy, plain Python data and NNx.
//!
//! Every name is enumerated: a name that merely looks like the others may lead Python to anything,
//! such as a module that a module imports.
//! A name is listed here when rebuilding with it, whatever the arguments and the state, only makes
//! the object it names and calls what it was given, which must be known in turn.
//! The lists of PyTorch and NNx are data that `tests/fixtures/tools/known_globals.py` writes from
//! the sources of the releases in their first lines.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::Dtype;

/// A module and its names in each line, sorted.
pub(super) const LISTS: &[&str] = &[
    include_str!("known/torch.txt"),
    include_str!("known/nnx.txt"),
];

/// The names of each module in the lists, separated by spaces.
static LISTED: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let lines = LISTS.iter().flat_map(|list| list.lines());
    lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
        .collect()
});

/// Whether the name is one of plain data.
pub(super) fn is_known(module: &str, name: &str) -> bool {
    is_listed(module, name)
        || super::dangerous::is_record(module, name)
        || NAMES
            .iter()
            .any(|(m, names)| *m == module && names.contains(&name))
        || match module {
            "torch" => {
                Dtype::from_storage_class(name).is_some() || Dtype::from_name(name).is_some()
            }
            "torch.cuda" => Dtype::from_storage_class(name).is_some(),
            _ => false,
        }
}

fn is_listed(module: &str, name: &str) -> bool {
    LISTED
        .get(module)
        .is_some_and(|names| names.split(' ').any(|listed| listed == name))
}

#[rustfmt::skip]
const TORCH: &[&str] = &[
    "Generator", "Size", "Tensor", "channels_last", "channels_last_3d", "contiguous_format",
    "device", "dtype", "jagged", "layout", "memory_format", "per_channel_affine",
    "per_channel_affine_float_qparams", "per_channel_symmetric", "per_tensor_affine",
    "per_tensor_symmetric", "preserve_format", "sparse_bsc", "sparse_bsr", "sparse_coo",
    "sparse_csc", "sparse_csr", "strided",
];

#[rustfmt::skip]
const NUMPY: &[&str] = &[
    "bool", "bool_", "bytes_", "complex128", "complex64", "datetime64", "dtype", "float16",
    "float32", "float64", "int16", "int32", "int64", "int8", "longdouble", "longlong", "ndarray",
    "object_", "str_", "timedelta64", "uint16", "uint32", "uint64", "uint8", "ulonglong", "void",
];

/// The classes of NumPy's dtypes, as `numpy.dtypes` of NumPy 2.4 has them.
#[rustfmt::skip]
const NUMPY_DTYPES: &[&str] = &[
    "BoolDType", "ByteDType", "BytesDType", "CLongDoubleDType", "Complex128DType",
    "Complex64DType", "DateTime64DType", "Float16DType", "Float32DType", "Float64DType",
    "Int16DType", "Int32DType", "Int64DType", "Int8DType", "IntDType", "LongDType",
    "LongDoubleDType", "LongLongDType", "ObjectDType", "ShortDType", "StrDType", "StringDType",
    "TimeDelta64DType", "UByteDType", "UInt16DType", "UInt32DType", "UInt64DType", "UInt8DType",
    "UIntDType", "ULongDType", "ULongLongDType", "UShortDType", "VoidDType",
];

#[rustfmt::skip]
const BUILTINS: &[&str] = &[
    "Ellipsis", "NoneType", "NotImplemented", "bool", "bytearray", "bytes", "complex", "dict",
    "float", "frozenset", "int", "list", "long", "object", "range", "set", "slice", "str", "tuple",
    "unicode", "xrange",
];

/// Enumerations of transformers that the arguments of a training hold.
const TRAINER_UTILS: &[&str] = &[
    "EvaluationStrategy",
    "FSDPOption",
    "HubStrategy",
    "IntervalStrategy",
    "SaveStrategy",
    "SchedulerType",
];

const COPYREG: &[&str] = &["__newobj__", "__newobj_ex__", "_reconstructor"];
const MULTIARRAY: &[&str] = &["_reconstruct", "scalar"];

#[rustfmt::skip]
pub(super) const NAMES: &[(&str, &[&str])] = &[
    ("__builtin__", BUILTINS),
    ("_codecs", &["encode"]),
    ("_decimal", &["Decimal"]),
    ("argparse", &["Namespace"]),
    ("builtins", BUILTINS),
    ("collections", &["Counter", "OrderedDict", "defaultdict", "deque"]),
    ("copy_reg", COPYREG),
    ("copyreg", COPYREG),
    ("datetime", &["date", "datetime", "time", "timedelta", "timezone", "tzinfo"]),
    ("decimal", &["Decimal"]),
    ("fractions", &["Fraction"]),
    ("mmengine.logging.history_buffer", &["HistoryBuffer"]),
    ("numpy", NUMPY),
    ("numpy._core.multiarray", MULTIARRAY),
    ("numpy._core.numeric", &["_frombuffer"]),
    ("numpy.core.multiarray", MULTIARRAY),
    ("numpy.core.numeric", &["_frombuffer"]),
    ("numpy.dtypes", NUMPY_DTYPES),
    ("numpy.random._mt19937", &["MT19937"]),
    ("numpy.random._pcg64", &["PCG64", "PCG64DXSM"]),
    ("numpy.random._philox", &["Philox"]),
    ("numpy.random._pickle", &["__bit_generator_ctor", "__generator_ctor", "__randomstate_ctor"]),
    ("numpy.random._sfc64", &["SFC64"]),
    ("numpy.random.bit_generator", &["SeedSequence", "__pyx_unpickle_SeedSequence"]),
    ("ordereddict", &["OrderedDict"]),
    ("pathlib", &["Path", "PosixPath", "PurePath", "PurePosixPath", "PureWindowsPath", "WindowsPath"]),
    ("pathlib._local", &["Path", "PosixPath", "PurePath", "PurePosixPath", "PureWindowsPath", "WindowsPath"]),
    ("torch", TORCH),
    ("torch._C", &["_VariableFunctionsClass"]),
    ("torch._tensor", &["Tensor", "_rebuild_from_type_v2"]),
    ("torch.jit._pickle", &["build_boollist", "build_doublelist", "build_intlist", "build_tensor_from_id", "build_tensorlist", "restore_type_tag"]),
    ("torch.nested._internal.nested_tensor", &["NestedTensor", "_rebuild_njt"]),
    ("torch.nn", &["Parameter"]),
    ("torch.serialization", &["_get_layout"]),
    ("torch.storage", &["TypedStorage", "UntypedStorage", "_TypedStorage", "_UntypedStorage"]),
    ("torch.tensor", &["Tensor"]),
    ("torch.utils.hooks", &["RemovableHandle"]),
    ("torchvision.transforms.functional", &["InterpolationMode"]),
    ("transformers.trainer_utils", TRAINER_UTILS),
    ("transformers.training_args", &["OptimizerNames", "ParallelMode"]),
    ("types", &["SimpleNamespace"]),
    ("uuid", &["SafeUUID", "UUID"]),
];
