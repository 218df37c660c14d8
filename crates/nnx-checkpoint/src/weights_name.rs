//! The names of files of weights, as the libraries of the Hugging Face family give and expect them.

use std::fmt;

use crate::target_format::TargetFormat;

/// A standard name of a file of weights, taken apart: `model.fp16.safetensors` is the variant `fp16`
/// of the weights of a model in a safetensors file.
///
/// ```
/// use nnx_checkpoint::{TargetFormat, WeightsName};
///
/// let name = WeightsName::parse("pytorch_model.fp16.bin").unwrap();
/// let safe = name.with_format(TargetFormat::SafeTensors);
/// assert_eq!(safe.to_string(), "model.fp16.safetensors");
/// assert_eq!(safe.index().to_string(), "model.safetensors.index.fp16.json");
/// assert_eq!(WeightsName::parse("best.pt"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WeightsName {
    stems: &'static Stems,
    format: TargetFormat,
    variant: Option<String>,
    part: WeightsPart,
}

/// The file that a name is of, among those of some weights.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WeightsPart {
    /// The file of all weights.
    Whole,
    /// The index that says which shard holds which tensor.
    Index,
    /// A shard, by its number and the number of all, such as `00001-of-00002`.
    Shard(String),
}

/// The start of the names of a kind of weights, in each format.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Stems {
    safetensors: &'static str,
    torch: &'static str,
}

/// Models of transformers, and of libraries that follow it.
const MODEL: Stems = Stems {
    safetensors: "model",
    torch: "pytorch_model",
};

/// Models of transformers; pipelines of diffusers; adapters of peft; LoRA
/// weights of diffusers; models of open_clip.
const STEMS: &[Stems] = &[
    MODEL,
    Stems {
        safetensors: "diffusion_pytorch_model",
        torch: "diffusion_pytorch_model",
    },
    Stems {
        safetensors: "adapter_model",
        torch: "adapter_model",
    },
    Stems {
        safetensors: "pytorch_lora_weights",
        torch: "pytorch_lora_weights",
    },
    Stems {
        safetensors: "open_clip_model",
        torch: "open_clip_pytorch_model",
    },
];

/// The end of the name of an index, but for that of a variant.
const INDEX_END: &str = ".index.json";

impl Stems {
    fn in_format(&self, format: TargetFormat) -> &'static str {
        match format {
            TargetFormat::SafeTensors => self.safetensors,
            TargetFormat::Torch => self.torch,
        }
    }
}

/// The extension of standard names in a format.
fn extension(format: TargetFormat) -> &'static str {
    match format {
        TargetFormat::SafeTensors => "safetensors",
        TargetFormat::Torch => "bin",
    }
}

impl WeightsName {
    /// The name by which loaders find the weights of a model in a folder: `model.safetensors` or
    /// `pytorch_model.bin`.
    pub fn standard(format: TargetFormat) -> Self {
        Self {
            stems: &MODEL,
            format,
            variant: None,
            part: WeightsPart::Whole,
        }
    }

