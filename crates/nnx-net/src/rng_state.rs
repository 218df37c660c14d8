//! The state of a generator in the bytes of `torch.get_rng_state()`.

use crate::error::{Error, Result};
use crate::rng::{Generator, STATE_WORDS};

/// The fields of a state, in order, all little-endian. `left` and `next` say twice how much of the
/// block is drawn: `left` is one more than what is left.
const SEED: usize = 8;
const LEFT: usize = 4;
const SEEDED: usize = 4;
const NEXT: usize = 8;
const WORDS: usize = STATE_WORDS * 8;
/// Of three float64 of the normal numbers only the second is used.
const UNUSED: usize = 8;
const NORMAL: usize = 8;
const FLAG: usize = 4;
const PADDING: usize = 4;
const FLOAT_NORMAL: usize = 4;
const FLOAT_FLAG: usize = 4;

impl Generator {
    /// The number of bytes of a state.
    pub const STATE_BYTES: usize = SEED
        + LEFT
        + SEEDED
        + NEXT
        + WORDS
        + UNUSED
        + NORMAL
        + UNUSED
        + FLAG
        + PADDING
        + FLOAT_NORMAL
        + FLOAT_FLAG;

    /// The state, in the [`STATE_BYTES`](Self::STATE_BYTES) of `torch.get_rng_state()`.
    ///
    /// ```
    /// use nnx_net::Generator;
    ///
    /// let mut generator = Generator::new(3);
    /// generator.next_u32();
    /// let mut again = Generator::from_state(&generator.to_state())?;
    /// assert_eq!(again.next_u32(), generator.next_u32());
    /// # Ok::<(), nnx_net::Error>(())
    /// ```
    pub fn to_state(&self) -> Vec<u8> {
        let (left, next) = if self.is_untouched {
            (1, 0)
        } else {
            (STATE_WORDS - self.next + 1, self.next)
        };
        let mut bytes = Vec::with_capacity(Self::STATE_BYTES);
        bytes.extend(self.seed.to_le_bytes());
        bytes.extend((left as u32).to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend((next as u64).to_le_bytes());
        for word in self.state {
            bytes.extend(u64::from(word).to_le_bytes());
        }
        bytes.extend([0; UNUSED]);
        bytes.extend(self.next_normal.unwrap_or_default().to_le_bytes());
        bytes.extend([0; UNUSED]);
        bytes.extend(u32::from(self.next_normal.is_some()).to_le_bytes());
        bytes.extend([0; PADDING]);
        bytes.extend(self.next_float_normal.unwrap_or_default().to_le_bytes());
        bytes.extend(u32::from(self.next_float_normal.is_some()).to_le_bytes());
        bytes
    }

    /// The generator with that state.
    ///
    /// # Errors
    /// When the bytes are not such a state.
    pub fn from_state(bytes: &[u8]) -> Result<Self> {
        let mut fields = Fields { bytes, at: 0 };
        if bytes.len() != Self::STATE_BYTES {
            return Err(wrong(
                format!("`{}` bytes", Self::STATE_BYTES),
                format!("`{}`", bytes.len()),
            ));
        }
        let seed = u64::from_le_bytes(fields.take()?);
        let left = u32::from_le_bytes(fields.take()?) as usize;
        let seeded = u32::from_le_bytes(fields.take()?);
        let next = u64::from_le_bytes(fields.take()?);
        let is_untouched = (left, next) == (1, 0);
        let next = if is_untouched {
            STATE_WORDS
        } else {
            usize::try_from(next)
                .ok()
                .filter(|next| (1..=STATE_WORDS).contains(next) && left == STATE_WORDS - next + 1)
                .ok_or_else(|| {
                    let expected = "a position `next` and what is `left` after it".to_owned();
                    wrong(expected, format!("next `{next}` with left `{left}`"))
                })?
        };
        if seeded != 1 {
            return Err(wrong("the flag `seeded`".to_owned(), format!("`{seeded}`")));
        }
        let mut state = [0; STATE_WORDS];
        for word in &mut state {
            let value = u64::from_le_bytes(fields.take()?);
            *word = u32::try_from(value)
                .map_err(|_| wrong("words of 32 bits".to_owned(), format!("`{value}`")))?;
        }
        fields.take::<UNUSED>()?;
        let normal = f64::from_le_bytes(fields.take()?);
        fields.take::<UNUSED>()?;
        let has_normal = u32::from_le_bytes(fields.take()?) != 0;
        fields.take::<PADDING>()?;
        let float_normal = f32::from_le_bytes(fields.take()?);
        let [has_float_normal, ..] = fields.take::<FLOAT_FLAG>()?;
        Ok(Self {
            seed,
            state,
            next,
            is_untouched,
            next_normal: has_normal.then_some(normal),
            next_float_normal: (has_float_normal != 0).then_some(float_normal),
        })
    }
}

/// Reads fields one after the other.
struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let field = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk);
        self.at += N;
        field.copied().ok_or_else(|| {
            let found = format!("`{}`", self.bytes.len());
            wrong(format!("`{}` bytes", Generator::STATE_BYTES), found)
        })
    }
}

