//! Dropout, by mode.

use candle_core::Tensor;

use crate::error::{Error, Result};
use crate::net::Mode;

/// Inverted dropout: in training each element becomes zero with probability `p`, and the others
/// grow by `1 / (1 - p)`; in evaluation nothing happens.
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
        return Ok(xs.affine(0.0, 0.0)?);
    }
    let mut mask = Vec::new();
    let count = xs.elem_count();
    mask.try_reserve_exact(count)
        .map_err(|_| Error::unsupported(format!("no memory for a mask of `{count}` elements")))?;
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
