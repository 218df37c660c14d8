//! Decisions taken from an input.

/// The bytes of an input as a supply of decisions; when they run out, every decision is 0.
#[derive(Debug)]
pub(crate) struct Supply<'a>(&'a [u8]);

impl<'a> Supply<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
    }

    pub(crate) fn bool(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// A number below `bound`, which is at least 1.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let wide = usize::from(self.byte());
        let wide = if bound > 256 {
            wide << 8 | usize::from(self.byte())
        } else {
            wide
        };
        wide % bound
    }

    pub(crate) fn number(&mut self) -> u64 {
        let mut bytes = [0; 8];
        // Short numbers are the usual ones.
        let length = self.below(9);
        bytes
            .iter_mut()
            .take(length)
            .for_each(|byte| *byte = self.byte());
        u64::from_le_bytes(bytes)
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.byte()).collect()
    }

    /// A short text, now and then of characters that are no ASCII.
    pub(crate) fn text(&mut self) -> String {
        const RARE: &[char] = &[
            'é', 'ÿ', '\u{100}', '中', '😀', '\n', '\0', '"', '\\', '\u{feff}',
        ];
        let length = self.below(6);
        (0..length)
            .map(|_| match self.byte() {
                byte @ 0..0x80 => char::from(byte),
                byte => RARE[usize::from(byte) % RARE.len()],
            })
            .collect()
    }
}
