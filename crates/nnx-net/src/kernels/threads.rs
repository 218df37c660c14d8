//! Work on several threads.

use std::sync::{Mutex, PoisonError};

/// How many multiplications or copies are worth the start of another thread.
const GRAIN: usize = 1 << 15;

/// The number of parts into which work of `size` operations is divided: at most one for each thread,
/// and none smaller than [`GRAIN`].
pub(crate) fn parts(size: usize) -> usize {
    (size / GRAIN).clamp(1, rayon::current_num_threads())
}

/// Runs the tasks on all threads, this one included, and waits for all. A thread takes a task when it
/// has finished one, so that a thread that is late holds up nothing.
pub(crate) fn each<T: Send>(
    tasks: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator + Send>,
    run: impl Fn(T) + Sync,
) {
    let tasks = tasks.into_iter();
    let others = rayon::current_num_threads()
        .min(tasks.len())
        .saturating_sub(1);
    if others == 0 {
        return tasks.for_each(run);
    }
    let tasks = Mutex::new(tasks);
    let next = || tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(task) = next() {
            run(task);
        }
    };
    rayon::in_place_scope(|scope| {
        for _ in 0..others {
            scope.spawn(|_| work());
        }
        work();
    });
}

#[cfg(test)]
mod tests {
    use super::{GRAIN, each, parts};

    #[test]
    fn every_task_runs_once() {
        for count in [0, 1, 2, 5] {
            let mut numbers = vec![0; count];
            each(numbers.iter_mut().enumerate(), |(at, number)| {
                *number += at + 1;
            });
            assert!(numbers.iter().copied().eq(1..=count), "{numbers:?}");
        }
    }

    #[test]
    fn little_work_stays_on_one_thread() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build();
        pool.unwrap().install(|| {
            assert_eq!([0, GRAIN, 2 * GRAIN, 9 * GRAIN].map(parts), [1, 1, 2, 3]);
        });
    }
}
