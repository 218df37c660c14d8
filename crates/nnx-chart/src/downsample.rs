//! Lines with more points than a picture has columns.

/// The number of groups per unit of length; the points of one group are reduced together.
const COLUMNS_A_UNIT: f64 = 2.0;

/// The points with which the line looks the same: of each group the first and the last, the lowest
/// and the highest. Points are in order from left to right.
pub(crate) fn downsampled(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return points;
    };
    let columns = (last.0 - first.0) * COLUMNS_A_UNIT;
    if points.len() as f64 <= columns * 4.0 || points.len() <= 4 {
        return points;
    }
    let column = |point: &(f64, f64)| (point.0 * COLUMNS_A_UNIT).floor();
    let mut kept = Vec::new();
    for chunk in points.chunk_by(|a, b| column(a) == column(b)) {
        let places = 0..chunk.len();
        let height = |place: &usize| chunk.get(*place).map_or(0.0, |point| point.1);
        let lowest = places
            .clone()
            .min_by(|a, b| height(a).total_cmp(&height(b)));
        let highest = places.max_by(|a, b| height(a).total_cmp(&height(b)));
        let mut keep = [Some(0), lowest, highest, chunk.len().checked_sub(1)];
        keep.sort_unstable();
        let mut before = None;
        for place in keep.into_iter().flatten() {
            if before.replace(place) != Some(place) {
                kept.extend(chunk.get(place));
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_points_stay() {
        let points: Vec<(f64, f64)> = (0..100).map(|x| (f64::from(x), 1.0)).collect();
        assert_eq!(downsampled(points.clone()), points);
        assert_eq!(downsampled(Vec::new()), []);
    }

    #[test]
    fn of_many_the_extremes_stay() {
        let value = |number: u32| match number {
            5000 => 100.0,
            7000 => -100.0,
            number => f64::from(number % 7),
        };
        let points = (0..10_000).map(|number| (f64::from(number) / 1000.0, value(number)));
        let points: Vec<(f64, f64)> = points.collect();
        let kept = downsampled(points.clone());
        assert!(kept.len() <= 21 * 4, "{}", kept.len());
        assert!(kept.contains(&(5.0, 100.0)) && kept.contains(&(7.0, -100.0)));
        assert_eq!((kept.first(), kept.last()), (points.first(), points.last()));
        assert!(kept.is_sorted_by(|a, b| a.0 <= b.0));
    }
}
