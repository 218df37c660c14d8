//! How text is generated.

/// Options of [`GenerativeNNModel::generate`](crate::GenerativeNNModel::generate).
///
/// ```
/// use nnx_net::GenerateOptions;
///
/// let options = GenerateOptions::new().temperature(0.0).stop(["\n"]);
/// assert_eq!(options.max_new_tokens, 64);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GenerateOptions {
    /// The number of tokens that are added at most. Default: 64.
    pub max_new_tokens: usize,
    /// The logits are divided by this; 0 always takes the token with the largest logit, and higher
    /// values give more variety. At least 0. Default: 1.
    pub temperature: f64,
    /// Only tokens with one of the `top_k` largest logits are drawn. At least 1. Default: all tokens.
    pub top_k: Option<usize>,
    /// Only the most probable tokens are drawn, as many as are needed to reach this probability
    /// together. Above 0, at most 1. Default: all tokens.
    pub top_p: Option<f64>,
    /// Tokens that have occurred become less probable, the more the further this is above 1. At
    /// least 1. Default: 1, which changes nothing.
    pub repetition_penalty: f64,
    /// Generation ends when the added text contains one of these. Default: none.
    pub stop: Vec<String>,
    /// The seed of the random numbers: with the same seed the same tokens are drawn. They are not the
    /// tokens that PyTorch draws, because its `multinomial` uses another generator. Default: another
    /// seed for each call.
    pub seed: Option<u64>,
    /// Whether keys and values of earlier tokens are kept; without them each token costs a pass over
    /// the whole text. Default: yes.
    pub use_cache: bool,
}

impl GenerateOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`max_new_tokens`](Self::max_new_tokens).
    #[must_use]
    pub fn max_new_tokens(mut self, count: usize) -> Self {
        self.max_new_tokens = count;
        self
    }

    /// Sets [`temperature`](Self::temperature).
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = temperature;
        self
    }

    /// Sets [`top_k`](Self::top_k).
    #[must_use]
    pub fn top_k(mut self, count: impl Into<Option<usize>>) -> Self {
        self.top_k = count.into();
        self
    }

    /// Sets [`top_p`](Self::top_p).
    #[must_use]
    pub fn top_p(mut self, probability: impl Into<Option<f64>>) -> Self {
        self.top_p = probability.into();
        self
    }

    /// Sets [`repetition_penalty`](Self::repetition_penalty).
    #[must_use]
    pub fn repetition_penalty(mut self, penalty: f64) -> Self {
        self.repetition_penalty = penalty;
        self
    }

    /// Sets [`stop`](Self::stop).
    #[must_use]
    pub fn stop<T: Into<String>>(mut self, texts: impl IntoIterator<Item = T>) -> Self {
        self.stop = texts.into_iter().map(Into::into).collect();
        self
    }

    /// Sets [`seed`](Self::seed).
    #[must_use]
    pub fn seed(mut self, seed: impl Into<Option<u64>>) -> Self {
        self.seed = seed.into();
        self
    }

    /// Sets [`use_cache`](Self::use_cache).
    #[must_use]
    pub fn use_cache(mut self, use_cache: bool) -> Self {
        self.use_cache = use_cache;
        self
    }
}

impl Default for GenerateOptions {
    fn default() -> Self {
        Self {
            max_new_tokens: 64,
            temperature: 1.0,
            top_k: None,
            top_p: None,
            repetition_penalty: 1.0,
            stop: Vec::new(),
            seed: None,
            use_cache: true,
        }
    }
}
