//! The largest elements of a row, as PyTorch finds them on the CPU.

/// The indices of the `k` largest elements, the largest first; NaN is above all.
///
/// The choice among equal elements follows from the partition that PyTorch's `topk` runs, the
/// quickselect of the C++ library: a row of zeros has every router logit equal, and the experts
/// must be those that Python asks.
pub(super) fn top_k(row: &[f32], k: usize) -> Vec<u32> {
    let mut queue: Vec<(f32, u32)> = row.iter().copied().zip(0..).collect();
    if k == 0 || k > queue.len() {
        return Vec::new();
    }
    if k.saturating_mul(64) <= queue.len() {
        partial_sort(&mut queue, k);
    } else {
        select(&mut queue, k - 1);
        // A stable sort, as the C++ library runs it on up to 16 elements.
        queue[..k - 1].sort_by(|a, b| is_above(*b, *a).cmp(&is_above(*a, *b)));
    }
    queue.into_iter().take(k).map(|(_, index)| index).collect()
}

fn is_above((a, _): (f32, u32), (b, _): (f32, u32)) -> bool {
    (a.is_nan() && !b.is_nan()) || a > b
}

/// Brings the element that belongs at `nth` there, larger ones before it.
fn select(queue: &mut [(f32, u32)], nth: usize) {
    let (mut first, mut last) = (0, queue.len());
    let mut depth = 2 * queue.len().ilog2();
    while last - first > 3 {
        if depth == 0 {
            partial_sort(&mut queue[first..last], nth + 1 - first);
            return;
        }
        depth -= 1;
        let cut = partition(queue, first, last);
        if cut <= nth {
            first = cut;
        } else {
            last = cut;
        }
    }
    queue[first..last].sort_by(|a, b| is_above(*b, *a).cmp(&is_above(*a, *b)));
}

/// Splits a range by the median of its second, middle and last element.
fn partition(queue: &mut [(f32, u32)], first: usize, last: usize) -> usize {
    let (a, b, c) = (first + 1, first + (last - first) / 2, last - 1);
    let above = |x: usize, y: usize| is_above(queue[x], queue[y]);
    let median = match (above(a, b), above(b, c), above(a, c)) {
        (true, true, _) | (false, false, false) => b,
        (true, false, true) | (false, true, false) => c,
        (true, false, false) | (false, _, true) => a,
    };
    queue.swap(first, median);
    let pivot = queue[first];
    let (mut low, mut high) = (first + 1, last);
    loop {
        while is_above(queue[low], pivot) {
            low += 1;
        }
        high -= 1;
        while is_above(pivot, queue[high]) {
            high -= 1;
        }
        if low >= high {
            return low;
        }
        queue.swap(low, high);
        low += 1;
    }
}

/// Sorts the `k` largest to the front, by the heap of the C++ library.
fn partial_sort(queue: &mut [(f32, u32)], k: usize) {
    for top in (0..k / 2).rev() {
        sift(&mut queue[..k], top);
    }
    for i in k..queue.len() {
        if is_above(queue[i], queue[0]) {
            queue.swap(0, i);
            sift(&mut queue[..k], 0);
        }
    }
    for end in (1..k).rev() {
        queue.swap(0, end);
        sift(&mut queue[..end], 0);
    }
}

/// Restores the order of a heap, whose top is its smallest element, below `top`: the element there
/// sinks to a leaf and rises from it.
fn sift(heap: &mut [(f32, u32)], top: usize) {
    let value = heap[top];
    let mut hole = top;
    while 2 * hole + 1 < heap.len() {
        let (left, right) = (2 * hole + 1, 2 * hole + 2);
        let child = if right < heap.len() && !is_above(heap[right], heap[left]) {
            right
        } else {
            left
        };
        heap[hole] = heap[child];
        hole = child;
    }
    while hole > top && is_above(heap[(hole - 1) / 2], value) {
        heap[hole] = heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap[hole] = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(row: &[f32], k: usize, expected: &[u32]) {
        assert_eq!(top_k(row, k), expected, "{row:?}");
    }

    /// `torch.tensor([row]).topk(k).indices` of PyTorch 2.15.
    #[test]
    fn of_equal_elements_those_of_torch_are_taken() {
        for (count, two) in [
            (2, [0, 1]),
            (3, [0, 1]),
            (4, [2, 3]),
            (5, [2, 4]),
            (6, [3, 5]),
            (8, [6, 5]),
            (12, [9, 7]),
        ] {
            check(&vec![0.0; count], 2, &two);
        }
        let row = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0];
        check(&row[..4], 2, &[3, 0]);
        check(&row[..5], 3, &[0, 3, 2]);
        check(&row[..8], 3, &[3, 5, 0]);
        check(&row, 3, &[8, 5, 0]);
    }

    /// `sorted(torch.zeros(1, count).topk(k).indices[0].tolist())`
    #[test]
    fn of_many_equal_elements_those_of_torch_are_taken() {
        let sorted = |count, k| {
            let mut indices = top_k(&vec![0.0; count], k);
            indices.sort_unstable();
            indices
        };
        assert_eq!(sorted(40, 5), [25, 26, 27, 28, 29]);
        assert_eq!(sorted(64, 1), [0]);
        assert_eq!(sorted(65, 2), [42, 44]);
        assert_eq!(sorted(130, 2), [0, 1]);
        assert_eq!(sorted(200, 3), [0, 1, 2]);
        assert_eq!(sorted(300, 4), [0, 1, 2, 3]);
    }
}
