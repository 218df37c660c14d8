//! Shares of a conversion, for several processes or machines that work on one.

use std::fmt;

use crate::error::{Error, Result};

/// The share of a conversion that a call does.
///
/// The plan of a conversion is the same whoever computes it, so several processes can share the work
/// without a word between them: each [`Worker`] writes shards of its own, and one call writes the
/// index at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Share {
    /// Everything.
    #[default]
    Whole,
    /// The shards of one worker, without an index. A shard that is complete already, because the
    /// worker was started before, is compared with the source and stays.
    Worker(Worker),
    /// The index alone, if every shard is there, has its size, and holds its tensors by their names,
    /// dtypes and shapes.
    Index,
}

/// One of several processes that write the shards of one conversion: every `count`-th shard, from
/// the one of its number on.
///
/// ```
/// use nnx_checkpoint::Worker;
///
/// let worker = Worker::parse("2/8")?;
/// assert_eq!(worker, Worker::new(2, 8)?);
/// assert!(Worker::parse("8/8").is_err());
/// # Ok::<(), nnx_checkpoint::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worker {
    number: usize,
    count: usize,
}

impl Worker {
    /// The worker of that number, counted from 0, of so many.
    ///
    /// # Errors
    /// When the number is not below the count.
    pub fn new(number: usize, count: usize) -> Result<Self> {
        if number < count {
            return Ok(Self { number, count });
        }
        Err(Error::unsupported(format!(
            "expected a worker `K/N` with K from 0 to N - 1, got `{number}/{count}`"
        )))
    }

    /// A worker as `K/N`, where K counts from 0.
    ///
    /// # Errors
    /// When the text is not such a pair, or K is not below N.
    pub fn parse(text: &str) -> Result<Self> {
        let numbers = text.split_once('/').and_then(|(number, count)| {
            Some((number.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
        });
        let (number, count) = numbers.ok_or_else(|| {
            Error::unsupported(format!(
                "expected a worker `K/N` with K from 0 to N - 1, got `{text}`"
            ))
        })?;
        Self::new(number, count)
    }
}

impl fmt::Display for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl Share {
    /// Refuses a share of work that is not split into shards.
    ///
    /// # Errors
    /// When this is a share, and there is no size of a shard.
    pub(super) fn check(self, max_shard_size: Option<u64>) -> Result<()> {
        if self != Self::Whole && max_shard_size.is_none() {
            return Err(Error::unsupported(
                "a conversion is shared by its shards; state their size",
            ));
        }
        Ok(())
    }

    /// Whether the shard of that number, counted from 0, is written.
    pub(super) fn takes(self, shard: usize) -> bool {
        match self {
            Self::Whole => true,
            Self::Worker(worker) => shard.checked_rem(worker.count) == Some(worker.number),
            Self::Index => false,
        }
    }

    /// Whether the index is written.
    pub(super) fn has_index(self) -> bool {
        !matches!(self, Self::Worker(_))
    }

    /// A note for the report, about a plan of so many files.
    pub(super) fn note(self, files: usize) -> Option<String> {
        match self {
            Self::Whole => None,
            Self::Worker(worker) => {
                let own = (0..files).filter(|&file| self.takes(file)).count();
                Some(format!("worker {worker} writes {own} of {files} shards"))
            }
            Self::Index if files == 1 => {
                Some("the target is one file, which needs no index".to_owned())
            }
            Self::Index => Some(format!("all {files} shards are there")),
        }
    }
}
