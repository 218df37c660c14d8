//! The cache of a transformer for the tokens that it has processed.

use candle_core::{D, Tensor};

use crate::error::{Error, Result};

/// The keys and values of the tokens that a transformer has processed, so that only the new tokens
/// are computed.
///
/// A cache belongs to one model, and to one sequence or one batch of sequences of equal length.
/// See [`NNModel::forward_with_cache`](crate::NNModel::forward_with_cache).
#[derive(Clone, Debug, Default)]
pub struct KeyValueCache {
    layers: Vec<CachedLayer>,
    len: usize,
}

/// Keys and values `[N, heads, capacity, size]`, of which the first positions are set.
#[derive(Clone, Debug)]
struct CachedLayer {
    keys: Tensor,
    values: Tensor,
}

impl KeyValueCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of tokens of each sequence in the cache.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes all tokens.
    pub fn clear(&mut self) {
        self.layers.clear();
        self.len = 0;
    }

    /// Checks that the cache is empty, or fits a net with that many layers and a batch of that size.
    ///
    /// # Errors
    /// When it does not.
    pub(crate) fn check(&self, layers: usize, batch: usize) -> Result<()> {
        let found = match self.layers.first() {
            None => return Ok(()),
            Some(layer) => layer.keys.dim(0)?,
        };
        if self.layers.len() == layers && found == batch {
            return Ok(());
        }
        Err(Error::input(
            "transformer",
            format!("a cache of `{layers}` layers and `{batch}` sequences"),
            format!(
                "one of `{}` layers and `{found}` sequences",
                self.layers.len()
            ),
        ))
    }

    /// Adds keys and values `[N, heads, T, size]` to a layer, and returns all of that layer.
    ///
    /// Every layer must get the same tokens before [`advance`](Self::advance) counts them.
    ///
    /// # Errors
    /// When candle fails.
    pub(crate) fn extend(
        &mut self,
        layer: usize,
        keys: &Tensor,
        values: &Tensor,
        most: usize,
    ) -> Result<(Tensor, Tensor)> {
        let end = self.len + keys.dim(D::Minus2)?;
        match self.layers.get_mut(layer) {
            Some(layer) if layer.keys.dim(D::Minus2)? < end => {
                let capacity = end.max(2 * layer.keys.dim(D::Minus2)?).min(most);
                layer.keys = grown(&layer.keys, self.len, capacity)?;
                layer.values = grown(&layer.values, self.len, capacity)?;
            }
            Some(_) => {}
            None => self.layers.push(CachedLayer {
                keys: grown(keys, 0, end)?,
                values: grown(values, 0, end)?,
            }),
        }
        let Some(layer) = self.layers.get(layer) else {
            return Err(Error::unsupported("the layers of a cache grow in order"));
        };
        layer.keys.slice_set(keys, 2, self.len)?;
        layer.values.slice_set(values, 2, self.len)?;
        Ok((
            layer.keys.narrow(2, 0, end)?,
            layer.values.narrow(2, 0, end)?,
        ))
    }

    /// Counts tokens that were added to every layer.
    pub(crate) fn advance(&mut self, tokens: usize) {
        self.len += tokens;
    }
}

/// A tensor with space for `capacity` positions, the first `len` of which are copied.
fn grown(of: &Tensor, len: usize, capacity: usize) -> Result<Tensor> {
    let (count, heads, _, size) = of.dims4()?;
    let grown = Tensor::zeros((count, heads, capacity, size), of.dtype(), of.device())?;
    if len > 0 {
        grown.slice_set(&of.narrow(2, 0, len)?.contiguous()?, 2, 0)?;
    }
    Ok(grown)
}
