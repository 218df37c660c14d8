//! Tensors as JSON.

use nnx::net::candle_core::{DType, Tensor};
use serde::ser::{Serialize, SerializeSeq, Serializer};

use super::failures::computing;
use crate::failure::Failure;

/// The elements of a tensor, nested like its axes.
///
/// Floats have the fewest digits that read back as the same float32. NaN and the infinities are the
/// texts `NaN`, `Infinity` and `-Infinity`.
#[derive(Debug)]
pub(super) struct Nested {
    shape: Vec<usize>,
    elements: Elements,
}

#[derive(Debug)]
enum Elements {
    Floats(Vec<f32>),
    Integers(Vec<i64>),
}

impl Nested {
    pub(super) fn new(tensor: &Tensor) -> Result<Self, Failure> {
        let flat = tensor.flatten_all().map_err(computing)?;
        let elements = if flat.dtype() == DType::I64 {
            flat.to_vec1().map(Elements::Integers)
        } else {
            flat.to_vec1().map(Elements::Floats)
        };
        Ok(Self {
            shape: tensor.dims().to_vec(),
            elements: elements.map_err(computing)?,
        })
    }
}

impl Serialize for Nested {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.elements {
            Elements::Floats(values) => Level(&self.shape, values).serialize(serializer),
            Elements::Integers(values) => Level(&self.shape, values).serialize(serializer),
        }
    }
}

/// The elements along the remaining axes.
struct Level<'a, T>(&'a [usize], &'a [T]);

impl<T: Element> Serialize for Level<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(shape, values) = self;
        let Some((&length, rest)) = shape.split_first() else {
            return match values.first() {
                Some(value) => value.write(serializer),
                None => serializer.serialize_none(),
            };
        };
        let size = values.len().checked_div(length).unwrap_or_default();
        let mut sequence = serializer.serialize_seq(Some(length))?;
        for index in 0..length {
            let part = values.get(index * size..(index + 1) * size);
            sequence.serialize_element(&Level(rest, part.unwrap_or_default()))?;
        }
        sequence.end()
    }
}

trait Element {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
}

impl Element for i64 {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(*self)
    }
}

impl Element for f32 {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_finite() {
            serializer.serialize_f32(*self)
        } else {
            crate::json::float(f64::from(*self), serializer)
        }
    }
}

#[cfg(test)]
mod tests {
    use nnx::net::candle_core::Device;

    use super::*;

    #[track_caller]
    fn check(tensor: &Tensor, expected: &str) {
        let nested = Nested::new(tensor).unwrap();
        assert_eq!(serde_json::to_string(&nested).unwrap(), expected);
    }

    #[test]
    fn axes_are_nested() {
        let device = &Device::Cpu;
        check(
            &Tensor::new(&[[1_i64, -2], [3, 4]], device).unwrap(),
            "[[1,-2],[3,4]]",
        );
        check(&Tensor::new(&[0.1_f32, 2.0], device).unwrap(), "[0.1,2.0]");
        check(&Tensor::new(7_i64, device).unwrap(), "7");
        let empty = Tensor::zeros((2, 0), DType::F32, device).unwrap();
        check(&empty, "[[],[]]");
    }

    #[test]
    fn what_is_no_number_is_a_text() {
        let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        check(
            &Tensor::new(&odd, &Device::Cpu).unwrap(),
            r#"["NaN","Infinity","-Infinity"]"#,
        );
    }
}
