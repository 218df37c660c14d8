//! Names that are dangerous, in one module or in any.

/// Attributes that lead from any object to everything.
#[rustfmt::skip]
pub(super) const INTERNALS: &[&str] = &[
    "__base__", "__bases__", "__builtins__", "__class__", "__closure__", "__code__", "__defaults__",
    "__dict__", "__func__", "__getattr__", "__getattribute__", "__globals__", "__import__",
    "__init_subclass__", "__loader__", "__mro__", "__reduce__", "__reduce_ex__", "__self__",
    "__setattr__", "__spec__", "__subclasses__", "__wrapped__", "f_globals", "f_locals", "func_globals",
    "gi_frame", "mro", "tb_frame",
];

/// Functions that are dangerous whatever module they are taken from, for a module that imports one
/// has it as its own.
#[rustfmt::skip]
pub(super) const ANYWHERE: &[&str] = &[
    "Popen", "__import__", "attrgetter", "check_call", "check_output", "create_subprocess_exec",
    "create_subprocess_shell", "eval", "exec", "exec_module", "execfile", "execl", "execle", "execlp",
    "execlpe", "execv", "execve", "execvp", "execvpe", "fdopen", "getoutput", "getstatusoutput",
    "import_module", "load_dynamic", "load_library", "load_module", "load_source", "methodcaller",
    "popen", "popen2", "popen3", "popen4", "posix_spawn", "posix_spawnp", "run_module", "run_path",
    "spawnl", "spawnle", "spawnlp", "spawnlpe", "spawnv", "spawnve", "spawnvp", "spawnvpe", "startfile",
    "system",
];

/// Methods of PyTorch's classes that open a file or unpickle.
pub(super) const TORCH_METHODS: &[&str] =
    &["_new_using_filename_cpu", "from_file", "from_filename"];

