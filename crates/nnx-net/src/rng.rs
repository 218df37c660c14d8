//! PyTorch's random numbers on the CPU.

use crate::error::{Error, Result};

/// The words of a state.
pub(crate) const STATE_WORDS: usize = 624;
const SHIFT_WORDS: usize = 397;

/// PyTorch's CPU generator: the Mersenne Twister MT19937 with the state after
/// `torch.manual_seed(seed)`. The default one is that of a new `torch.Generator()`.
///
/// ```
/// use nnx_net::Generator;
///
/// // torch.manual_seed(0); torch.rand(2) -> 0.4962565899, 0.7682217956
/// let mut generator = Generator::new(0);
/// assert_eq!(generator.uniform(0.0, 1.0), 0.496_256_6);
/// assert_eq!(generator.uniform(0.0, 1.0), 0.768_221_8);
/// ```
#[derive(Clone)]
pub struct Generator {
    /// The seed as it was given.
    pub(crate) seed: u64,
    pub(crate) state: [u32; STATE_WORDS],
    /// How many words of the state were drawn; all of a state that was only seeded.
    pub(crate) next: usize,
    /// Whether nothing was drawn since the seed, which PyTorch's state tells from a state drawn empty.
    pub(crate) is_untouched: bool,
    /// The second of two normal numbers, kept for the next call.
    pub(crate) next_normal: Option<f64>,
    /// The same of numbers that PyTorch computed in float32; only its states have one.
    pub(crate) next_float_normal: Option<f32>,
}

impl Generator {
    /// The seed of a new `torch.Generator()`.
    pub const DEFAULT_SEED: u64 = 67_280_421_310_721;

    /// The generator after `torch.manual_seed(seed)`.
    ///
    /// As in PyTorch, only the low 32 bits of the seed are used.
    pub fn new(seed: u64) -> Self {
        let mut state = [0; STATE_WORDS];
        #[expect(
            clippy::cast_possible_truncation,
            reason = "PyTorch seeds the twister with the low 32 bits"
        )]
        let mut word = seed as u32;
        for (i, slot) in (0u32..).zip(&mut state) {
            if i > 0 {
                word = 1_812_433_253_u32
                    .wrapping_mul(word ^ (word >> 30))
                    .wrapping_add(i);
            }
            *slot = word;
        }
        Self {
            seed,
            state,
            next: STATE_WORDS,
            is_untouched: true,
            next_normal: None,
            next_float_normal: None,
        }
    }

    /// The seed that the generator was made with, all 64 bits of it: Python's `initial_seed()`.
    pub fn initial_seed(&self) -> u64 {
        self.seed
    }

    /// The next 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        if self.next == STATE_WORDS {
            self.twist();
            self.next = 0;
            self.is_untouched = false;
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// The next 64 random bits: two draws, the first of which is the high half.
    pub fn next_u64(&mut self) -> u64 {
        let high = u64::from(self.next_u32());
        high << 32 | u64::from(self.next_u32())
    }

    /// The next integer, as `torch.empty((), dtype=torch.int64).random_()` draws it: 63 bits of two
    /// draws. A loader of PyTorch draws its seeds so.
    pub fn next_i64(&mut self) -> i64 {
        (self.next_u64() & i64::MAX.unsigned_abs()).cast_signed()
    }

    /// Whether an event of probability `p` occurs, as `Tensor.bernoulli_(p)` draws it: two draws.
    pub fn bernoulli(&mut self, p: f64) -> bool {
        self.unit_f64() < p
    }

    /// A uniform float64 from 0 to 1: 53 bits of two draws.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a float64 exactly")]
    pub(crate) fn unit_f64(&mut self) -> f64 {
        (self.next_u64() & ((1 << 53) - 1)) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// The numbers below `count` in random order, as `torch.randperm(count)` gives them: one draw for
    /// each place but the last.
    ///
    /// # Errors
    /// When there are more numbers than PyTorch shuffles in this way, or no memory for them.
    pub fn permutation(&mut self, count: usize) -> Result<Vec<usize>> {
        if count >= MOST_SHUFFLED {
            return Err(Error::unsupported(format!(
                "a shuffle of `{count}` rows is not supported, PyTorch shuffles `{MOST_SHUFFLED}` or \
                 more in another way"
            )));
        }
        let mut order = Vec::new();
        order
            .try_reserve_exact(count)
            .map_err(|_| Error::unsupported(format!("there is no memory for `{count}` rows")))?;
        order.extend(0..count);
        for place in 0..count.saturating_sub(1) {
            let left = count - place;
            order.swap(place, place + self.next_u32() as usize % left);
        }
        Ok(order)
    }

    /// A uniform float32 from `low` to `high`, as `Tensor.uniform_` draws it: 24 bits of one draw,
    /// scaled by one fused multiply-add.
    pub fn uniform(&mut self, low: f32, high: f32) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "24 bits fit a float32 exactly")]
        let unit = (self.next_u32() & 0x00ff_ffff) as f32 * (1.0 / 16_777_216.0);
        unit.mul_add(high - low, low)
    }

    /// `count` uniform numbers in row-major order.
    ///
    /// # Errors
    /// When there is no memory for that many.
    pub(crate) fn uniform_vec(&mut self, count: usize, low: f32, high: f32) -> Result<Vec<f32>> {
        let mut values = Vec::new();
        values
            .try_reserve_exact(count)
            .map_err(|_| Error::unsupported(format!("there is no memory for `{count}` numbers")))?;
        values.extend((0..count).map(|_| self.uniform(low, high)));
        Ok(values)
    }

    /// Computes the next 624 words. Three loops, because an index by a remainder takes most of the
    /// time.
    fn twist(&mut self) {
        let state = &mut self.state;
        for i in 0..STATE_WORDS - SHIFT_WORDS {
            state[i] = state[i + SHIFT_WORDS] ^ mixed(state[i], state[i + 1]);
        }
        for i in STATE_WORDS - SHIFT_WORDS..STATE_WORDS - 1 {
            state[i] = state[i + SHIFT_WORDS - STATE_WORDS] ^ mixed(state[i], state[i + 1]);
        }
        let last = STATE_WORDS - 1;
        state[last] = state[SHIFT_WORDS - 1] ^ mixed(state[last], state[0]);
    }
}

