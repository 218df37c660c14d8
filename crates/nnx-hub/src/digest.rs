//! The hashes of files in a repository.

use std::fmt;
use std::io::{self, Read};

use sha1::{Digest as _, Sha1};
use sha2::Sha256;

/// The hash of a file, as the Hub states it: the SHA-256 of a large file, the SHA-1 of git for any
/// other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Digest {
    /// The SHA-256 of the bytes, in lower-case hexadecimal digits.
    Sha256(String),
    /// The SHA-1 of git's header and the bytes, in lower-case hexadecimal digits.
    GitSha1(String),
}

impl Digest {
    /// Reads a SHA-256 of 64 hexadecimal digits.
    pub(crate) fn sha256(hex: &str) -> Option<Self> {
        is_hex(hex, 64).then(|| Self::Sha256(hex.to_owned()))
    }

    /// Reads a SHA-1 of 40 hexadecimal digits.
    pub(crate) fn git_sha1(hex: &str) -> Option<Self> {
        is_hex(hex, 40).then(|| Self::GitSha1(hex.to_owned()))
    }

    /// Reads a hash and decides by the number of digits which kind it is, as for file names in the
    /// cache.
    pub(crate) fn from_hex(hex: &str) -> Option<Self> {
        Self::sha256(hex).or_else(|| Self::git_sha1(hex))
    }

    /// The hexadecimal digits; they are also the file name in the cache.
    pub fn hex(&self) -> &str {
        match self {
            Self::Sha256(hex) | Self::GitSha1(hex) => hex,
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sha256(hex) => write!(f, "sha256 {hex}"),
            Self::GitSha1(hex) => write!(f, "git sha1 {hex}"),
        }
    }
}

/// Whether a text is that many lower-case hexadecimal digits.
pub(crate) fn is_hex(text: &str, digits: usize) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == digits && text.bytes().all(is_digit)
}

/// A hash that is being computed.
#[derive(Clone, Debug)]
pub(crate) enum Hasher {
    Sha256(Sha256),
    GitSha1(Sha1),
}

impl Hasher {
    /// A hasher of the kind of the given hash, for a file of that many bytes.
    pub(crate) fn new(digest: &Digest, bytes: u64) -> Self {
        match digest {
            Digest::Sha256(_) => Self::sha256(),
            Digest::GitSha1(_) => Self::git_sha1(bytes),
        }
    }

    /// A hasher for a large file.
    pub(crate) fn sha256() -> Self {
        Self::Sha256(Sha256::new())
    }

    /// A hasher for any other file, of that many bytes.
    pub(crate) fn git_sha1(bytes: u64) -> Self {
        Self::GitSha1(Sha1::new_with_prefix(format!("blob {bytes}\0")))
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::GitSha1(hasher) => hasher.update(bytes),
        }
    }

    pub(crate) fn finish(self) -> Digest {
        match self {
            Self::Sha256(hasher) => Digest::Sha256(hex(&hasher.finalize())),
            Self::GitSha1(hasher) => Digest::GitSha1(hex(&hasher.finalize())),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The number of bytes that are read at a time.
const CHUNK_BYTES: usize = 128 << 10;

/// Passes all bytes of a reader to `each`, piece by piece.
pub(crate) fn for_each_chunk(
    reader: &mut dyn Read,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => each(buffer.get(..read).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The hash of the bytes of a reader.
pub(crate) fn hash(reader: &mut dyn Read, mut hasher: Hasher) -> io::Result<Digest> {
    for_each_chunk(reader, |chunk| {
        hasher.update(chunk);
        Ok(())
    })?;
    Ok(hasher.finish())
}

/// Whether the bytes of a reader have the given hash.
pub(crate) fn matches(reader: &mut dyn Read, digest: &Digest, bytes: u64) -> io::Result<bool> {
    Ok(hash(reader, Hasher::new(digest, bytes))? == *digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_git_and_sha256sum() {
        // `printf hello | git hash-object --stdin`, `printf hello | sha256sum`.
        let sha256 = hash(&mut &b"hello"[..], Hasher::sha256()).unwrap();
        let sha1 = hash(&mut &b"hello"[..], Hasher::git_sha1(5)).unwrap();
        assert_eq!(sha1.hex(), "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0");
        assert_eq!(
            sha256.hex(),
            "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
        );
        assert!(matches(&mut &b"hello"[..], &sha1, 5).unwrap());
        assert!(!matches(&mut &b"hellp"[..], &sha256, 5).unwrap());
    }

    #[test]
    fn only_hexadecimal_digits_are_a_hash() {
        assert_eq!(Digest::from_hex("../../etc/passwd"), None);
        assert_eq!(Digest::sha256(&"A".repeat(64)), None);
        assert!(Digest::from_hex(&"a".repeat(40)).is_some());
    }
}
