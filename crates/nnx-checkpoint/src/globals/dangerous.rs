//! What runs code, reaches into the system, or leads to what does.
//!
//! Python 3's name and Python 2's stand beside each other, for Python maps the old ones to the new
//! ones when it reads protocols 0 to 2. Taken from the documentation of the modules named, and from
//! the lists that scanners of pickles publish.

/// Whether a pickle that names this could run code with it.
pub(super) fn is_dangerous(module: &str, name: &str) -> bool {
    names(module, name)
        || name.split('.').any(|part| INTERNALS.contains(&part))
        // Python follows the dots of a name from attribute to attribute, and what a module imports
        // is an attribute of it, perhaps as `_os`: every split of the path may be the true one.
        || name.match_indices('.').any(|(dot, _)| {
            let (head, tail) = name.split_at(dot);
            let tail = tail.trim_start_matches('.');
            let last = head.rsplit('.').next().unwrap_or(head);
            names(&format!("{module}.{head}"), tail)
                || names(head, tail)
                || names(last.trim_start_matches('_'), tail)
        })
}

fn names(module: &str, name: &str) -> bool {
    let mut folder = Some(module);
    while let Some(path) = folder {
        if MODULES.contains(&path) {
            return true;
        }
        folder = path.rsplit_once('.').map(|(above, _)| above);
    }
    NAMES
        .iter()
        .any(|(m, names)| *m == module && names.contains(&name))
}

/// Attributes that lead from any object to everything.
const INTERNALS: &[&str] = &[
    "__base__",
    "__bases__",
    "__builtins__",
    "__class__",
    "__code__",
    "__dict__",
    "__getattribute__",
    "__globals__",
    "__import__",
    "__loader__",
    "__mro__",
    "__reduce__",
    "__reduce_ex__",
    "__setattr__",
    "__spec__",
    "__subclasses__",
];

/// Modules of which nothing belongs into a checkpoint, with all that lies below them.
#[rustfmt::skip]
const MODULES: &[&str] = &[
    // Processes and the operating system.
    "os", "posix", "nt", "_posixsubprocess", "subprocess", "commands", "popen2", "pty", "platform",
    "multiprocessing", "_winapi", "msvcrt", "winreg", "_winreg", "signal", "resource",
    "_osx_support", "_aix_support", "sys",
    // Files.
    "shutil", "tempfile", "fileinput", "mmap", "zipfile", "tarfile", "sqlite3", "dbm", "linecache",
    // The network.
    "socket", "_socket", "socketserver", "SocketServer", "ssl", "http", "httplib", "urllib",
    "urllib2", "urllib3", "ftplib", "smtplib", "poplib", "imaplib", "nntplib", "telnetlib",
    "xmlrpc", "xmlrpclib", "asyncio", "asyncore", "asynchat", "requests", "aiohttp", "httpx",
    "webbrowser", "antigravity", "paramiko",
    // Importing and running code.
    "importlib", "imp", "_imp", "runpy", "pkgutil", "pkg_resources", "zipimport", "code", "codeop",
    "pdb", "bdb", "profile", "cProfile", "_lsprof", "trace", "timeit", "doctest", "unittest",
    "test", "pydoc", "idlelib", "lib2to3", "_pyrepl", "distutils", "setuptools", "pip",
    "ensurepip", "venv", "site", "sitecustomize", "usercustomize", "IPython", "pytest", "_pytest",
    // Threads, of which one runs what it is given.
    "threading", "_thread", "thread", "concurrent", "sched",
    // Memory as it lies, and the interpreter's insides.
    "ctypes", "_ctypes", "cffi", "_cffi_backend", "gc", "inspect", "faulthandler",
    // Further pickles, which nobody has looked at.
    "pickle", "_pickle", "cPickle", "pickletools", "shelve", "marshal", "dill", "cloudpickle",
    "joblib", "yaml", "jsonpickle",
    // Parts of libraries that compile, download or load.
    "numpy.f2py", "numpy.distutils", "numpy.testing", "pandas.io", "pandas.core.computation",
    "torch.hub", "torch.package", "torch.testing", "torch._dynamo", "torch._inductor",
    "torch.multiprocessing", "torch.utils.bottleneck", "torch.utils.benchmark",
    "torch.utils.cpp_extension", "torch.utils.collect_env", "torch.utils.model_zoo",
    "torch.utils._config_module", "torch.distributed.rpc", "torch.distributed.launcher",
    "torch.distributed.run", "torch.jit.unsupported_tensor_ops",
    "torch.fx.experimental.symbolic_shapes", "transformers.dynamic_module_utils", "tensorflow",
];

