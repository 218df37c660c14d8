//! The names in a folder, and their meaning.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::source::{Folder, FolderEntries};

/// The names in a folder, in alphabetical order.
#[derive(Debug, Default)]
pub(super) struct Listing {
    files: Vec<String>,
    folders: Vec<String>,
}

/// Files whose names count them.
#[derive(Debug, PartialEq)]
pub(super) struct Counted<'a> {
    /// The text before the numbers.
    pub(super) stem: &'a str,
    extension: &'a str,
    /// How many digits the numbers have.
    digits: usize,
    /// How many files there are to be.
    pub(super) count: usize,
    /// Those that are there, by their numbers.
    pub(super) files: BTreeMap<usize, &'a str>,
}

impl Listing {
    /// Lists a folder.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub(super) fn read(folder: &dyn Folder) -> Result<Self> {
        let FolderEntries {
            mut files,
            mut folders,
        } = folder.entries()?;
        files.sort();
        folders.sort();
        Ok(Self { files, folders })
    }

    /// Whether there is a file of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.files.iter().any(|file| file == name)
    }

    /// The files whose names a test takes.
    pub(super) fn files(&self, takes: impl Fn(&str) -> Option<()>) -> Vec<&str> {
        let names = self.files.iter().map(String::as_str);
        names.filter(|name| takes(name).is_some()).collect()
    }

    /// The folders.
    pub(super) fn folders(&self) -> impl Iterator<Item = &str> {
        self.folders.iter().map(String::as_str)
    }

    /// The variants of a file, each with the name of the file, or of the index of its shards:
    /// `model.fp16.safetensors`, `model.fp16.safetensors.index.json` and, as transformers spells it,
    /// `model.safetensors.index.fp16.json`.
    pub(super) fn variants(&self, stem: &str, extension: &str) -> Vec<(&str, &str)> {
        let names = self.files.iter().map(String::as_str);
        let mut found: Vec<(Spelling, &str, &str)> = names
            .filter_map(|name| {
                let (spelling, variant) = variant(name, stem, extension)?;
                Some((spelling, variant, name))
            })
            .collect();
        found.sort();
        let mut variants: Vec<(&str, &str)> = Vec::new();
        for (_, variant, name) in found {
            if variants.iter().all(|(known, _)| *known != variant) {
                variants.push((variant, name));
            }
        }
        variants
    }

    /// The sets of files whose names count them, safetensors files first.
    pub(super) fn counted(&self) -> Vec<Counted<'_>> {
        let mut sets: Vec<Counted<'_>> = Vec::new();
        for name in &self.files {
            let Some(one) = Counted::parse(name) else {
                continue;
            };
            match sets.iter_mut().find(|set| set.is_of(&one)) {
                Some(set) => set.files.extend(one.files),
                None => sets.push(one),
            }
        }
        sets.sort_by_key(|set| set.extension != "safetensors");
        sets
    }
}

/// How a name has its variant; a file of one piece comes before an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Spelling {
    File,
    Index,
    TransformersIndex,
}

/// The variant that a name is of.
fn variant<'a>(name: &'a str, stem: &str, extension: &str) -> Option<(Spelling, &'a str)> {
    if Counted::parse(name).is_some() {
        return None;
    }
    let rest = name.strip_prefix(stem)?.strip_prefix('.')?;
    let before_extension = |rest: &'a str| rest.strip_suffix(extension)?.strip_suffix('.');
    let file = before_extension(rest).map(|variant| (Spelling::File, variant));
    let index = || {
        let variant = before_extension(rest.strip_suffix(".index.json")?)?;
        Some((Spelling::Index, variant))
    };
    let transformers_index = || {
        let variant = rest.strip_prefix(extension)?.strip_prefix(".index.")?;
        Some((Spelling::TransformersIndex, variant.strip_suffix(".json")?))
    };
    file.or_else(index)
        .or_else(transformers_index)
        .filter(|(_, variant)| !variant.is_empty() && !variant.contains('.'))
}

impl<'a> Counted<'a> {
    /// The set of a name such as `model-00001-of-00002.safetensors`.
    fn parse(name: &'a str) -> Option<Self> {
        let (rest, extension) = name.rsplit_once('.')?;
        if !["safetensors", "bin", "pt", "pth"].contains(&extension) {
            return None;
        }
        let (rest, count) = rest.rsplit_once("-of-")?;
        let (stem, number) = rest.rsplit_once('-')?;
        let read = |digits: &str| {
            let is_number =
                (1..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| digits.parse::<usize>().ok()).flatten()
        };
        let (digits, count, number) = (number.len(), read(count)?, read(number)?);
        (number <= count && count > 0).then(|| Self {
            stem,
            extension,
            digits,
            count,
            files: BTreeMap::from([(number, name)]),
        })
    }

    fn is_of(&self, other: &Self) -> bool {
        (self.stem, self.extension, self.digits, self.count)
            == (other.stem, other.extension, other.digits, other.count)
    }

    /// The first names that are not there. Numbers count from 1, or from 0 where there is one.
    pub(super) fn missing(&self) -> Vec<String> {
        let first = usize::from(!self.files.contains_key(&0));
        let numbers = first..first.saturating_add(self.count);
        let missing = numbers.filter(|number| !self.files.contains_key(number));
        let named = missing.take(super::SHOWN_NAMES).map(|number| {
            let (stem, digits, extension) = (self.stem, self.digits, self.extension);
            format!(
                "{stem}-{number:0digits$}-of-{:0digits$}.{extension}",
                self.count
            )
        });
        named.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(files: &[&str]) -> Listing {
        Listing {
            files: files.iter().map(|&name| name.to_owned()).collect(),
            folders: Vec::new(),
        }
    }

    #[test]
    fn variants_are_told_from_other_files() {
        let listing = listing(&[
            "model.bf16.safetensors.index.json",
            "model.fp16.safetensors",
            "model.safetensors.index.fp8.json",
            "model.of.dots.safetensors",
            "model.part-1-of-2.safetensors",
            "model2.fp16.safetensors",
            "pytorch_model.fp16.bin",
        ]);
        assert_eq!(
            listing.variants("model", "safetensors"),
            [
                ("fp16", "model.fp16.safetensors"),
                ("bf16", "model.bf16.safetensors.index.json"),
                ("fp8", "model.safetensors.index.fp8.json"),
            ]
        );
        assert_eq!(
            listing.variants("pytorch_model", "bin"),
            [("fp16", "pytorch_model.fp16.bin")]
        );
        assert_eq!(listing.variants("adapter_model", "bin"), []);
    }

    #[test]
    fn names_count_their_files() {
        let listing = listing(&[
            "m-1-of-3.bin",
            "m-3-of-3.bin",
            "n-00000-of-00002.safetensors",
            "n-00001-of-00002.safetensors",
            "o-00003-of-00002.bin",
            "p-1-of-x.bin",
            "q-1-of-2.txt",
        ]);
        let sets = listing.counted();
        let told: Vec<_> = sets.iter().map(|set| (set.stem, set.missing())).collect();
        assert_eq!(
            told,
            [("n", Vec::new()), ("m", vec!["m-2-of-3.bin".to_owned()])]
        );
    }
}
