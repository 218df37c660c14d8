//! Dropout.

use candle_core::Tensor;

use crate::error::{Error, Result};
use crate::mode::Mode;
use crate::rng::Generator;

/// Inverted dropout, as `torch.nn.functional.dropout`: in training each element becomes zero with
/// probability `p`, and the others are multiplied by `1 / (1 - p)`; in evaluation the elements are
/// unchanged.
///
/// The elements dropped are those that PyTorch drops: the mode's generator is asked once for each
/// element, in the order of the elements in memory, and not at all where `p` is 0 or 1.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use nnx_net::{Generator, Mode, dropout};
///
/// // torch.manual_seed(7); F.dropout(torch.full((4,), 3.), 0.4)
/// let xs = Tensor::new(&[3_f32; 4], &Device::Cpu)?;
/// let ys = dropout(&xs, 0.4, &mut Mode::Train(&mut Generator::new(7)))?;
/// assert_eq!(ys.to_vec1::<f32>()?, [5.0, 5.0, 0.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When `p` is no probability, there is no memory for the mask, or candle fails.
pub fn dropout(xs: &Tensor, p: f64, mode: &mut Mode<'_>) -> Result<Tensor> {
    let Mode::Train(generator) = mode else {
        return Ok(xs.clone());
    };
    if !(0.0..=1.0).contains(&p) {
        return Err(Error::configuration(format!(
            "dropout takes a probability from `0` to `1`, got `{p}`"
        )));
    }
    if p == 0.0 || xs.elem_count() == 0 {
        return Ok(xs.clone());
    }
    if p == 1.0 {
        // A product, as in PyTorch: NaN and infinity become NaN.
        return Ok((xs * xs.zeros_like()?)?);
    }
    // The axes from the outermost to the innermost in memory.
    let mut axes: Vec<usize> = (0..xs.rank()).collect();
    axes.sort_by_key(|axis| std::cmp::Reverse(xs.stride()[*axis]));
    let shape: Vec<usize> = axes.iter().map(|axis| xs.dims()[*axis]).collect();
    let noise = noise(xs.elem_count(), 1.0 - p, generator)?;
    let mut noise = Tensor::from_vec(noise, shape, xs.device())?.to_dtype(xs.dtype())?;
    if !axes.is_sorted() {
        let mut places = vec![0; axes.len()];
        for (place, axis) in axes.into_iter().enumerate() {
            places[axis] = place;
        }
        noise = noise.permute(places)?;
    }
    Ok((xs * noise)?)
}

/// The factors of `count` elements: zero for a dropped one, and `1 / keep` for the others.
fn noise(count: usize, keep: f64, generator: &mut Generator) -> Result<Vec<f32>> {
    let mut noise = Vec::new();
    noise.try_reserve_exact(count).map_err(|_| {
        Error::unsupported(format!(
            "there is no memory for a mask of `{count}` elements"
        ))
    })?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "PyTorch divides a mask of float32 by the probability in float32"
    )]
    let kept = 1.0 / keep as f32;
    noise.extend((0..count).map(|_| if generator.bernoulli(keep) { kept } else { 0.0 }));
    Ok(noise)
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::*;

    #[track_caller]
    fn check(xs: &[f32], p: f64, expected: &[f32]) {
        let mut generator = Generator::new(0);
        let xs = Tensor::new(xs, &Device::Cpu).unwrap();
        let ys = dropout(&xs, p, &mut Mode::Train(&mut generator)).unwrap();
        assert_eq!(
            format!("{:?}", ys.to_vec1::<f32>().unwrap()),
            format!("{expected:?}")
        );
    }

    #[test]
    fn the_ends_of_the_range_need_no_mask() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        // torch.nn.Dropout(0.0) and torch.nn.Dropout(1.0) of the same tensor.
        check(&[1.0, inf, nan, -2.0], 0.0, &[1.0, inf, nan, -2.0]);
        check(&[1.0, inf, nan, -2.0], 1.0, &[0.0, nan, nan, -0.0]);
    }

    #[test]
    fn evaluation_changes_nothing() {
        let xs = Tensor::new(&[1_f32, 2.0], &Device::Cpu).unwrap();
        let ys = dropout(&xs, 1.0, &mut Mode::Eval).unwrap();
        assert_eq!(ys.to_vec1::<f32>().unwrap(), [1.0, 2.0]);
    }

    #[test]
    fn nothing_is_drawn_where_nothing_is_decided() {
        for (count, p) in [(3, 0.0), (3, 1.0), (0, 0.5)] {
            let mut generator = Generator::new(7);
            let xs = Tensor::full(3_f32, count, &Device::Cpu).unwrap();
            dropout(&xs, p, &mut Mode::Train(&mut generator)).unwrap();
            assert_eq!(generator.to_state(), Generator::new(7).to_state());
        }
    }

    #[test]
    fn other_floats_are_dropped_alike() {
        // torch.manual_seed(7); F.dropout(torch.full((4,), 3., dtype=dtype), 0.4), the same for both
        for dtype in [DType::F64, DType::BF16] {
            let mut generator = Generator::new(7);
            let xs = Tensor::full(3_f32, 4, &Device::Cpu).unwrap();
            let xs = xs.to_dtype(dtype).unwrap();
            let ys = dropout(&xs, 0.4, &mut Mode::Train(&mut generator)).unwrap();
            assert_eq!(ys.dtype(), dtype);
            let ys = ys.to_dtype(DType::F32).unwrap().to_vec1::<f32>().unwrap();
            let kept: Vec<bool> = ys.iter().map(|y| *y != 0.0).collect();
            assert_eq!(kept, [true, true, false, false], "{ys:?}");
        }
    }

    #[test]
    fn what_is_no_probability_is_refused() {
        let xs = Tensor::full(3_f32, 4, &Device::Cpu).unwrap();
        for p in [-0.1, 1.1, f64::NAN] {
            assert!(dropout(&xs, p, &mut Mode::Train(&mut Generator::new(0))).is_err());
        }
    }

    #[test]
    fn more_elements_than_memory_holds_are_refused() {
        assert!(noise(usize::MAX, 0.5, &mut Generator::new(0)).is_err());
    }
}
