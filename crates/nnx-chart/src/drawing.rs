//! The parts of a chart that can be drawn: its points, split into segments without gaps.

use crate::chart::{Axes, Chart, Line};

/// A chart with the parts of its lines that have a position.
#[derive(Debug)]
pub(crate) struct Drawing<'a> {
    pub(crate) chart: &'a Chart,
    /// The axes with a line to draw; the first ones if no axes have one.
    pub(crate) axes: Vec<DrawnAxes<'a>>,
}

#[derive(Debug)]
pub(crate) struct DrawnAxes<'a> {
    pub(crate) axes: &'a Axes,
    pub(crate) lines: Vec<DrawnLine<'a>>,
}

#[derive(Debug)]
pub(crate) struct DrawnLine<'a> {
    pub(crate) line: &'a Line,
    /// Neighbours within a segment are joined; there is a gap between two segments.
    pub(crate) segments: Vec<Vec<(i64, f64)>>,
}

impl DrawnLine<'_> {
    pub(crate) fn points(&self) -> impl Iterator<Item = (i64, f64)> {
        self.segments.iter().flatten().copied()
    }
}

impl<'a> Drawing<'a> {
    pub(crate) fn new(chart: &'a Chart) -> Self {
        let drawn = chart.axes.iter().map(|axes| DrawnAxes {
            axes,
            lines: lines(axes, chart.log),
        });
        let (mut axes, mut empty): (Vec<_>, Vec<_>) =
            drawn.partition(|axes| !axes.lines.is_empty());
        if axes.is_empty() {
            empty.truncate(1);
            axes = empty;
        }
        Self { chart, axes }
    }

    /// All lines of all axes.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &DrawnLine<'a>> {
        self.axes.iter().flat_map(|axes| &axes.lines)
    }

    /// The first and the last number on the horizontal axis.
    pub(crate) fn x_range(&self) -> Option<(i64, i64)> {
        let mut numbers = self.lines().flat_map(DrawnLine::points).map(|(x, _)| x);
        let first = numbers.next()?;
        Some(numbers.fold((first, first), |(low, high), x| (low.min(x), high.max(x))))
    }
}

fn lines(axes: &Axes, log: bool) -> Vec<DrawnLine<'_>> {
    let lines = axes.lines.iter().map(|line| DrawnLine {
        line,
        segments: segments(&line.points, log),
    });
    lines.filter(|line| !line.segments.is_empty()).collect()
}

/// The points that have a position, split where a number or a value is missing.
fn segments(points: &[(i64, f64)], log: bool) -> Vec<Vec<(i64, f64)>> {
    let mut segments: Vec<Vec<(i64, f64)>> = Vec::new();
    let drawn = points.iter().copied();
    for (x, value) in drawn.filter(|(_, value)| value.is_finite() && !(log && *value <= 0.0)) {
        match segments.last_mut() {
            Some(segment) if segment.last().and_then(|last| last.0.checked_add(1)) == Some(x) => {
                segment.push((x, value));
            }
            _ => segments.push(vec![(x, value)]),
        }
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_off_where_something_is_missing() {
        let points = [
            (0, 1.0),
            (1, 2.0),
            (3, 3.0),
            (4, f64::NAN),
            (5, 0.0),
            (6, 4.0),
        ];
        assert_eq!(
            segments(&points, false),
            [
                vec![(0, 1.0), (1, 2.0)],
                vec![(3, 3.0)],
                vec![(5, 0.0), (6, 4.0)]
            ]
        );
        assert_eq!(
            segments(&points, true),
            [vec![(0, 1.0), (1, 2.0)], vec![(3, 3.0)], vec![(6, 4.0)]]
        );
        let ends = [(i64::MAX, 1.0), (i64::MIN, 1.0)];
        assert_eq!(segments(&ends, false).len(), 2);
    }

    #[test]
    fn axes_without_lines_are_left_out() {
        let empty = || Axes::new("empty").line(Line::solid(0, "a", [(0, f64::INFINITY)]));
        let chart = Chart::new("").axes(empty()).axes(empty());
        assert_eq!(Drawing::new(&chart).axes.len(), 1);
        let chart = chart.axes(Axes::new("full").line(Line::solid(0, "a", [(7, 1.0), (9, 2.0)])));
        let drawing = Drawing::new(&chart);
        assert_eq!(drawing.axes.len(), 1);
        assert_eq!(drawing.axes[0].axes.title, "full");
        assert_eq!(drawing.x_range(), Some((7, 9)));
    }
}
