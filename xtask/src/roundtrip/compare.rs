//! The differences between two readings of a checkpoint, with the names of the values.

use nnx_params::{Nets, Value, python_text};

use super::facts::{Content, Entry, Facts, Forward, TensorFacts, hex};

/// The largest difference between an output and the float64 reference, or another float32
/// implementation.
///
/// The norms of transformers amplify the rounding of small values: the library's own float32
/// differs by 3e-6 from its float64 in random nets.
fn tolerance(net: Option<Nets>) -> f64 {
    match net {
        Some(Nets::Transformer | Nets::Vit) => 1e-5,
        _ => 1e-6,
    }
}

/// The properties that two readings must share, in addition to states, names, dtypes, shapes and
/// bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    /// Also the order of the entries, strides, shared storages and Python classes.
    Pickle,
    /// Entries in alphabetical order; the format has neither strides nor shared storages.
    SafeTensors,
}

/// How equal outputs must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Outputs {
    /// The same float32, bit for bit.
    Exact,
    /// Within the tolerance of the net, against the float64 reference where there is one.
    Close,
}

/// Every difference between the expected and the actual contents of a file.
pub(super) fn compare(
    expected: &Facts,
    found: &Facts,
    form: Form,
    outputs: Outputs,
) -> Vec<String> {
    let mut differences = Vec::new();
    for ((name, expected), (_, found)) in expected.states.iter().zip(&found.states) {
        if expected != found {
            differences.push(state_difference(name, expected, found));
        }
    }
    differences.extend(entry_differences(expected, found, form));
    let tolerance = tolerance(expected.net());
    if let (Some(expected), Some(found)) = (&expected.forward, &found.forward) {
        differences.extend(forward_difference(expected, found, outputs, tolerance));
    }
    differences
}

/// The largest difference of an output from the expected one.
pub(super) fn distance(expected: &Forward, found: &Forward) -> Option<f64> {
    let (
        Forward::Output {
            data, reference, ..
        },
        Forward::Output { data: found, .. },
    ) = (expected, found)
    else {
        return None;
    };
    let pairs = reference.as_ref().unwrap_or(data).iter().zip(found);
    Some(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max))
}

fn state_difference(name: &str, expected: &str, found: &str) -> String {
    let parsed = (
        python_text::json_loads(expected),
        python_text::json_loads(found),
    );
    if let (Ok(left), Ok(right)) = parsed
        && let Some(place) = first_difference(name, &left, &right)
    {
        return place;
    }
    format!("{name}: expected the text `{expected}`, found `{found}`")
}

/// The path of the first value that differs, and both values.
fn first_difference(path: &str, expected: &Value, found: &Value) -> Option<String> {
    let differ = || {
        let (expected, found) = (
            python_text::json_dumps(expected),
            python_text::json_dumps(found),
        );
        (expected != found).then(|| format!("{path}: expected `{expected}`, found `{found}`"))
    };
    match (expected, found) {
        (Value::Map(left), Value::Map(right)) if left.keys().eq(right.keys()) => left
            .iter()
            .zip(right.iter())
            .find_map(|((key, a), (_, b))| first_difference(&format!("{path}.{key}"), a, b)),
        (Value::List(left), Value::List(right)) if left.len() == right.len() => left
            .iter()
            .zip(right)
            .enumerate()
            .find_map(|(at, (a, b))| first_difference(&format!("{path}[{at}]"), a, b)),
        _ => differ(),
    }
}

fn entry_differences(expected: &Facts, found: &Facts, form: Form) -> Vec<String> {
    let mut left: Vec<&Entry> = expected.entries.iter().collect();
    if form == Form::SafeTensors {
        left.sort_by(|a, b| a.name.cmp(&b.name));
    }
    let names = |entries: &[&Entry]| -> Vec<String> {
        entries.iter().map(|entry| entry.name.clone()).collect()
    };
    let right: Vec<&Entry> = found.entries.iter().collect();
    let (expected_names, found_names) = (names(&left), names(&right));
    if expected_names != found_names {
        return vec![format!(
            "tensor names: expected {expected_names:?}, found {found_names:?}"
        )];
    }
    let mut differences: Vec<String> = left
        .iter()
        .zip(&right)
        .filter_map(|(a, b)| entry_difference(a, b, form))
        .collect();
    if form == Form::Pickle && storages(expected) != storages(found) {
        differences.push(format!(
            "shared storages: expected {:?}, found {:?}",
            storages(expected),
            storages(found)
        ));
    }
    differences
}

/// A number for each tensor, equal for tensors of one storage, counted from the first.
fn storages(facts: &Facts) -> Vec<usize> {
    let mut seen = Vec::new();
    facts
        .tensors()
        .map(|(_, tensor)| {
            let storage = tensor.layout.storage;
            seen.iter()
                .position(|&known| known == storage)
                .unwrap_or_else(|| {
                    seen.push(storage);
                    seen.len() - 1
                })
        })
        .collect()
}

