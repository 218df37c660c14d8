//! VIT: a vision transformer that encodes images.

use candle_core::{DType, Tensor, Var};
use nnx_params::{NNViTParams, Nets};

use super::Net;
use super::block::Block;
use super::conv::fan_in;
use super::rms_norm::RmsNorm;
use crate::error::{Error, Result};
use crate::init::Init;
use crate::inputs::{wrong_count, wrong_dtype, wrong_shape};
use crate::kernels::cpu::Cpu;
use crate::kernels::linear::linear;
use crate::mode::Mode;
use crate::param_builder::ParamBuilder;
use crate::parameters::Parameters;

/// Patches as tokens after a class token, blocks of attention and feed-forward layer, and a norm. The
/// outputs are features `[N, patches + 1, d]`, not logits.
///
/// Parameters: `cls_token [1, 1, d]`, `pos_embed [1, patches + 1, d]`,
/// `patch_embed.weight [d, C, p, p]`, `patch_embed.bias [d]`, the blocks as those of TRANSFORMER,
/// and `norm_out.weight`.
#[derive(Debug)]
pub(super) struct Vit {
    params: NNViTParams,
    class: Var,
    positions: Var,
    patches: Var,
    patch_bias: Var,
    blocks: Vec<Block>,
    norm: RmsNorm,
    parameters: Parameters,
}

impl Vit {
    /// Builds the net.
    ///
    /// # Errors
    /// When a parameter cannot be made.
    pub(super) fn new(params: &NNViTParams, mut builder: ParamBuilder<'_>) -> Result<Self> {
        let (width, patch, channels) =
            (params.d_model(), params.patch_size(), params.in_channels());
        builder.reserve(["cls_token", "pos_embed"].map(str::to_owned));
        builder.module("patch_embed");
        let fan_in = fan_in(channels, patch)?;
        let patches = builder.parameter(
            "patch_embed.weight".to_owned(),
            &[width, channels, patch, patch],
            Init::KaimingUniform { fan_in },
        )?;
        let patch_bias = builder.parameter(
            "patch_embed.bias".to_owned(),
            &[width],
            Init::FanInUniform { fan_in },
        )?;
        // NNx truncates this normal distribution at 100 standard deviations, which changes nothing.
        let init = Init::Normal { std: 0.02 };
        let tokens = params.n_patches().saturating_add(1);
        let positions = builder.parameter("pos_embed".to_owned(), &[1, tokens, width], init)?;
        let class = builder.parameter("cls_token".to_owned(), &[1, 1, width], init)?;
        let blocks = Block::stack(params.n_layers(), params.into(), &mut builder)?;
        Ok(Self {
            params: params.clone(),
            class,
            positions,
            patches,
            patch_bias,
            blocks,
            norm: RmsNorm::new("norm_out", width, &mut builder)?,
            parameters: builder.finish()?,
        })
    }

    /// The patches of images `[N, C, S, S]` as tokens `[N, patches, d]`.
    fn patches(&self, images: &Tensor, mode: &mut Mode<'_>) -> Result<Tensor> {
        let params = &self.params;
        let (size, patch, channels) = (
            params.image_size(),
            params.patch_size(),
            params.in_channels(),
        );
        if images.dtype() != DType::F32 {
            return Err(wrong_dtype(Nets::Vit, self.expected(), images));
        }
        let count = match images.dims() {
            &[count, c, h, w] if count > 0 && (c, h, w) == (channels, size, size) => count,
            _ => return Err(wrong_shape(Nets::Vit, self.expected(), images)),
        };
        let side = size / patch;
        let rows = images
            .reshape((count, channels, side, patch, side * patch))?
            .reshape(vec![count, channels, side, patch, side, patch])?
            .permute(vec![0, 2, 4, 1, 3, 5])?
            .reshape((count * side * side, channels * patch * patch))?;
        let weight = mode.value(&self.patches).flatten_from(1)?;
        let bias = mode.value(&self.patch_bias);
        let tokens = linear(Cpu::new(), &rows, &weight, Some(&bias), false)?;
        let tokens = tokens.reshape((count, side * side, params.d_model()))?;
        mode.note(mode.noted(), "patch_embed", "Conv2d", &tokens);
        Ok(tokens)
    }

    fn expected(&self) -> String {
        let (channels, size) = (self.params.in_channels(), self.params.image_size());
        format!("at least one float32 image of shape `[{channels}, {size}, {size}]`")
    }
}

/// The tokens that a mask `[N, patches]` keeps; it must keep the same number in every row.
fn kept(tokens: &Tensor, mask: &Tensor) -> Result<Tensor> {
    let (count, patches, width) = tokens.dims3()?;
    let expected = || {
        format!(
            "a uint8 mask of shape `[{count}, {patches}]` that keeps the same number of patches of every \
             image"
        )
    };
    if mask.dtype() != DType::U8 {
        return Err(wrong_dtype(Nets::Vit, expected(), mask));
    }
    if mask.dims() != [count, patches] {
        return Err(wrong_shape(Nets::Vit, expected(), mask));
    }
    let mask = mask.to_vec2::<u8>()?;
    let counts: Vec<usize> = mask
        .iter()
        .map(|row| row.iter().filter(|keep| **keep != 0).count())
        .collect();
    let first = counts.first().copied().unwrap_or_default();
    if counts.iter().any(|count| *count != first) {
        let found = format!("one that keeps `{counts:?}`");
        return Err(Error::input(Nets::Vit.value(), expected(), found));
    }
    let places: Vec<u32> = (0..)
        .zip(mask.iter().flatten())
        .filter(|(_, keep)| **keep != 0)
        .map(|(place, _)| place)
        .collect();
    let places = Tensor::new(places, tokens.device())?;
    let rows = tokens.reshape((count * patches, width))?;
    Ok(rows
        .index_select(&places, 0)?
        .reshape((count, first, width))?)
}

impl Net for Vit {
    fn kind(&self) -> Nets {
        Nets::Vit
    }

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn forward(&self, inputs: &[Tensor], mode: &mut Mode<'_>) -> Result<Tensor> {
        let (images, mask) = match inputs {
            [images] => (images, None),
            [images, mask] => (images, Some(mask)),
            _ => return Err(wrong_count(Nets::Vit, self.expected(), inputs)),
        };
        let patches = self.patches(images, mode)?;
        let (count, tokens, width) = patches.dims3()?;
        let positions = mode.value(&self.positions);
        let mut patches = patches.broadcast_add(&positions.narrow(1, 1, tokens)?)?;
        if let Some(mask) = mask {
            patches = kept(&patches, mask)?;
        }
        let class = (mode.value(&self.class) + positions.narrow(1, 0, 1)?)?;
        let class = class.broadcast_as((count, 1, width))?;
        let mut xs = Tensor::cat(&[class, patches], 1)?;
        for block in &self.blocks {
            xs = block.forward(&xs, None, mode)?;
        }
        self.norm.forward(&xs, mode)
    }
}
