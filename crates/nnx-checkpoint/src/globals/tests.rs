use super::SafetyLevel::{self, Dangerous, Innocuous, Suspicious};

#[track_caller]
fn check(expected: SafetyLevel, paths: &[(&str, &str)]) {
    for (module, name) in paths {
        assert_eq!(
            SafetyLevel::of_global(module, name),
            expected,
            "{module}.{name}"
        );
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
            ("_interpreters", "exec"),
            ("_xxsubinterpreters", "run_string"),
            ("dataclasses", "_create_fn"),
            ("typing", "ForwardRef"),
            ("pty", "spawn"),
            ("cProfile", "run"),
            ("pydoc", "pipepager"),
            ("pkgutil", "resolve_name"),
            ("logging", "FileHandler"),
            ("logging.config", "dictConfig"),
            ("argparse", "FileType"),
            ("weakref", "finalize"),
            ("atexit", "register"),
            ("numpy", "load"),
            ("numpy.testing._private.utils", "runstring"),
            ("numpy.f2py.crackfortran", "getlincoef"),
            ("torch", "UntypedStorage.from_file"),
            ("torch", "FloatStorage.from_file"),
            ("torch.jit", "load"),
            ("torch.utils.cpp_extension", "load_inline"),
            ("torch.ops", "load_library"),
            ("torch", "classes.load_library"),
            ("torch.distributed.rpc", "remote"),
            ("pandas", "read_pickle"),
            ("webbrowser", "open"),
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
        Suspicious,
        &[
            ("mine", "Outer.Inner"),
            ("collections", "OrderedDict.fromkeys"),
        ],
    );
}

/// The module reads and writes files, but the records that a distributed checkpoint describes itself
/// with are plain.
#[test]
fn records_of_distributed_checkpoints_are_known() {
    for (module, names) in super::dangerous::RECORDS {
        for name in *names {
            check(Innocuous, &[(module, name)]);
            check(
                Dangerous,
                &[(module, &format!("{name}.__init__.__globals__"))],
            );
        }
    }
    check(
        Dangerous,
        &[
            (
                "torch.distributed.checkpoint.filesystem",
                "FileSystemReader",
            ),
            (
                "torch.distributed.checkpoint.format_utils",
                "dcp_to_torch_save",
            ),
            ("torch.distributed.checkpoint.metadata", "os.system"),
        ],
    );
}

/// `builtins.open.__call__("…", "w")` opens the file: an attribute of something dangerous is as
/// dangerous, whatever it is called.
#[test]
fn attributes_of_what_runs_code_run_it_too() {
    let mut judged = 0;
    for (module, names) in super::dangerous::NAMES {
        for name in *names {
            for attribute in ["__call__", "__new__", "__get__", "__init__", "func", "a.b"] {
                check(Dangerous, &[(module, &format!("{name}.{attribute}"))]);
                judged += 1;
            }
        }
    }
    assert!(judged > 500, "{judged}");
    check(
        Dangerous,
        &[
            ("builtins", "getattr.__call__"),
            ("functools", "partial.__new__"),
            ("torch", "load.__call__"),
            // A module has the modules that it imports as attributes.
            ("torch.serialization", "functools.partial.__call__"),
        ],
    );
}

#[test]
fn plain_data_is_known() {
    check(
        Innocuous,
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
            ("nnx.nn.params.nn_checkpoint", "NNCheckpoint"),
            ("torch.nn.modules.transformer", "TransformerEncoderLayer"),
            ("torch.nn.functional", "relu"),
            ("torch._C._nn", "gelu"),
            ("torch.nn.parallel.data_parallel", "DataParallel"),
            ("torch.nn.utils.weight_norm", "WeightNorm"),
            ("torch.torch_version", "TorchVersion"),
            ("nnx.nn.params.nn_params", "_ImmutableList"),
            ("nnx.nn.params.nn_evaluation_data_point", "_FrozenMetrics"),
        ],
    );
}

#[test]
fn anything_else_is_unknown() {
    check(
        Suspicious,
        &[
            ("mine", "Net"),
            ("torch", "FakeStorage"),
            ("ossuary", "Bone"),
            ("torch.nn.modules.linear", "_private"),
            ("numpy", "array"),
            // Innocuous in a TorchScript archive alone.
            ("__torch__.torch.nn.modules.linear", "Linear"),
        ],
    );
}

/// A pickle reaches the imports of a module through the module: `pathlib.os` is `os`.
#[test]
fn what_a_known_module_imports_is_not_known() {
    check(
        Suspicious,
        &[
            ("torch.optim.lr_scheduler", "partial"),
            ("torch.nn.modules.adaptive", "namedtuple"),
            ("torch.nn.modules.container", "operator"),
            ("torch.optim.optimizer", "deepcopy"),
            ("torch.nn.modules.module", "register_module_forward_hook"),
        ],
    );
    check(
        Dangerous,
        &[
            ("pathlib", "attrgetter"),
            ("pathlib", "os"),
            ("pathlib", "Path.unlink"),
            ("datetime", "sys"),
            ("logging", "os.system"),
            ("torch.nn", "os"),
            ("torch.serialization", "shutil"),
            ("six.moves.builtins", "open"),
            ("mine.moves.builtins", "open"),
            ("mine", "_os"),
        ],
    );
}

