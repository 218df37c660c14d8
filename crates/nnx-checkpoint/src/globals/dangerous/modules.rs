//! Modules of which nothing belongs into a checkpoint.

/// With everything below them.
#[rustfmt::skip]
pub(in crate::globals) const MODULES: &[&str] = &[
    // Processes and the operating system.
    "os", "posix", "nt", "_posixsubprocess", "subprocess", "subprocess32", "commands", "popen2",
    "pty", "platform", "multiprocessing", "multiprocess", "billiard", "_multiprocessing", "_winapi",
    "_wmi", "_overlapped", "msvcrt", "winreg", "_winreg", "winsound", "signal", "_signal", "resource",
    "_osx_support", "_aix_support", "_android_support", "_ios_support", "_scproxy", "sys", "sysconfig",
    "_sysconfig", "pipes", "pexpect", "ptyprocess", "sh", "plumbum", "fabric", "invoke", "psutil",
    "syslog", "pwd", "spwd", "grp", "nis", "fcntl", "termios", "tty", "getpass", "curses", "_curses",
    "readline", "atexit", "_posixshmem",
    // Files.
    "shutil", "tempfile", "fileinput", "mmap", "zipfile", "zipfile36", "zipapp", "tarfile",
    "sqlite3", "_sqlite3", "dbm", "_dbm", "_gdbm", "gdbm", "anydbm", "dbhash", "dumbdbm", "whichdb",
    "bsddb", "linecache", "glob", "filecmp", "posixpath", "ntpath", "macpath", "os2emxpath",
    "genericpath", "posixfile", "statvfs", "dircache", "uu", "binhex", "mailbox", "mailcap", "mhlib",
    "netrc", "mimetypes", "imghdr", "sndhdr", "fsspec", "scipy.io", "h5py",
    // The network.
    "socket", "_socket", "socketserver", "SocketServer", "ssl", "_ssl", "select", "selectors",
    "http", "httplib", "urllib", "urllib2", "urllib3", "urlparse", "robotparser", "ftplib", "smtplib",
    "smtpd", "poplib", "imaplib", "nntplib", "telnetlib", "xmlrpc", "xmlrpclib", "xml.sax", "xml.dom",
    "SimpleXMLRPCServer", "DocXMLRPCServer", "BaseHTTPServer", "SimpleHTTPServer", "CGIHTTPServer",
    "wsgiref", "cgi", "cgitb", "asyncio", "_asyncio", "asyncore", "asynchat", "requests", "aiohttp",
    "httpx", "httpcore", "websocket", "websockets", "pycurl", "wget", "gdown", "webbrowser",
    "antigravity", "paramiko", "logging.config", "logging.handlers", "huggingface_hub", "boto3",
    "botocore", "s3fs", "gcsfs", "tornado", "twisted", "gevent", "eventlet", "execnet",
    // Importing and running code.
    "importlib", "importlib_metadata", "importlib_resources", "_frozen_importlib",
    "_frozen_importlib_external", "imp", "_imp", "ihooks", "imputil", "runpy", "pkgutil",
    "pkg_resources", "zipimport", "modulefinder", "compileall", "py_compile", "pyclbr", "compiler",
    "code", "codeop", "rlcompleter", "cmd", "pdb", "bdb", "ipdb", "profile", "cProfile", "_lsprof",
    "hotshot", "pstats", "trace", "tracemalloc", "timeit", "doctest", "unittest", "test", "tests",
    "pydoc", "pydoc_data", "idlelib", "lib2to3", "_pyrepl", "turtle", "turtledemo", "tkinter",
    "Tkinter", "_tkinter", "distutils", "setuptools", "_distutils_hack", "pip", "ensurepip", "venv",
    "virtualenv", "site", "_sitebuiltins", "sitecustomize", "usercustomize", "user", "rexec",
    "Bastion", "_interpreters", "_xxsubinterpreters", "_xxinterpchannels", "_interpchannels",
    "_interpqueues", "_testcapi", "_testinternalcapi", "_ctypes_test", "IPython", "ipykernel",
    "jupyter_client", "jupyter_core", "notebook", "nose", "pytest", "_pytest", "py", "gettext", "six",
    "past", "future", "jinja2", "mako", "numexpr", "numba", "triton", "sympy.parsing",
    "sympy.core.sympify", "sympy.utilities.lambdify", "Cython", "pyximport", "scipy.weave",
    // Threads, of which one runs what it is given.
    "threading", "_thread", "thread", "dummy_threading", "_dummy_thread", "dummy_thread", "concurrent",
    "sched",
    // Raw memory, and the interpreter's insides.
    "ctypes", "_ctypes", "cffi", "_cffi_backend", "gc", "inspect", "faulthandler",
    // Further pickles, which nobody has looked at.
    "pickle", "_pickle", "cPickle", "pickle5", "_compat_pickle", "pickletools", "shelve", "marshal",
    "dill", "_dill", "cloudpickle", "joblib", "yaml", "ruamel", "jsonpickle", "klepto",
    // Parts of libraries that compile, download or load.
    "numpy.f2py", "numpy.distutils", "numpy.testing", "numpy.ctypeslib", "numpy.lib._datasource",
    "numpy.lib.npyio", "numpy.lib._npyio_impl", "pandas.io", "pandas.core.computation",
    "pandas.compat.pickle_compat", "torch._appdirs", "torch._classes", "torch._dynamo", "torch._export",
    "torch._functorch", "torch._inductor", "torch._sources", "torch._utils_internal",
    "torch._weights_only_unpickler", "torch.classes", "torch.compiler", "torch.distributed.checkpoint",
    "torch.distributed.elastic", "torch.distributed.launch", "torch.distributed.launcher",
    "torch.distributed.rpc", "torch.distributed.run", "torch.export",
    "torch.fx.experimental.symbolic_shapes", "torch.hub", "torch.jit._monkeytype_config",
    "torch.jit._recursive", "torch.jit._script", "torch.jit._serialization", "torch.jit._trace",
    "torch.jit.annotations", "torch.jit.frontend", "torch.jit.mobile", "torch.jit.unsupported_tensor_ops",
    "torch.multiprocessing", "torch.onnx", "torch.package", "torch.profiler", "torch.testing",
    "torch.utils._config_module", "torch.utils.benchmark", "torch.utils.bottleneck",
    "torch.utils.collect_env", "torch.utils.cpp_extension", "torch.utils.data.datapipes",
    "torch.utils.file_baton", "torch.utils.hipify", "torch.utils.model_dump", "torch.utils.model_zoo",
    "torch.utils.show_pickle", "torch.utils.tensorboard", "transformers.dynamic_module_utils",
    "tensorflow", "tensorboard", "keras.saving", "keras.src.saving", "keras.engine.saving",
    "keras.src.layers.core.lambda_layer", "keras.layers.core.lambda_layer",
];

