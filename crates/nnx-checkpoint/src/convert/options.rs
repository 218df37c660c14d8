//! The options of a conversion.

use super::share::Share;
use crate::error::{Error, Result};
use crate::setters::setters;
use crate::{CheckpointPart, Dtype, Limits, TargetFormat};

/// The options of a conversion. The default takes everything over and changes nothing.
///
/// ```
/// use nnx_checkpoint::{ConvertOptions, Dtype};
///
/// let options = ConvertOptions::default()
///     .select("state_dict")
///     .strip_prefix("state_dict.")
///     .dtype(Dtype::BFloat16);
/// assert!(options.verify && !options.overwrite);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConvertOptions {
    /// The format to write. Default: `None`, by the target's name.
    pub to: Option<TargetFormat>,
    /// Takes only what has this name or is below it. Default: `None`, everything.
    pub select: Option<String>,
    /// A text that is removed from the front of the names that begin with it. Default: `None`.
    pub strip_prefix: Option<String>,
    /// Names, or the beginnings of names up to a `.`, each with its replacement; applied
    /// one after the other, behind `strip_prefix`. Default: none.
    pub rename: Vec<(String, String)>,
    /// The dtype that floating-point tensors are cast to, with the results of PyTorch's
    /// `tensor.to(dtype)`; tensors of other dtypes stay. Default: `None`.
    pub dtype: Option<Dtype>,
    /// Bytes of tensors that one file may hold, unless a single tensor has more: several files with
    /// an index are written when there are more. Default: `None`, one file.
    pub max_shard_size: Option<u64>,
    /// Texts for the metadata of a safetensors file; a key that the source has too is replaced.
    /// Default: none.
    pub metadata: Vec<(String, String)>,
    /// Whether the target is to have tensors alone: values that are none are left out, and metadata
    /// that has no place there. An NNx checkpoint that becomes a safetensors file keeps its
    /// configuration, which has its place. Default: `false`, a source with values that the target
    /// has no place for is refused.
    pub drop_non_tensors: bool,
    /// Whether a PyTorch file is written although it would name what runs code when Python loads it,
    /// as its source does. A safetensors file never names anything. Default: `false`.
    pub allow_dangerous_globals: bool,
    /// Whether a target without a tensor, or with empty ones alone, is written. Default: `false`,
    /// such a conversion is refused.
    pub allow_empty: bool,
    /// The part of a checkpoint of several processes that is taken. Default: `None`, the model where
    /// there is an optimizer too, else all.
    pub part: Option<CheckpointPart>,
    /// Whether a PyTorch file is written of a checkpoint of several processes in the nested form that
    /// its state had in Python. Default: `false`, a dict of names.
    pub nested: bool,
    /// How tensors that have several names are written. Default:
    /// [`SharedTensors::Kept`].
    pub tied: SharedTensors,
    /// Whether a tensor that views a part of its storage is written to a PyTorch file without the
    /// rest. Safetensors files never have the rest. Default: `false`, as `torch.save` does.
    pub compact: bool,
    /// Whether a file at the target is replaced. Default: `false`.
    pub overwrite: bool,
    /// Whether the source is compared with its checksums, and every written file is read again and
    /// compared with the bytes that were read, before it takes the target's place. Default: `true`.
    pub verify: bool,
    /// Whether everything is planned and nothing written. Default: `false`.
    pub dry_run: bool,
    /// The share of the work that the call does, where several processes do one conversion; needs
    /// [`max_shard_size`](Self#structfield.max_shard_size). Default: [`Share::Whole`].
    pub share: Share,
    /// Bounds on work and memory. Default: [`Limits::default`].
    pub limits: Limits,
}

impl Default for ConvertOptions {
    fn default() -> Self {
        Self {
            to: None,
            select: None,
            strip_prefix: None,
            rename: Vec::new(),
            dtype: None,
            max_shard_size: None,
            metadata: Vec::new(),
            drop_non_tensors: false,
            allow_dangerous_globals: false,
            allow_empty: false,
            part: None,
            nested: false,
            tied: SharedTensors::default(),
            compact: false,
            overwrite: false,
            verify: true,
            dry_run: false,
            share: Share::Whole,
            limits: Limits::default(),
        }
    }
}

/// How tensors that have several names are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SharedTensors {
    /// Every name is written with its bytes; a PyTorch file has them once, under both names.
    #[default]
    Kept,
    /// A safetensors file has the bytes once, under the name that comes first in the alphabet; its
    /// metadata has `other name: that name`, as `save_model` of the format's own library writes it
    /// and [`OpenOptions::restore_aliases`](crate::OpenOptions::restore_aliases) reads it. Names
    /// without a dot, which cannot be told from other texts there, keep their bytes.
    Aliased,
}

impl ConvertOptions {
    /// Whether tensors are chosen or get other names.
    pub(super) fn renames(&self) -> bool {
        self.select.is_some() || self.strip_prefix.is_some() || !self.rename.is_empty()
    }

    /// The bytes of a size such as `5GB`: a number with or without one of the decimal units that
    /// `huggingface_hub` knows, `TB`, `GB`, `MB` and `KB`.
    ///
    /// ```
    /// use nnx_checkpoint::ConvertOptions;
    ///
    /// assert_eq!(ConvertOptions::parse_size("5GB")?, 5_000_000_000);
    /// # Ok::<(), nnx_checkpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it is not such a size, or zero.
    pub fn parse_size(text: &str) -> Result<u64> {
        const UNITS: &[(&str, u64)] = &[
            ("TB", 1_000_000_000_000),
            ("GB", 1_000_000_000),
            ("MB", 1_000_000),
            ("KB", 1_000),
            ("", 1),
        ];
        let upper = text.trim().to_ascii_uppercase();
        UNITS
            .iter()
            .find_map(|(unit, bytes)| {
                let number = upper.strip_suffix(unit)?.trim();
                if let Ok(number) = number.parse::<u64>() {
                    return number.checked_mul(*bytes);
                }
                let is_plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
                let number: f64 = number.parse().ok().filter(|_| is_plain && *bytes > 1)?;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a size is positive, and its fraction of a byte is dropped"
                )]
                Some((number * *bytes as f64) as u64)
            })
            .filter(|&bytes| bytes > 0)
            .ok_or_else(|| {
                Error::unsupported(format!(
                    "a size is a number with `TB`, `GB`, `MB`, `KB` or nothing behind it, got \
                     `{text}`"
                ))
            })
    }
}

impl ConvertOptions {
    setters! {
        to(format: TargetFormat) = Some(format);
        select(path: impl Into<String>) = Some(path.into());
        strip_prefix(text: impl Into<String>) = Some(text.into());
        dtype(dtype: Dtype) = Some(dtype);
        max_shard_size(bytes: u64) = Some(bytes);
        drop_non_tensors(drop: bool) = drop;
        allow_dangerous_globals(allow: bool) = allow;
        allow_empty(allow: bool) = allow;
        part(part: CheckpointPart) = Some(part);
        nested(nested: bool) = nested;
        tied(tied: SharedTensors) = tied;
        compact(compact: bool) = compact;
        overwrite(overwrite: bool) = overwrite;
        verify(verify: bool) = verify;
        dry_run(dry_run: bool) = dry_run;
        share(share: Share) = share;
        limits(limits: Limits) = limits;
    }

    /// Adds to [`rename`](Self#structfield.rename).
    #[must_use]
    pub fn rename(mut self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.rename.push((from.into(), to.into()));
        self
    }

    /// Adds to [`metadata`](Self#structfield.metadata).
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.push((key.into(), value.into()));
        self
    }
}