    /// Takes a file name apart; none when it is not a standard name.
    ///
    /// All spellings of the index of a variant are read: `model.safetensors.index.fp16.json` of
    /// transformers and diffusers, `model.fp16.safetensors.index.json` of `huggingface_hub`, and
    /// `diffusion_pytorch_model.safetensors.fp16.index.json` of old versions of diffusers.
    pub fn parse(name: &str) -> Option<Self> {
        let mut parts: Vec<&str> = name.split('.').collect();
        let is_index = parts.last() == Some(&"json");
        if is_index {
            parts.pop();
            let index = parts.iter().rposition(|part| *part == "index")?;
            parts.remove(index);
        }
        let formats = [TargetFormat::SafeTensors, TargetFormat::Torch];
        let (at, format) = formats.into_iter().find_map(|format| {
            let at = parts.iter().rposition(|part| *part == extension(format))?;
            Some((at, format))
        })?;
        if at == 0 || !is_index && at.saturating_add(1) != parts.len() {
            return None;
        }
        parts.remove(at);
        let (mut stem, mut variant) = match parts.as_slice() {
            [stem] => (*stem, None),
            [stem, variant] => (*stem, Some(*variant)),
            _ => return None,
        };
        let mut part = if is_index {
            WeightsPart::Index
        } else {
            WeightsPart::Whole
        };
        if !is_index {
            // Old versions of diffusers put the variant behind the number of a shard.
            for text in [Some(&mut stem), variant.as_mut()].into_iter().flatten() {
                if let Some((before, number)) = split_shard(text) {
                    *text = before;
                    part = WeightsPart::Shard(number.to_owned());
                }
            }
        }
        if variant.is_some_and(str::is_empty) {
            return None;
        }
        let stems = STEMS.iter().find(|stems| stems.in_format(format) == stem)?;
        Some(Self {
            stems,
            format,
            variant: variant.map(ToOwned::to_owned),
            part,
        })
    }

    /// Whether a file of that name, or at that path, is the index of a sharded checkpoint: one of
    /// any name, or that of a variant.
    ///
    /// ```
    /// use nnx_checkpoint::WeightsName;
    ///
    /// assert!(WeightsName::is_index("my_model.safetensors.index.json"));
    /// assert!(WeightsName::is_index("unet/model.safetensors.index.fp16.json"));
    /// assert!(!WeightsName::is_index("config.json"));
    /// ```
    pub fn is_index(path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.ends_with(INDEX_END)
            || Self::parse(name).is_some_and(|name| name.part == WeightsPart::Index)
    }

    /// The format of files of that name.
    pub fn format(&self) -> TargetFormat {
        self.format
    }

    /// The variant, such as `fp16`; none for the weights that are loaded unless a variant is asked
    /// for.
    pub fn variant(&self) -> Option<&str> {
        self.variant.as_deref()
    }

    /// The file that the name is of.
    pub fn part(&self) -> &WeightsPart {
        &self.part
    }

    /// The name of the same weights in another format.
    #[must_use]
    pub fn with_format(mut self, format: TargetFormat) -> Self {
        self.format = format;
        self
    }

    /// The name of the one file of these weights.
    #[must_use]
    pub fn whole(&self) -> Self {
        Self {
            part: WeightsPart::Whole,
            ..self.clone()
        }
    }

    /// The name of the index of these weights.
    #[must_use]
    pub fn index(&self) -> Self {
        Self {
            part: WeightsPart::Index,
            ..self.clone()
        }
    }

    /// Every spelling of the name. The index of a variant has several, of which the first one is
    /// written.
    pub fn spellings(&self) -> Vec<String> {
        let (stem, extension) = (self.stems.in_format(self.format), extension(self.format));
        match (&self.part, &self.variant) {
            (WeightsPart::Index, Some(variant)) => vec![
                self.to_string(),
                format!("{stem}.{variant}.{extension}.index.json"),
                format!("{stem}.{extension}.{variant}.index.json"),
            ],
            _ => vec![self.to_string()],
        }
    }
}

impl fmt::Display for WeightsName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (stem, extension) = (self.stems.in_format(self.format), extension(self.format));
        f.write_str(stem)?;
        if self.part == WeightsPart::Index {
            write!(f, ".{extension}.index")?;
        }
        if let Some(variant) = &self.variant {
            write!(f, ".{variant}")?;
        }
        match &self.part {
            WeightsPart::Whole => write!(f, ".{extension}"),
            WeightsPart::Index => f.write_str(".json"),
            WeightsPart::Shard(number) => write!(f, "-{number}.{extension}"),
        }
    }
}