/// Names that are dangerous in modules whose other names need not be.
#[rustfmt::skip]
const NAMES: &[(&str, &[&str])] = &[
    ("builtins", BUILTINS),
    ("__builtin__", BUILTINS),
    ("__builtins__", BUILTINS),
    // A partial or reduced call is a call, of whatever comes with it.
    ("functools", &["partial", "partialmethod", "reduce", "singledispatch"]),
    ("_functools", &["partial", "reduce"]),
    // They turn a text into an attribute, and so a harmless object into a way out.
    ("operator", &["attrgetter", "itemgetter", "methodcaller"]),
    ("_operator", &["attrgetter", "itemgetter", "methodcaller"]),
    // Code as data: a function may be made of it.
    ("types", &["CodeType", "FunctionType", "LambdaType", "MethodType", "ModuleType", "DynamicClassAttribute"]),
    ("new", &["code", "function", "instancemethod", "module"]),
    // Opening files by way of the layer below `open`.
    ("io", &["open", "open_code", "FileIO"]),
    ("_io", &["open", "open_code", "FileIO"]),
    ("_pyio", &["open", "open_code", "FileIO"]),
    ("codecs", &["open", "lookup", "register", "encode", "decode"]),
    ("logging.config", &["dictConfig", "fileConfig", "listen"]),
    ("logging", &["FileHandler"]),
    ("uuid", &["_get_command_stdout", "_popen"]),
    ("copyreg", &["add_extension", "pickle", "constructor"]),
    ("copy_reg", &["add_extension", "pickle", "constructor"]),
    // Each of them reads a pickle, a module or a program of its own.
    ("numpy", &["load", "fromfile", "memmap", "savetxt", "save", "loadtxt", "genfromtxt"]),
    ("numpy.lib.npyio", &["load", "loadtxt", "genfromtxt"]),
    ("pandas", &["read_pickle", "eval", "read_csv"]),
    ("torch", &["load", "save", "compile"]),
    ("torch.serialization", &["load", "_load", "_legacy_load", "save"]),
    ("torch.jit", &["load", "script", "CompilationUnit"]),
    ("torch.jit._serialization", &["load"]),
    ("torch.ops", &["load_library"]),
    ("torch._ops", &["load_library"]),
    // A graph module is source text that is executed as it is loaded.
    ("torch.fx.graph_module", &["reduce_graph_module", "reduce_package_graph_module", "reduce_deploy_graph_module", "_forward_from_src", "_exec_with_source"]),
    ("torch.fx._lazy_graph_module", &["_force_skip_lazy_graph_module", "reduce_graph_module"]),
    ("torch._weights_only_unpickler", &["load", "Unpickler"]),
    ("torch._utils_internal", &["load"]),
];

/// The builtin functions that run code, open files, or reach attributes by name.
#[rustfmt::skip]
const BUILTINS: &[&str] = &[
    "__build_class__", "__import__", "apply", "breakpoint", "compile", "delattr", "eval", "exec",
    "execfile", "exit", "file", "filter", "getattr", "globals", "help", "input", "locals", "map",
    "open", "quit", "raw_input", "reload", "setattr", "vars",
];
