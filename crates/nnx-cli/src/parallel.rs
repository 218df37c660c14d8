//! Work on several threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// With more threads than this, each only waits for the disk.
const MAX_THREADS: usize = 8;

/// Calls `work` for each item, on as many threads as there are cores. The results are in the order
/// of the items.
///
/// # Errors
/// The error of the first item, in their order, whose work failed. Items that were not started by
/// then are skipped.
pub(crate) fn map<T, R, E>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E>
where
    T: Sync,
    R: Send,
    E: Send,
{
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = threads.min(MAX_THREADS).min(items.len());
    if threads <= 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else {
                return done;
            };
            let result = work(item);
            if result.is_err() {
                // No thread starts another item.
                next.fetch_max(items.len(), Ordering::Relaxed);
            }
            done.push((index, result));
        }
    };
    let mut done = thread::scope(|scope| {
        let workers: Vec<_> = (1..threads).map(|_| scope.spawn(take)).collect();
        let mut done = take();
        for worker in workers {
            match worker.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<usize> = (0..1000).collect();
        let doubled = map(&items, |item| Ok::<_, ()>(item * 2)).unwrap();
        assert!(
            doubled
                .iter()
                .enumerate()
                .all(|(index, item)| *item == index * 2)
        );
        assert_eq!(map(&[], |item: &u8| Err::<(), _>(*item)), Ok(vec![]));
    }

    #[test]
    fn a_failure_ends_the_work() {
        let items: Vec<usize> = (0..1000).collect();
        let result = map(&items, |item| if *item == 3 { Err(*item) } else { Ok(()) });
        assert_eq!(result, Err(3));
    }
}
