//! The instructions that a kernel runs with.

use pulp::{Arch, WithSimd};

/// Runs a kernel with the best instructions that the processor has.
pub(crate) fn dispatch<K: WithSimd>(kernel: K) -> K::Output {
    #[cfg(test)]
    if portable::is_chosen() {
        return kernel.with_simd(pulp::Scalar);
    }
    Arch::new().dispatch(kernel)
}

/// Lets tests run kernels without the processor's own instructions.
#[cfg(test)]
pub(crate) mod portable {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, PoisonError};

    static IS_CHOSEN: AtomicBool = AtomicBool::new(false);
    static TURN: Mutex<()> = Mutex::new(());

    pub(super) fn is_chosen() -> bool {
        IS_CHOSEN.load(Ordering::SeqCst)
    }

    /// What a function gives with the portable instructions, if `portable`, or with the best ones.
    pub(crate) fn run<R>(portable: bool, function: impl FnOnce() -> R) -> R {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        IS_CHOSEN.store(portable, Ordering::SeqCst);
        let result = function();
        IS_CHOSEN.store(false, Ordering::SeqCst);
        result
    }
}
