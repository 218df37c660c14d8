//! The context in which a file is opened.

use crate::error::{Error, ErrorKind, Result};
use crate::globals::{self, GlobalRef, NamedGlobal};
use crate::pickle::{self, Graph, NodeId};
use crate::{Format, Limits};

/// Findings while a file is opened, and how strict to be with it.
#[derive(Debug)]
pub(crate) struct LoadContext {
    /// Bounds on work and memory.
    pub(crate) limits: Limits,
    /// Whether a dangerous global ends the opening.
    pub(crate) refuse_dangerous: bool,
    /// The format of the file, as far as it is known.
    pub(crate) format: Format,
    /// The globals that its pickles name.
    pub(crate) globals: Vec<GlobalRef>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
    /// The tensors beside the program of a TorchScript archive: a sequence of the object's graph.
    pub(crate) constants: Option<NodeId>,
    /// Whether the bytes being read are within a pickle.
    pub(super) is_nested: bool,
}

impl LoadContext {
    /// The context at the start of an opening.
    pub(crate) fn new(format: Format, limits: &Limits, refuse_dangerous: bool) -> Self {
        Self {
            limits: *limits,
            refuse_dangerous,
            format,
            globals: Vec::new(),
            notes: Vec::new(),
            constants: None,
            is_nested: false,
        }
    }

    /// Reads the pickle at the start of `bytes`, and looks at the names in it. `entry` is the
    /// archive entry that it fills, `start` the byte of it, or of the file, where it begins.
    ///
    /// A pickle that breaks off is judged by the names before the break, because Python would have
    /// called them before it notices.
    ///
    /// # Errors
    /// When a dangerous global is named and such are refused; when the pickle names an entry of
    /// Python's extension registry, or is malformed.
    pub(super) fn pickle(
        &mut self,
        bytes: &[u8],
        entry: Option<&str>,
        start: u64,
    ) -> Result<(Graph, usize)> {
        let part = pickle::read_lossy(bytes, &self.limits);
        self.look_at(&part.graph, entry, start)?;
        match part.outcome {
            Ok(consumed) => Ok((part.graph, consumed)),
            Err(error) => Err(match entry {
                Some(entry) => error.in_entry(entry),
                None => error,
            }
            .shifted(start)),
        }
    }

    /// Reads a pickle that fills an archive entry.
    ///
    /// # Errors
    /// As for [`pickle`](Self::pickle).
    pub(super) fn entry(&mut self, bytes: &[u8], entry: &str) -> Result<Graph> {
        let (graph, consumed) = self.pickle(bytes, Some(entry), 0)?;
        let rest = bytes.len().saturating_sub(consumed);
        if rest > 0 {
            self.notes
                .push(format!("{rest} bytes follow the pickle in entry `{entry}`"));
        }
        Ok(graph)
    }

    fn look_at(&mut self, graph: &Graph, entry: Option<&str>, start: u64) -> Result<()> {
        let is_script = self.format == Format::TorchScript && !self.is_nested;
        let named = globals::in_graph(graph, entry, start, is_script);
        if self.refuse_dangerous
            && let Some(NamedGlobal { global, .. }) = named.iter().find(|named| named.is_refused)
        {
            return Err(placed(
                Error::new(ErrorKind::UnsafeGlobal {
                    module: global.module.clone(),
                    name: global.name.clone(),
                }),
                global,
            ));
        }
        // The registered class or function may make a tensor, which a listing would miss.
        let extension = |named: &NamedGlobal| Some((named.extension?, named.global.offset));
        if let Some((code, offset)) = named.iter().find_map(extension) {
            let error = Error::unsupported(format!(
                "the pickle names entry {code} of Python's `copyreg` extension registry, which no \
                 file carries with it"
            ));
            return Err(at(error, entry, offset, 0));
        }
        self.globals
            .extend(named.into_iter().map(|named| named.global));
        Ok(())
    }
}

fn placed(error: Error, global: &GlobalRef) -> Error {
    at(error, global.entry.as_deref(), global.offset, 0)
}

fn at(error: Error, entry: Option<&str>, offset: Option<u64>, start: u64) -> Error {
    let error = match offset {
        Some(offset) => error.at(offset.saturating_add(start)),
        None => error,
    };
    match entry {
        Some(entry) => error.in_entry(entry),
        None => error,
    }
}
