//! Colours and shapes of lines.
//!
//! Colour is never the only difference: the lines of each series also have marks of another shape.

use crate::scene::{Ink, Stroke};

/// The number of colours. The next series gets the first colour again, with another shape.
pub(crate) const SERIES: usize = 6;

/// Colours for a light and a dark background, as `#rrggbb`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Theme {
    pub(crate) paper: &'static str,
    text: &'static str,
    muted: &'static str,
    grid: &'static str,
    axis: &'static str,
    series: [&'static str; SERIES],
}

/// The hues of the two themes are those of Okabe and Ito, which colour-blind people can
/// distinguish, made darker or lighter until their contrast with the background is high enough.
pub(crate) const LIGHT: Theme = Theme {
    paper: "#ffffff",
    text: "#1b1f23",
    muted: "#57606a",
    grid: "#e3e6ea",
    axis: "#8c959f",
    series: [
        "#0072b2", "#c44e00", "#00785a", "#a8467e", "#8a6500", "#3f3f46",
    ],
};
pub(crate) const DARK: Theme = Theme {
    paper: "#14171a",
    text: "#e8eaed",
    muted: "#a5adb5",
    grid: "#2b3137",
    axis: "#6b747d",
    series: [
        "#56b4e9", "#ff8f3f", "#2cc795", "#e79bc6", "#e6c229", "#d4d4d8",
    ],
};

impl Theme {
    /// The colour of an ink.
    pub(crate) fn colour(&self, ink: Ink) -> &'static str {
        match ink {
            Ink::Paper => self.paper,
            Ink::Text => self.text,
            Ink::Muted => self.muted,
            Ink::Grid => self.grid,
            Ink::Axis => self.axis,
            Ink::Series(number) => self
                .series
                .get(number % SERIES)
                .copied()
                .unwrap_or(self.text),
        }
    }
}

/// Lengths of dashes and gaps.
const DASH: [f64; 2] = [6.0, 4.0];

/// How a line of a series is drawn. If there is only one series, its solid and its dashed lines
/// also differ in colour.
pub(crate) fn stroke(series: usize, count: usize, is_dashed: bool) -> Stroke {
    let colour = match (count, is_dashed) {
        (1, true) => 1,
        _ => series % SERIES,
    };
    Stroke {
        ink: Ink::Series(colour),
        width: 1.75,
        dash: if is_dashed { &DASH } else { &[] },
    }
}

/// The outline of a series' mark around the origin. Series have different marks until all pairs of
/// colour and shape are used.
pub(crate) fn mark(series: usize, is_dashed: bool) -> Vec<(f64, f64)> {
    const SHAPES: usize = 7;
    let radius = if is_dashed { 3.0 } else { 3.4 };
    let regular = |corners: usize, turn: f64, radius: f64| -> Vec<(f64, f64)> {
        let corner = |index: usize| {
            let angle = turn + std::f64::consts::TAU * index as f64 / corners as f64;
            (radius * angle.sin(), -radius * angle.cos())
        };
        (0..corners).map(corner).collect()
    };
    let eighth = std::f64::consts::FRAC_PI_4;
    match (series % SERIES + series / SERIES) % SHAPES {
        0 => regular(16, 0.0, radius),
        1 => regular(4, eighth, radius * 1.25),
        2 => regular(3, 0.0, radius * 1.4),
        3 => regular(4, 0.0, radius * 1.4),
        4 => regular(3, 4.0 * eighth, radius * 1.4),
        5 => star(5, radius * 1.6),
        _ => star(4, radius * 1.6),
    }
}

fn star(points: usize, radius: f64) -> Vec<(f64, f64)> {
    let corner = |index: usize| {
        let angle = std::f64::consts::PI * index as f64 / points as f64;
        let radius = if index.is_multiple_of(2) {
            radius
        } else {
            radius * 0.45
        };
        (radius * angle.sin(), -radius * angle.cos())
    };
    (0..2 * points).map(corner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contrast of two colours by WCAG 2.2.
    fn contrast(a: &str, b: &str) -> f64 {
        let luminance = |colour: &str| {
            let part = |from: usize| {
                let byte = u8::from_str_radix(&colour[from..from + 2], 16).unwrap();
                let value = f64::from(byte) / 255.0;
                if value <= 0.04045 {
                    value / 12.92
                } else {
                    ((value + 0.055) / 1.055).powf(2.4)
                }
            };
            0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// WCAG 2.2 asks for 4.5 of text and 3 of lines.
    #[test]
    fn everything_stands_out_from_its_ground() {
        for theme in [LIGHT, DARK] {
            for (ink, least) in [(Ink::Text, 7.0), (Ink::Muted, 4.5), (Ink::Axis, 3.0)] {
                let contrast = contrast(theme.colour(ink), theme.paper);
                assert!(contrast >= least, "{ink:?}: {contrast}");
            }
            for number in 0..SERIES {
                let contrast = contrast(theme.colour(Ink::Series(number)), theme.paper);
                assert!(contrast >= 4.5, "{number}: {contrast}");
            }
        }
    }

    #[test]
    fn the_first_series_differ_in_colour_or_shape() {
        let look = |series: usize| (stroke(series, 2, false).ink, mark(series, false));
        for a in 0..SERIES * 7 {
            for b in 0..a {
                assert_ne!(look(a), look(b), "{a} and {b}");
            }
        }
    }
}
