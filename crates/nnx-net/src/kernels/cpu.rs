//! The instructions and the threads that a kernel uses.

use pulp::{Arch, WithSimd};

use super::threads;

/// The instructions and the number of threads that a kernel may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cpu {
    arch: Arch,
    threads: usize,
}

impl Cpu {
    /// The best instructions of this processor, and all threads.
    pub(crate) fn new() -> Self {
        Self {
            arch: Arch::new(),
            threads: rayon::current_num_threads(),
        }
    }

    /// The instructions that every processor has, and all threads.
    #[cfg(test)]
    pub(crate) fn portable() -> Self {
        Self {
            arch: Arch::Scalar,
            ..Self::new()
        }
    }

    /// The same instructions on the calling thread only.
    pub(crate) fn on_one_thread(self) -> Self {
        Self { threads: 1, ..self }
    }

    /// The parts into which work of `size` operations is divided: at most one for each thread.
    pub(crate) fn parts(self, size: usize) -> usize {
        threads::parts(size).min(self.threads)
    }

    /// The number of rows that one thread gets of `count`, where each costs that many operations; at
    /// least one.
    pub(crate) fn rows_per_thread(self, count: usize, cost: usize) -> usize {
        let parts = self.parts(count.saturating_mul(cost));
        count.div_ceil(parts).max(1)
    }

    /// Runs tasks, on several threads if it may; see [`threads::each`].
    pub(crate) fn each<T: Send>(
        self,
        tasks: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator + Send>,
        run: impl Fn(T) + Sync,
    ) {
        if self.threads == 1 {
            tasks.into_iter().for_each(run);
        } else {
            threads::each(tasks, run);
        }
    }

    /// Runs an operation with the instructions. What is to be compiled for them is `#[inline(always)]`.
    pub(crate) fn dispatch<O: WithSimd>(self, operation: O) -> O::Output {
        self.arch.dispatch(operation)
    }
}
