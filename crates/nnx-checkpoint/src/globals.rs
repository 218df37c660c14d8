//! The classes and functions that pickles name, and what is known of them.

/// What is known of a class or function that a pickle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Standing {
    /// Plain data, or what PyTorch and NumPy rebuild their own objects with.
    Known,
    /// Neither: a class of somebody's own code, say.
    Unknown,
    /// Runs code, reaches into the system, or leads to what does.
    Dangerous,
}

/// A class or function that a pickle names. Nothing was imported or called.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GlobalUse {
    /// The Python module, as the pickle spells it.
    pub module: String,
    /// The name within the module, dotted for nested ones.
    pub name: String,
    /// Where it is named first: bytes from the start of the [`entry`](Self::entry) where there is
    /// one, else of the file.
    pub offset: Option<u64>,
    /// The archive entry of the pickle; behind the shard's name and a slash, where the checkpoint
    /// is sharded.
    pub entry: Option<String>,
    /// What is known of it.
    pub standing: Standing,
}
