//! The recorded transforms of a net's linear layers, replayed before its weights are loaded.

use indexmap::IndexMap;
use nnx_params::{NNCheckpointTransform, Value};

use crate::error::{Error, Result};

/// The transform of each transformed linear layer, by the path of the layer.
///
/// The operations and their options are those of NNx 0.4.1, version 1: `lora` with `targets`, `r`,
/// `alpha` and `dropout`, and `low_rank` with `targets`, `rank` and `method`.
#[derive(Debug, Default)]
pub(crate) struct LayerTransforms(IndexMap<String, LayerTransform>);

/// The replacement of a linear layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LayerTransform {
    /// The layer plus a product of two thin matrices.
    Lora {
        /// The width between the two matrices.
        rank: usize,
        /// The product is scaled by `alpha / rank`.
        alpha: f64,
        /// The probability of dropping an input of the product, in training.
        dropout: f64,
    },
    /// Two linear layers in sequence, with `rank` numbers between them.
    LowRank {
        /// The width between the two layers.
        rank: usize,
    },
}

impl LayerTransforms {
    /// Reads the transforms of a checkpoint.
    ///
    /// # Errors
    /// When one of them is unknown, its options are not those of its kind, or two of them change
    /// the same layer.
    pub(crate) fn parse(transforms: &[NNCheckpointTransform]) -> Result<Self> {
        let mut by_path = IndexMap::new();
        for transform in transforms {
            let layer = layer_transform(transform)?;
            for target in targets(transform)? {
                let within = |a: &str, b: &str| {
                    a.strip_prefix(b)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                };
                if let Some(other) = by_path
                    .keys()
                    .find(|other: &&String| within(&target, other) || within(other, &target))
                {
                    return Err(malformed(
                        transform,
                        format!("`{target}` is within `{other}`, which is changed already"),
                    ));
                }
                by_path.insert(target, layer);
            }
        }
        Ok(Self(by_path))
    }

    /// The paths of the layers with their transforms, in the order in which they are made.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, LayerTransform)> {
        self.0
            .iter()
            .map(|(path, transform)| (path.as_str(), *transform))
    }

    /// Removes and returns the transform of the linear layer at that path.
    pub(crate) fn take(&mut self, path: &str) -> Option<LayerTransform> {
        self.0.shift_remove(path)
    }

    /// Checks that every target was a linear layer of the net.
    ///
    /// # Errors
    /// When one was not.
    pub(crate) fn finish(&self) -> Result<()> {
        match self.0.first() {
            None => Ok(()),
            Some((path, _)) => Err(Error::configuration(format!(
                "the recorded transforms change `{path}`, which is not a linear layer of the net"
            ))),
        }
    }
}

fn layer_transform(transform: &NNCheckpointTransform) -> Result<LayerTransform> {
    let known = match transform.name() {
        "lora" => ["alpha", "dropout", "r", "targets"].as_slice(),
        "low_rank" => ["method", "rank", "targets"].as_slice(),
        other => {
            return Err(Error::unsupported(format!(
                "the checkpoint's weights belong to a net changed by `{other}`, which this version \
                 does not replay"
            )));
        }
    };
    if transform.version().as_i64() != Some(1) {
        return Err(Error::unsupported(format!(
            "version `{}` of the transform `{}` is not replayed, only version `1` is",
            transform.version(),
            transform.name()
        )));
    }
    let mut found: Vec<_> = transform.options().keys().collect();
    found.sort_unstable();
    if found != known {
        return Err(malformed(
            transform,
            format!(
                "expected the options `{}`, found `{}`",
                known.join("`, `"),
                found.join("`, `")
            ),
        ));
    }
    if transform.name() == "lora" {
        Ok(LayerTransform::Lora {
            rank: rank(transform, "r")?,
            alpha: number(transform, "alpha", |alpha| alpha > 0.0 && alpha.is_finite())?,
            dropout: number(transform, "dropout", |dropout| {
                (0.0..1.0).contains(&dropout)
            })?,
        })
    } else if transform.options().get("method") == Some(&Value::Str("svd".into())) {
        Ok(LayerTransform::LowRank {
            rank: rank(transform, "rank")?,
        })
    } else {
        Err(malformed(transform, "expected the method `svd`".into()))
    }
}

/// The paths of the layers changed.
fn targets(transform: &NNCheckpointTransform) -> Result<Vec<String>> {
    let wrong = || {
        malformed(
            transform,
            "expected the paths of linear layers as `targets`".into(),
        )
    };
    let (Value::List(items) | Value::Tuple(items)) =
        transform.options().get("targets").ok_or_else(wrong)?
    else {
        return Err(wrong());
    };
    if items.is_empty() {
        return Err(wrong());
    }
    items
        .iter()
        .map(|item| match item {
            Value::Str(path) if !path.split('.').any(str::is_empty) => Ok(path.clone()),
            _ => Err(wrong()),
        })
        .collect()
}