/// Names that are dangerous in modules whose other names need not be.
#[rustfmt::skip]
pub(in crate::globals) const NAMES: &[(&str, &[&str])] = &[
    ("builtins", BUILTINS),
    ("__builtin__", BUILTINS),
    ("__builtins__", BUILTINS),
    // A partial or reduced call is a call, of whatever comes with it.
    ("functools", &["partial", "partialmethod", "reduce", "singledispatch", "singledispatchmethod", "update_wrapper", "wraps"]),
    ("_functools", &["partial", "reduce"]),
    ("itertools", &["accumulate", "dropwhile", "filterfalse", "groupby", "ifilter", "ifilterfalse", "imap", "starmap", "takewhile"]),
    ("future_builtins", &["filter", "map"]),
    ("weakref", &["finalize"]),
    // They turn a text into an attribute, and so a harmless object into a way out.
    ("operator", &["attrgetter", "call", "itemgetter", "methodcaller"]),
    ("_operator", &["attrgetter", "call", "itemgetter", "methodcaller"]),
    // Code as data: a function may be made of it, or a text is evaluated.
    ("types", &["CodeType", "DynamicClassAttribute", "FunctionType", "LambdaType", "MethodType", "ModuleType", "new_class"]),
    ("new", &["classobj", "code", "function", "instancemethod", "module"]),
    ("dataclasses", &["_create_fn", "make_dataclass"]),
    ("typing", &["ForwardRef", "_ForwardRef", "_eval_type", "get_type_hints"]),
    ("typing_extensions", &["ForwardRef", "evaluate_forward_ref", "get_type_hints"]),
    ("annotationlib", &["ForwardRef", "call_annotate_function", "get_annotations"]),
    // Opening files by way of the layer below `open`, or by way of one that rests on it.
    ("io", IO),
    ("_io", IO),
    ("_pyio", IO),
    ("argparse", &["ArgumentParser", "FileType"]),
    ("bz2", &["BZ2File", "open"]),
    ("codecs", &["EncodedFile", "StreamReaderWriter", "decode", "encode", "lookup", "open", "register"]),
    ("gzip", &["GzipFile", "open"]),
    ("logging", &["FileHandler", "basicConfig"]),
    ("lzma", &["LZMAFile", "open"]),
    ("tokenize", &["_builtin_open", "open"]),
    ("wave", &["open"]),
    ("aifc", &["open"]),
    ("sunau", &["open"]),
    ("xml.etree.ElementTree", &["ElementTree", "iterparse", "parse"]),
    ("time", &["sleep"]),
    ("uuid", UUID),
    ("copyreg", &["add_extension", "constructor", "pickle"]),
    ("copy_reg", &["add_extension", "constructor", "pickle"]),
    // Each of them reads a pickle, a module or a program of its own, or writes a file.
    ("numpy", &["DataSource", "fromfile", "fromregex", "genfromtxt", "load", "loads", "loadtxt", "memmap", "ndarray.dump", "ndarray.tofile", "save", "savetxt", "savez", "savez_compressed"]),
    ("numpy.core", &["memmap"]),
    ("numpy.core.memmap", &["memmap"]),
    ("numpy._core.memmap", &["memmap"]),
    ("numpy.core.multiarray", &["fromfile"]),
    ("numpy._core.multiarray", &["fromfile"]),
    ("numpy.lib.format", &["open_memmap", "read_array", "write_array"]),
    ("pandas", &["HDFStore", "eval", "read_csv", "read_excel", "read_feather", "read_fwf", "read_hdf", "read_html", "read_json", "read_orc", "read_parquet", "read_pickle", "read_sas", "read_spss", "read_sql", "read_stata", "read_table", "read_xml", "to_pickle"]),
    ("sympy", &["lambdify", "parse_expr", "preview", "sympify"]),
    ("keras.layers", &["Lambda"]),
    ("keras.models", &["load_model", "model_from_json", "model_from_yaml"]),
    ("keras.utils", &["get_file"]),
    ("torch", &["compile", "from_file", "load", "save"]),
    ("torch._C", &["PyTorchFileReader", "PyTorchFileWriter", "_jit_script_compile", "_load_for_lite_interpreter", "import_ir_module", "import_ir_module_from_buffer"]),
    ("torch.serialization", &["_legacy_load", "_legacy_save", "_load", "_open_buffer_reader", "_open_buffer_writer", "_open_file", "_open_file_like", "_open_zipfile_reader", "_open_zipfile_writer", "_open_zipfile_writer_file", "_save", "add_safe_globals", "get_source", "load", "save"]),
    ("torch.jit", &["CompilationUnit", "ScriptFunction", "load", "save", "script", "trace", "trace_module"]),
    ("torch._utils", &["_import_dotted_name"]),
    // A graph module is source text that is executed as it is loaded.
    ("torch.fx.graph_module", &["_exec_with_source", "_forward_from_src", "_method_from_src", "reduce_deploy_graph_module", "reduce_graph_module", "reduce_package_graph_module"]),
    ("torch.fx._lazy_graph_module", &["_force_skip_lazy_graph_module", "reduce_graph_module"]),
    ("torch.distributed.distributed_c10d", &["_tensor_to_object", "broadcast_object_list", "init_process_group"]),
];

/// The builtin functions that run code, open files, or reach attributes by name.
#[rustfmt::skip]
const BUILTINS: &[&str] = &[
    "__build_class__", "__import__", "apply", "breakpoint", "compile", "delattr", "eval", "exec",
    "execfile", "exit", "file", "filter", "getattr", "globals", "help", "input", "locals", "map",
    "open", "quit", "raw_input", "reload", "setattr", "vars",
];

const IO: &[&str] = &["FileIO", "OpenWrapper", "open", "open_code"];

/// Functions that look for the machine's address by running programs.
#[rustfmt::skip]
const UUID: &[&str] = &[
    "_arp_getnode", "_find_mac", "_find_mac_near_keyword", "_find_mac_under_heading",
    "_get_command_stdout", "_ifconfig_getnode", "_ip_getnode", "_ipconfig_getnode",
    "_lanscan_getnode", "_load_system_functions", "_netbios_getnode", "_netstat_getnode", "_popen",
    "_unixdll_getnode", "_windll_getnode", "getnode", "uuid1",
];