/// The upper bit of a word and the lower bits of the next one, moved and masked.
fn mixed(word: u32, next: u32) -> u32 {
    let odd = 0x9908_b0df * (next & 1);
    (((word & 0x8000_0000) | (next & 0x7fff_ffff)) >> 1) ^ odd
}

/// From this many numbers on, PyTorch's `randperm` draws 64 bits for each of them.
const MOST_SHUFFLED: usize = (u32::MAX / 20) as usize;

impl Default for Generator {
    fn default() -> Self {
        Self::new(Self::DEFAULT_SEED)
    }
}

impl std::fmt::Debug for Generator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The 624 words would bury everything printed around them.
        f.debug_struct("Generator")
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    /// `torch.manual_seed(seed); sha256(torch.rand(count).numpy().tobytes())` of PyTorch 2.15.
    #[track_caller]
    fn check(seed: u64, count: usize, expected: &str) {
        let values = Generator::new(seed).uniform_vec(count, 0.0, 1.0).unwrap();
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let digest: String = Sha256::digest(bytes)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert_eq!(digest, expected);
    }

    #[test]
    fn uniform_numbers_are_those_of_torch_rand() {
        // 2000 numbers need the 624 words of the state four times.
        check(
            0,
            2000,
            "30e5b6e7396251b8a108a3693a5d88c3e65ab1fa25943b30a8d29cb3a20d47d9",
        );
        check(
            5,
            2000,
            "33dee09bd43268c0a5ad40f1dfea87a6d64903ad89cf63197c96b88c407abc6b",
        );
    }

    #[test]
    fn only_the_low_32_bits_of_a_seed_count() {
        let expected = "33dee09bd43268c0a5ad40f1dfea87a6d64903ad89cf63197c96b88c407abc6b";
        check((1 << 32) + 5, 2000, expected);
        // torch.manual_seed(-1)
        let expected = "2971d8fd03f60793a8146b2ac1302b294a0de65e3818c272aef5cfc597d41a5b";
        check(u64::MAX, 1, expected);
    }

    #[test]
    fn the_first_bits_are_those_of_torch_rand() {
        // torch.manual_seed(0); torch.rand(4).numpy().view(numpy.uint32)
        let mut generator = Generator::new(0);
        let bits: Vec<u32> = (0..4)
            .map(|_| generator.uniform(0.0, 1.0).to_bits())
            .collect();
        assert_eq!(bits, [0x3efe_1558, 0x3f44_aa2f, 0x3db5_33a8, 0x3e07_3300]);
    }

    #[test]
    fn more_numbers_than_memory_holds_are_refused() {
        assert!(Generator::new(0).uniform_vec(usize::MAX, 0.0, 1.0).is_err());
    }
}