fn rank(transform: &NNCheckpointTransform, option: &str) -> Result<usize> {
    match transform.options().get(option) {
        Some(Value::Int(rank)) => usize::try_from(*rank).ok().filter(|rank| *rank > 0),
        _ => None,
    }
    .ok_or_else(|| malformed(transform, format!("expected an integer > 0 as `{option}`")))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "Python divides such integers as floats too"
)]
fn number(
    transform: &NNCheckpointTransform,
    option: &str,
    is_valid: impl Fn(f64) -> bool,
) -> Result<f64> {
    match transform.options().get(option) {
        Some(Value::Float(number)) => Some(*number),
        Some(Value::Int(number)) => Some(*number as f64),
        _ => None,
    }
    .filter(|number| is_valid(*number))
    .ok_or_else(|| {
        malformed(
            transform,
            format!("the option `{option}` is out of its domain"),
        )
    })
}

#[cold]
fn malformed(transform: &NNCheckpointTransform, what: String) -> Error {
    Error::configuration(format!("transform `{}`: {what}", transform.name()))
}

#[cfg(test)]
mod tests {
    use nnx_params::python_text::json_loads;

    use super::*;

    /// Reads transforms as a checkpoint's metadata spells them.
    #[track_caller]
    fn parse(json: &str) -> Result<LayerTransforms> {
        let Value::List(items) = json_loads(json).unwrap() else {
            panic!("{json} is no list")
        };
        let transforms: Vec<_> = items
            .iter()
            .map(|item| match item {
                Value::Map(state) => NNCheckpointTransform::from_state(state).unwrap(),
                other => panic!("{other:?} is no transform"),
            })
            .collect();
        LayerTransforms::parse(&transforms)
    }

    #[track_caller]
    fn check_refused(json: &str, expected: &str) {
        let error = parse(json).unwrap_err().to_string();
        assert!(
            error.contains(expected),
            "`{error}` does not say `{expected}`"
        );
    }

    #[test]
    fn each_target_is_changed_once() {
        let mut transforms = parse(
            r#"[{"name": "lora", "version": 1,
                 "options": {"targets": ["layers.0"], "r": 2, "alpha": 4, "dropout": 0.5}},
                {"name": "low_rank", "version": 1,
                 "options": {"targets": ["layers.1"], "rank": 3, "method": "svd"}}]"#,
        )
        .unwrap();
        assert!(transforms.finish().is_err());
        let lora = LayerTransform::Lora {
            rank: 2,
            alpha: 4.0,
            dropout: 0.5,
        };
        assert_eq!(transforms.take("layers.0"), Some(lora));
        assert_eq!(transforms.take("layers.0"), None);
        assert_eq!(
            transforms.take("layers.1"),
            Some(LayerTransform::LowRank { rank: 3 })
        );
        assert!(transforms.finish().is_ok());
    }

    /// Each of these raises `RecipeError` in NNx 0.4.1.
    #[test]
    fn what_the_reference_refuses_is_refused() {
        check_refused(r#"[{"name": "custom", "options": {}}]"#, "`custom`");
        check_refused(
            r#"[{"name": "lora", "version": 2, "options": {}}]"#,
            "version `2`",
        );
        check_refused(
            r#"[{"name": "lora", "options": {"targets": ["a"], "r": 1}}]"#,
            "`dropout`",
        );
        for (r, alpha, dropout, word) in [
            ("0", "1.0", "0.0", "`r`"),
            ("true", "1.0", "0.0", "`r`"),
            ("1.0", "1.0", "0.0", "`r`"),
            ("1", "0.0", "0.0", "`alpha`"),
            ("1", "Infinity", "0.0", "`alpha`"),
            ("1", "1.0", "1.0", "`dropout`"),
            ("1", "1.0", "NaN", "`dropout`"),
        ] {
            let json = format!(
                r#"[{{"name": "lora", "options":
                    {{"targets": ["a"], "r": {r}, "alpha": {alpha}, "dropout": {dropout}}}}}]"#
            );
            check_refused(&json, word);
        }
        for (targets, word) in [
            (r#"[]"#, "`targets`"),
            (r#""a""#, "`targets`"),
            (r#"["a..b"]"#, "`targets`"),
            (r#"["a", "a"]"#, "changed already"),
            (r#"["a", "a.b"]"#, "changed already"),
        ] {
            let json = format!(
                r#"[{{"name": "low_rank", "options":
                    {{"targets": {targets}, "rank": 1, "method": "svd"}}}}]"#
            );
            check_refused(&json, word);
        }
        check_refused(
            r#"[{"name": "low_rank", "options": {"targets": ["a"], "rank": 1, "method": "qr"}}]"#,
            "`svd`",
        );
    }
}