fn entry_difference(expected: &Entry, found: &Entry, form: Form) -> Option<String> {
    let name = &expected.name;
    match (&expected.content, &found.content) {
        (Content::Object(a), Content::Object(b)) => (a != b).then(|| state_difference(name, a, b)),
        (Content::Tensor(a), Content::Tensor(b)) => {
            tensor_difference(a, b, form).map(|what| format!("tensor `{name}`: {what}"))
        }
        _ => Some(format!(
            "`{name}`: a tensor on one side, another object on the other"
        )),
    }
}

fn tensor_difference(a: &TensorFacts, b: &TensorFacts, form: Form) -> Option<String> {
    let expected = |what: &str, a: &dyn std::fmt::Debug, b: &dyn std::fmt::Debug| {
        Some(format!("{what}: expected {a:?}, found {b:?}"))
    };
    if a.dtype != b.dtype {
        return expected("dtype", &a.dtype, &b.dtype);
    }
    if a.shape != b.shape {
        return expected("shape", &a.shape, &b.shape);
    }
    if a.sha256 != b.sha256 {
        return value_difference(a, b).or_else(|| expected("sha256", &a.sha256, &b.sha256));
    }
    if form == Form::SafeTensors {
        return None;
    }
    if a.layout.strides != b.layout.strides {
        return expected("strides", &a.layout.strides, &b.layout.strides);
    }
    if a.layout.offset != b.layout.offset {
        return expected("offset", &a.layout.offset, &b.layout.offset);
    }
    match (a.class, b.class) {
        (Some(left), Some(right)) if left != right => {
            expected("(is a parameter, requires grad)", &left, &right)
        }
        _ => None,
    }
}

/// The first element that differs.
fn value_difference(a: &TensorFacts, b: &TensorFacts) -> Option<String> {
    let (left, right) = (a.bytes.as_ref()?, b.bytes.as_ref()?);
    let elements: usize = a.shape.iter().product();
    let size = left.len().checked_div(elements)?;
    let pairs = left.chunks(size.max(1)).zip(right.chunks(size.max(1)));
    let (at, (left, right)) = pairs.enumerate().find(|(_, (left, right))| left != right)?;
    let (left, right) = (element(&a.dtype, left), element(&b.dtype, right));
    Some(format!("element {at}: expected {left}, found {right}"))
}

/// An element as a number if Rust has the type, else as its little-endian bytes.
fn element(dtype: &str, bytes: &[u8]) -> String {
    let number = match (dtype, bytes) {
        ("float64", &[a, b, c, d, e, f, g, h]) => {
            Some(f64::from_le_bytes([a, b, c, d, e, f, g, h]).to_string())
        }
        ("float32", &[a, b, c, d]) => Some(f32::from_le_bytes([a, b, c, d]).to_string()),
        // A bfloat16 is the upper half of a float32.
        ("bfloat16", &[a, b]) => Some(f32::from_le_bytes([0, 0, a, b]).to_string()),
        _ => None,
    };
    match number {
        Some(number) => format!("{number} (bytes {})", hex(bytes)),
        None => format!("bytes {}", hex(bytes)),
    }
}

fn forward_difference(
    expected: &Forward,
    found: &Forward,
    outputs: Outputs,
    tolerance: f64,
) -> Option<String> {
    let (left, right) = match (expected, found) {
        (Forward::Refused(_), Forward::Refused(_)) => return None,
        (Forward::Output { .. }, Forward::Refused(why)) => {
            return Some(format!(
                "forward: expected an output, the model was refused: {why}"
            ));
        }
        (Forward::Refused(why), Forward::Output { .. }) => {
            return Some(format!(
                "forward: expected a refusal ({why}), found an output"
            ));
        }
        (
            Forward::Output {
                shape,
                data,
                reference,
            },
            Forward::Output {
                shape: found,
                data: values,
                ..
            },
        ) => {
            if shape != found {
                return Some(format!("output shape: expected {shape:?}, found {found:?}"));
            }
            (
                reference
                    .as_ref()
                    .filter(|_| outputs == Outputs::Close)
                    .unwrap_or(data),
                values,
            )
        }
    };
    if left.len() != right.len() {
        return Some(format!(
            "output: expected {} values, found {}",
            left.len(),
            right.len()
        ));
    }
    let equal = |a: f64, b: f64| match outputs {
        Outputs::Exact => a.to_bits() == b.to_bits(),
        Outputs::Close => (a - b).abs() <= tolerance || a.is_nan() && b.is_nan() || a == b,
    };
    let mut pairs = left.iter().zip(right).enumerate();
    let (at, (a, b)) = pairs.find(|(_, (a, b))| !equal(**a, **b))?;
    Some(format!("output element {at}: expected {a}, found {b}"))
}

#[cfg(test)]
mod tests;
