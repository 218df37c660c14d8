use super::Standing::{self, Dangerous, Known, Unknown};

#[track_caller]
fn check(expected: Standing, paths: &[(&str, &str)]) {
    for (module, name) in paths {
        assert_eq!(Standing::of(module, name), expected, "{module}.{name}");
    }
}

#[test]
fn what_runs_code_is_dangerous_under_every_spelling() {
    check(
        Dangerous,
        &[
            ("os", "system"),
            ("os.path", "join"),
            ("posix", "system"),
            ("nt", "system"),
            ("subprocess", "Popen"),
            ("commands", "getoutput"),
            ("builtins", "eval"),
            ("__builtin__", "eval"),
            ("__builtin__", "execfile"),
            ("builtins", "getattr"),
            ("io", "open"),
            ("functools", "partial"),
            ("operator", "attrgetter"),
            ("runpy", "run_path"),
            ("importlib", "import_module"),
            ("importlib.util", "spec_from_file_location"),
            ("pickle", "loads"),
            ("torch", "load"),
            ("torch.hub", "load"),
            ("types", "CodeType"),
        ],
    );
}

#[test]
fn dots_are_followed_as_python_follows_them() {
    check(
        Dangerous,
        &[
            ("torch.serialization", "os.system"),
            ("collections", "_sys.modules"),
            ("torch", "serialization.load"),
            ("torch", "serialization.os.system"),
            ("torch", "storage._load_from_bytes.__globals__"),
            ("builtins", "object.__subclasses__"),
        ],
    );
    check(
        Unknown,
        &[
            ("mine", "Outer.Inner"),
            ("collections", "OrderedDict.fromkeys"),
        ],
    );
}

#[test]
fn plain_data_is_known() {
    check(
        Known,
        &[
            ("collections", "OrderedDict"),
            ("torch", "FloatStorage"),
            ("torch", "bfloat16"),
            ("torch.cuda", "FloatStorage"),
            ("torch._utils", "_rebuild_tensor_v2"),
            ("torch.nn.modules.linear", "Linear"),
            ("numpy.core.multiarray", "scalar"),
            ("numpy._core.multiarray", "_reconstruct"),
            ("numpy", "float64"),
            ("datetime", "datetime"),
            ("pathlib", "PosixPath"),
            ("argparse", "Namespace"),
            ("__torch__.torch.nn.modules.linear", "Linear"),
            ("nnx.nn.params.nn_checkpoint", "NNCheckpoint"),
            ("nnx.nn.params.nn_params", "_ImmutableList"),
            ("nnx.nn.params.nn_evaluation_data_point", "_FrozenMetrics"),
        ],
    );
}

#[test]
fn anything_else_is_unknown() {
    check(
        Unknown,
        &[
            ("mine", "Net"),
            ("torch", "FakeStorage"),
            ("ossuary", "Bone"),
            ("torch.nn.modules.linear", "_private"),
            ("numpy", "array"),
        ],
    );
}

/// What a module imports is within it for a pickle: `pathlib.os` is `os`.
#[test]
fn what_a_known_module_imports_is_not_known() {
    check(
        Unknown,
        &[
            ("pathlib", "attrgetter"),
            ("pathlib", "os"),
            ("datetime", "sys"),
            ("torch.optim.lr_scheduler", "partial"),
            ("torch.nn.modules.adaptive", "namedtuple"),
            ("torch.nn.modules.container", "operator"),
            ("torch.optim.optimizer", "deepcopy"),
            ("torch.nn.modules.module", "register_module_forward_hook"),
        ],
    );
}

/// It unpickles whatever its argument holds, however that is spelled.
#[test]
fn a_nested_pickle_is_not_known() {
    check(Unknown, &[("torch.storage", "_load_from_bytes")]);
}
