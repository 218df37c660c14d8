//! Work on several threads.

/// How many multiplications or copies are worth the start of another thread.
pub(crate) const GRAIN: usize = 1 << 15;

/// The number of parts into which work of `size` operations is divided: at most one for each thread,
/// and none smaller than [`GRAIN`].
pub(crate) fn parts(size: usize) -> usize {
    (size / GRAIN).clamp(1, rayon::current_num_threads())
}

/// Runs the tasks, the first one on this thread, and waits for all.
pub(crate) fn each<T: Send>(tasks: impl IntoIterator<Item = T>, run: impl Fn(T) + Sync) {
    let mut tasks = tasks.into_iter();
    let Some(first) = tasks.next() else { return };
    let run = &run;
    rayon::in_place_scope(|scope| {
        for task in tasks {
            scope.spawn(move |_| run(task));
        }
        run(first);
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
                *number += at + 1
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
