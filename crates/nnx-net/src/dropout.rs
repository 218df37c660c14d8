//! Dropout.

use candle_core::Tensor;

use crate::error::{Error, Result};
use crate::mode::Mode;

/// Inverted dropout: in training each element becomes zero with probability `p`, and the others are
/// multiplied by `1 / (1 - p)`; in evaluation the elements are unchanged.
///
/// The elements dropped follow from the mode's generator. They are not those that PyTorch would
/// drop, whose masks come from another generator than its weights.
///
/// # Errors
/// When there is no memory for the mask, or candle fails.
pub(crate) fn dropout(xs: &Tensor, p: f64, mode: &mut Mode<'_>) -> Result<Tensor> {
    let Mode::Train(generator) = mode else {
        return Ok(xs.clone());
    };
    if p == 0.0 {
        return Ok(xs.clone());
    }
    if p == 1.0 {
        // A product, as in PyTorch: NaN and infinity become NaN.
        return Ok((xs * xs.zeros_like()?)?);
    }
    let mut mask = Vec::new();
    let count = xs.elem_count();
    mask.try_reserve_exact(count).map_err(|_| {
        Error::unsupported(format!(
            "there is no memory for a mask of `{count}` elements"
        ))
    })?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the factor is applied in float32, as the activations are"
    )]
    let kept = (1.0 / (1.0 - p)) as f32;
    mask.extend((0..count).map(|_| {
        let unit = f64::from(generator.next_u32()) / 4_294_967_296.0;
        if unit < p { 0.0 } else { kept }
    }));
    let mask = Tensor::from_vec(mask, xs.shape(), xs.device())?;
    Ok((xs * mask)?)
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;
    use crate::rng::Generator;

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
    fn what_is_kept_grows_so_that_the_mean_stays() {
        for p in [0.1, 0.25, 0.5, 0.9] {
            let mut generator = Generator::new(7);
            let xs = Tensor::full(3_f32, (100, 1000), &Device::Cpu).unwrap();
            let ys = dropout(&xs, p, &mut Mode::Train(&mut generator)).unwrap();
            let ys = ys.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            let kept: Vec<_> = ys.iter().copied().filter(|y| *y != 0.0).collect();
            let factor = (1.0 / (1.0 - p)) as f32;
            assert!(kept.iter().all(|y| *y == 3.0 * factor), "p = {p}");
            let share = kept.len() as f64 / ys.len() as f64;
            // Five standard deviations of the share of 100,000 independent elements.
            let tolerance = 5.0 * (p * (1.0 - p) / 100_000.0).sqrt();
            assert!(
                (share - (1.0 - p)).abs() < tolerance,
                "p = {p}: kept {share}"
            );
        }
    }

    #[test]
    fn the_generator_decides_alone() {
        let run = |seed| {
            let mut generator = Generator::new(seed);
            let xs = Tensor::full(1_f32, 64, &Device::Cpu).unwrap();
            let ys = dropout(&xs, 0.5, &mut Mode::Train(&mut generator)).unwrap();
            ys.to_vec1::<f32>().unwrap()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}
