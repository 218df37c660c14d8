//! The table of bodies.

/// A fuzz body with its name.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    /// The name: that of the function, of the libFuzzer target and of the folder of regressions.
    pub name: &'static str,
    /// Judges some bytes.
    ///
    /// # Panics
    /// When a promise is broken.
    pub run: fn(&[u8]),
}

/// Every body.
pub const BODIES: &[Body] = &[
    Body {
        name: "sniff",
        run: crate::sniff,
    },
    Body {
        name: "pickle",
        run: crate::pickle,
    },
    Body {
        name: "zip",
        run: crate::zip,
    },
    Body {
        name: "torch",
        run: crate::torch,
    },
    Body {
        name: "safetensors",
        run: crate::safetensors,
    },
    Body {
        name: "reader",
        run: crate::reader,
    },
    Body {
        name: "remote",
        run: crate::remote,
    },
    Body {
        name: "checkpoint",
        run: crate::checkpoint,
    },
    Body {
        name: "convert",
        run: crate::convert,
    },
    Body {
        name: "distributed",
        run: crate::distributed,
    },
    Body {
        name: "write",
        run: crate::write,
    },
    Body {
        name: "yaml",
        run: crate::yaml,
    },
    Body {
        name: "history",
        run: crate::history,
    },
];

impl Body {
    /// The body of that name.
    pub fn named(name: &str) -> Option<Self> {
        BODIES.iter().copied().find(|body| body.name == name)
    }
}