#[cold]
fn wrong(expected: String, found: String) -> Error {
    Error::configuration(format!(
        "the state of a generator has {expected}, found {found}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `torch.manual_seed(2**40 + 3); torch.randn(count)`, then the last 40 bytes of the state.
    #[track_caller]
    fn check_normal(count: usize, draws: (u32, u64), expected: &str) {
        let mut generator = Generator::new((1 << 40) + 3);
        generator.normal_vec(count, 1.0).unwrap();
        let state = generator.to_state();
        assert_eq!(state.len(), 5056);
        assert_eq!(state[..8], ((1_u64 << 40) + 3).to_le_bytes());
        assert_eq!(state[8..12], draws.0.to_le_bytes());
        assert_eq!(state[16..24], draws.1.to_le_bytes());
        let tail: String = state[24 + WORDS..]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(tail, expected);
        let mut again = Generator::from_state(&state).unwrap();
        assert_eq!(again.to_state(), state);
        assert_eq!(
            again.normal_vec(3, 1.0).unwrap(),
            generator.normal_vec(3, 1.0).unwrap()
        );
    }

    #[test]
    fn the_second_normal_number_is_part_of_the_state() {
        check_normal(
            1,
            (621, 4),
            "000000000000000052f430cdf060c63f000000000000000001000000000000000000000000000000",
        );
        check_normal(
            3,
            (617, 8),
            "0000000000000000663e85f293a3e3bf000000000000000001000000000000000000000000000000",
        );
        check_normal(
            2,
            (621, 4),
            "00000000000000000000000000000000000000000000000000000000000000000000000000000000",
        );
    }

    #[track_caller]
    fn check_refused(at: usize, value: &[u8], found: &str) {
        let mut generator = Generator::new(1);
        generator.next_u32();
        let mut state = generator.to_state();
        state[at..at + value.len()].copy_from_slice(value);
        let error = Generator::from_state(&state).unwrap_err().to_string();
        assert!(error.ends_with(found), "{error}");
    }

    #[test]
    fn what_is_no_state_is_refused() {
        check_refused(8, &[0], "found next `1` with left `512`");
        check_refused(16, &[2], "found next `2` with left `624`");
        check_refused(16, &[0; 8], "found next `0` with left `624`");
        check_refused(16, &[255; 8], "with left `624`");
        check_refused(12, &[0], "found `0`");
        check_refused(24, &[0, 0, 0, 0, 1, 0, 0, 0], "found `4294967296`");
        for length in [0, 8, 5055, 5057] {
            let error = Generator::from_state(&vec![0; length]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("the state of a generator has `5056` bytes, found `{length}`")
            );
        }
    }

    #[test]
    fn a_state_drawn_empty_is_not_a_state_only_seeded() {
        let seeded = Generator::new(4);
        let mut drawn = seeded.clone();
        (0..STATE_WORDS).for_each(|_| {
            drawn.next_u32();
        });
        for (generator, draws) in [(seeded, [1, 0]), (drawn, [1, 0x70])] {
            let state = generator.to_state();
            assert_eq!([state[8], state[16]], draws);
            let mut again = Generator::from_state(&state).unwrap();
            assert_eq!(again.to_state(), state);
            assert_eq!(again.next_u32(), generator.clone().next_u32());
        }
    }
}
