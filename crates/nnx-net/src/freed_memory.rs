//! Memory that is freed and soon needed again.

use std::hint::black_box;
use std::sync::Once;

/// The size of the block, which glibc has to take from the system: it does so for every size above its
/// threshold, and the largest threshold is 32 MiB.
const BLOCK: usize = 31 << 20;

/// Lets the process keep memory that it frees, up to 62 MiB, on Linux with glibc.
///
/// The tensors of a step of training are freed together. glibc gives memory above a threshold back to the
/// system, so that each step would get fresh pages, which the system clears one by one. The threshold is
/// twice the largest block that came from the system and was freed: here one that is never written, and
/// so takes no memory.
pub(crate) fn keep() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let mut block = Vec::<u8>::new();
        // Without that block everything works, only slower.
        let _ = block.try_reserve_exact(BLOCK);
        drop(black_box(block));
    });
}

#[cfg(test)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod tests {
    use std::fs;
    use std::hint::black_box;

    /// The pages that this thread got from the system so far.
    fn fresh_pages() -> usize {
        let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        fields.split_whitespace().nth(7).unwrap().parse().unwrap()
    }

    #[test]
    fn memory_that_was_freed_is_not_fresh() {
        super::keep();
        // More in each round than glibc keeps otherwise: twice the largest block.
        let round = || drop(black_box([(); 4].map(|()| vec![1_u8; 4 << 20])));
        round();
        let before = fresh_pages();
        (0..10).for_each(|_| round());
        let fresh = fresh_pages() - before;
        assert!(fresh < 4096, "{fresh} fresh pages, a round has 4096");
    }
}