/// The text before the number of a shard, and the number: `model-00001-of-00002`.
pub(crate) fn split_shard(text: &str) -> Option<(&str, &str)> {
    const NUMBER: usize = "00001-of-00002".len();
    let at = text.len().checked_sub(NUMBER)?;
    let (before, number) = (text.get(..at)?, text.get(at..)?);
    let (index, count) = number.split_once("-of-")?;
    let is_number = |text: &str| text.len() == 5 && text.bytes().all(|b| b.is_ascii_digit());
    let before = before.strip_suffix('-')?;
    (is_number(index) && is_number(count)).then_some((before, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names that transformers 5.0, diffusers 0.38 and peft 0.18 write: `_add_variant` of each,
    /// `WEIGHTS_NAME`, `SAFE_WEIGHTS_NAME` and their indices.
    const PAIRS: &[(&str, &str)] = &[
        ("model.safetensors", "pytorch_model.bin"),
        (
            "model.safetensors.index.json",
            "pytorch_model.bin.index.json",
        ),
        (
            "model-00001-of-00002.safetensors",
            "pytorch_model-00001-of-00002.bin",
        ),
        ("model.fp16.safetensors", "pytorch_model.fp16.bin"),
        (
            "model.safetensors.index.fp16.json",
            "pytorch_model.bin.index.fp16.json",
        ),
        (
            "model.fp16-00001-of-00002.safetensors",
            "pytorch_model.fp16-00001-of-00002.bin",
        ),
        (
            "diffusion_pytorch_model.safetensors",
            "diffusion_pytorch_model.bin",
        ),
        (
            "diffusion_pytorch_model.non_ema.safetensors",
            "diffusion_pytorch_model.non_ema.bin",
        ),
        (
            "diffusion_pytorch_model.safetensors.index.fp16.json",
            "diffusion_pytorch_model.bin.index.fp16.json",
        ),
        ("adapter_model.safetensors", "adapter_model.bin"),
        (
            "pytorch_lora_weights.safetensors",
            "pytorch_lora_weights.bin",
        ),
        ("open_clip_model.safetensors", "open_clip_pytorch_model.bin"),
    ];

    #[test]
    fn names_are_those_of_the_libraries_in_both_formats() {
        for (safetensors, torch) in PAIRS {
            let [safe, bin] = [safetensors, torch].map(|name| WeightsName::parse(name).unwrap());
            assert_eq!(safe.to_string(), *safetensors);
            assert_eq!(bin.to_string(), *torch);
            assert_eq!(safe.clone().with_format(TargetFormat::Torch), bin);
            assert_eq!(bin.with_format(TargetFormat::SafeTensors), safe);
        }
    }

    #[test]
    fn every_spelling_of_an_index_of_a_variant_is_read() {
        let index = WeightsName::parse("model.safetensors.index.fp16.json").unwrap();
        assert_eq!(index.part(), &WeightsPart::Index);
        assert_eq!(index.variant(), Some("fp16"));
        let spellings = index.spellings();
        assert_eq!(spellings.len(), 3);
        for spelling in spellings {
            assert_eq!(
                WeightsName::parse(&spelling),
                Some(index.clone()),
                "{spelling}"
            );
        }
        assert_eq!(index.whole().to_string(), "model.fp16.safetensors");
        let shard = "diffusion_pytorch_model-00001-of-00002.fp16.safetensors";
        assert_eq!(
            WeightsName::parse(shard).unwrap().to_string(),
            "diffusion_pytorch_model.fp16-00001-of-00002.safetensors"
        );
    }

    #[test]
    fn other_names_are_no_standard_names() {
        for name in [
            "",
            "model",
            "model.bin",
            "model.pt",
            "pytorch_model.safetensors",
            "my_model.safetensors",
            "model..safetensors",
            "model.a.b.safetensors",
            "model.safetensors.json",
            "model.safetensors.fp16",
            "safetensors",
            "optimizer.bin",
            "index.json",
            "model-1-of-2.safetensors",
        ] {
            assert_eq!(WeightsName::parse(name), None, "{name}");
        }
    }
}