/// The names look like those of their neighbours, and nothing more is true of them.
#[test]
fn a_class_is_known_by_its_name_alone() {
    check(
        Suspicious,
        &[
            ("torch.nn.modules.evil", "Evil"),
            ("torch.nn.modules.linear", "Evil"),
            ("torch.nn.modules.linear", "Linear Identity"),
            ("torch.nn.modules.linear", ""),
            ("torch.nn.modules", "Linear"),
            ("torch.ao.nn.quantized", "Evil"),
            ("torch.optim.evil", "Evil"),
            ("torch._utils", "_rebuild_evil"),
            ("numpy.dtypes", "EvilDType"),
            ("nnx.nn.params.evil", "Evil"),
            ("nnx.nn.params.nn_run", "NNRun"),
            ("torch", "ScriptObject"),
            ("torch.nn.parameter", "_ParameterMeta"),
            ("torch.utils.data.dataloader", "DataLoader"),
            ("# From torch", "2.15.0"),
        ],
    );
}

#[test]
fn classes_of_earlier_releases_are_known() {
    check(
        Innocuous,
        &[
            ("torch.nn.backends.thnn", "_get_thnn_function_backend"),
            ("torch.nn.modules.linear", "_LinearWithBias"),
            ("torch.nn.quantized.modules.linear", "Linear"),
            ("torch.nn.intrinsic.modules.fused", "ConvBn2d"),
            ("torch.nn.qat.modules.conv", "Conv2d"),
            ("torch.quantization.observer", "MinMaxObserver"),
            ("torch.cuda.amp.grad_scaler", "GradScaler"),
            ("torch.optim.lr_scheduler", "_LRScheduler"),
            ("nnx.nn.net.feed_fwd_nn", "FeedFwdNN"),
        ],
    );
}

#[test]
fn the_lists_are_sorted_and_have_nothing_dangerous() {
    for list in super::known::LISTS {
        let mut lines = list.lines();
        let head = lines.next().expect("a first line");
        assert!(
            head.starts_with("# From ") && head.contains(" by "),
            "{head}"
        );
        let mut last = "";
        for line in lines {
            let (module, names) = line.split_once(' ').expect("a module and its names");
            assert!(last < module, "{last} before {module}");
            last = module;
            let names: Vec<&str> = names.split(' ').collect();
            assert!(names.is_sorted_by(|a, b| a < b), "{module}: {names:?}");
            for name in names {
                check(Innocuous, &[(module, name)]);
            }
        }
    }
    for (module, names) in super::known::NAMES {
        assert!(names.is_sorted_by(|a, b| a < b), "{module}: {names:?}");
        for name in *names {
            check(Innocuous, &[(module, name)]);
        }
    }
    let modules = super::known::NAMES.iter().map(|entry| entry.0);
    assert!(modules.is_sorted_by(|a, b| a < b));
}

/// The imports of the modules of Python's library, from three releases of Python.
#[test]
fn what_leads_to_a_dangerous_module_is_dangerous() {
    let mut lines = 0;
    for line in include_str!("tests/leads.txt").lines() {
        let (module, name) = line.split_once(' ').expect("a module and a name");
        check(Dangerous, &[(module, name)]);
        let beyond = format!("{name}.anything");
        check(Dangerous, &[(module, &beyond)]);
        lines += 1;
    }
    assert!(lines > 400, "{lines} lines");
}

/// The names that picklescan, fickling and modelscan flag; a star means a whole module.
#[test]
fn what_other_scanners_flag_is_not_known() {
    for line in include_str!("tests/scanners.txt").lines() {
        let (module, name) = line.split_once(' ').expect("a module and a name");
        assert_ne!(SafetyLevel::of_global(module, name), Innocuous, "{line}");
        if name == "*" {
            continue;
        }
        // A storage that is pickled without `torch.save`: its contents are looked at.
        if !matches!(name, "_load_from_bytes" | "basichandlers" | "ConfigModule") {
            check(Dangerous, &[(module, name)]);
        }
    }
}

/// Plain data within modules that other scanners flag as a whole.
const PLAIN: &[(&str, &str)] = &[
    ("types", "SimpleNamespace"),
    ("uuid", "UUID"),
    ("uuid", "SafeUUID"),
];

#[test]
fn nothing_known_lies_in_a_module_that_other_scanners_flag() {
    let flagged: Vec<&str> = include_str!("tests/scanners.txt")
        .lines()
        .filter_map(|line| line.strip_suffix(" *"))
        // A constructor of plain data is not the function that evaluates it; and of the programs of
        // TorchScript, only the function that reads their constants is known.
        .filter(|module| !["builtins", "__builtin__", "__builtins__", "torch.jit"].contains(module))
        .collect();
    let is_flagged = |module: &str| {
        flagged
            .iter()
            .any(|flagged| module == *flagged || module.starts_with(&format!("{flagged}.")))
    };
    for (module, names) in super::known::NAMES {
        for name in *names {
            assert!(
                !is_flagged(module) || PLAIN.contains(&(module, name)),
                "{module}.{name}"
            );
        }
    }
    for line in super::known::LISTS.iter().flat_map(|list| list.lines()) {
        let module = line.split(' ').next().unwrap_or_default();
        assert!(!is_flagged(module), "{module}");
    }
}

/// It unpickles whatever its argument holds, however that is spelled.
#[test]
fn a_nested_pickle_is_not_known() {
    check(Suspicious, &[("torch.storage", "_load_from_bytes")]);
}

/// A name is a path, and each split of it is tried.
#[test]
fn a_long_path_is_judged_at_once() {
    let path = "a.".repeat(30_000) + "b";
    check(Dangerous, &[("mine", &path), (&path, "mine")]);
}

/// They are looked up in one table, in which a second entry would replace the first.
#[test]
fn no_module_stands_in_the_tables_of_dangerous_names_twice() {
    use super::dangerous::{MODULES, NAMES};
    let mut modules: Vec<&str> = NAMES.iter().map(|entry| entry.0).collect();
    modules.extend(MODULES);
    let count = modules.len();
    modules.sort_unstable();
    modules.dedup();
    assert_eq!(modules.len(), count);
}
