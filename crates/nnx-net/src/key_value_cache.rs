//! What a transformer keeps of the tokens it has seen.

use candle_core::{D, Tensor};

use crate::error::{Error, Result};

/// The keys and values of the tokens that a transformer has seen, so that each new token costs one
/// position alone.
///
/// One cache belongs to one sequence, or one batch of sequences of equal length, and to one model.
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

    /// How many tokens of each sequence it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forgets all tokens.
    pub fn clear(&mut self) {
        self.layers.clear();
        self.len = 0;
    }

    /// Checks that the cache is one of a net with as many layers, for a batch of that size.
    ///
    /// # Errors
    /// When it is not.
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

    /// Adds keys and values `[N, heads, T, size]` to a layer, and gives all of that layer.
    ///
    /// Every layer gets the same tokens before [`advance`](Self::advance) counts them.
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

    /// Counts tokens that every layer has got.
    pub(crate) fn advance(&mut self, tokens: usize) {
        self.len += tokens;
    }
}

/// Room for `capacity` positions, of which the first `len` are copied.
fn grown(of: &Tensor, len: usize, capacity: usize) -> Result<Tensor> {
    let (count, heads, _, size) = of.dims4()?;
    let grown = Tensor::zeros((count, heads, capacity, size), of.dtype(), of.device())?;
    if len > 0 {
        grown.slice_set(&of.narrow(2, 0, len)?.contiguous()?, 2, 0)?;
    }
    Ok(grown)
}
