//! PyTorch's random numbers on the CPU.

use crate::error::{Error, Result};

const STATE_WORDS: usize = 624;
const SHIFT_WORDS: usize = 397;

/// PyTorch's CPU generator: the Mersenne Twister MT19937 with the state after
/// `torch.manual_seed(seed)`.
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
    state: [u32; STATE_WORDS],
    next: usize,
    /// The second of two normal numbers, kept for the next call.
    pub(crate) next_normal: Option<f64>,
}

impl Generator {
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
            state,
            next: STATE_WORDS,
            next_normal: None,
        }
    }

    /// The next 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        if self.next == STATE_WORDS {
            self.twist();
            self.next = 0;
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
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

    /// Computes the next 624 words.
    fn twist(&mut self) {
        for i in 0..STATE_WORDS {
            let upper = self.state[i] & 0x8000_0000;
            let lower = self.state[(i + 1) % STATE_WORDS] & 0x7fff_ffff;
            let odd = if lower & 1 == 1 { 0x9908_b0df } else { 0 };
            let mixed = ((upper | lower) >> 1) ^ odd;
            self.state[i] = self.state[(i + SHIFT_WORDS) % STATE_WORDS] ^ mixed;
        }
    }
}

impl std::fmt::Debug for Generator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The 624 words would bury everything printed around them.
        f.debug_struct("Generator").finish_non_exhaustive()
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