/// Modules that no object of another kind is named like: a part of a name that is one of these is
/// the module, imported by the one that is named before it.
#[rustfmt::skip]
pub(super) const LEADS: &[&str] = &[
    "_bootstrap", "_bootstrap_external", "asyncio", "atexit", "bdb", "bltns", "cloudpickle", "concurrent", "dill", "ftplib", "gc", "httplib",
    "imaplib", "inspect", "io", "_io", "joblib", "linecache", "multiprocessing", "pdb", "pickle",
    "pickletools", "pkgutil", "pydoc", "selectors", "shelve", "smtplib", "socket", "socketserver",
    "sqlite3", "ssl", "sysconfig", "tarfile", "tempfile", "threading", "urllib", "urllib2", "urllib3",
    "webbrowser", "zipfile", "zipimport",
];

/// Those that no package has a module of its own by the name of either, but for private ones: the
/// `builtins` of `six.moves.builtins` are the real ones.
#[rustfmt::skip]
pub(super) const PLAIN_LEADS: &[&str] = &[
    "__builtin__", "__builtins__", "_frozen_importlib", "_frozen_importlib_external", "_imp",
    "_pickle", "_posixsubprocess", "_thread", "builtins", "cPickle", "ctypes", "importlib", "marshal",
    "nt", "os", "posix", "pty", "runpy", "shutil", "subprocess", "sys",
];
