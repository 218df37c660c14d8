//! Widths and outlines of letters: to measure texts, and to draw them in PNG files.
//!
//! The table contains the letters that charts need. With it, a text has the same width on every
//! machine, and neither a font nor a crate that reads fonts is needed.

use std::collections::HashMap;
use std::sync::OnceLock;

/// The font is a wide one: a text that fits in it also fits in nearly every other font.
const TABLE: &str = include_str!("font_metrics.txt");
/// The number of units of the outlines in the height of a line.
const UNITS: f64 = 2048.0;
/// The replacement for a letter that is not in the table.
const OTHER: char = '\u{fffd}';

struct Glyph {
    advance: f64,
    #[cfg_attr(
        not(feature = "png"),
        expect(dead_code, reason = "only pictures of pixels draw it")
    )]
    outline: &'static str,
}

fn glyph(character: char) -> Option<&'static Glyph> {
    static GLYPHS: OnceLock<HashMap<char, Glyph>> = OnceLock::new();
    let glyphs = GLYPHS.get_or_init(|| TABLE.lines().filter_map(parsed).collect());
    glyphs.get(&character).or_else(|| glyphs.get(&OTHER))
}

/// A line of the table: code point, advance, outline.
fn parsed(line: &'static str) -> Option<(char, Glyph)> {
    let mut parts = line.splitn(3, ' ');
    let character = char::from_u32(u32::from_str_radix(parts.next()?, 16).ok()?)?;
    let advance: f64 = parts.next()?.parse().ok()?;
    let outline = parts.next().unwrap_or_default();
    Some((character, Glyph { advance, outline }))
}

/// The width of a text of that size.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let glyphs = text.chars().filter_map(glyph);
    glyphs.map(|glyph| glyph.advance).sum::<f64>() * size / UNITS
}

/// The largest factor by which the letters of a bold font are wider.
const BOLD: f64 = 1.13;

/// The width of a bold text of that size.
pub(crate) fn bold_width(text: &str, size: f64) -> f64 {
    width(text, size) * BOLD
}

/// The text in lines of at most that width, wrapped between words. A word that is longer than a
/// line is not split.
pub(crate) fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A step of an outline. The origin is the left end of the baseline, and y points downwards.
#[cfg(feature = "png")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    Move(f64, f64),
    Line(f64, f64),
    Curve(f64, f64, f64, f64),
    Close,
}

/// The outline of a text of that size, with the given distance between letters.
#[cfg(feature = "png")]
pub(crate) fn outline(text: &str, size: f64, apart: f64) -> Vec<Step> {
    let scale = size / UNITS;
    let mut steps = Vec::new();
    let mut left = 0.0;
    for glyph in text.chars().filter_map(glyph) {
        let mut numbers = Vec::new();
        let mut letter = None;
        for word in glyph.outline.split(' ').filter(|word| !word.is_empty()) {
            let mut digits = word;
            if let Some(first @ ('M' | 'L' | 'Q' | 'Z')) = word.chars().next() {
                letter = Some(first);
                digits = word.get(1..).unwrap_or_default();
            }
            numbers.extend(digits.parse::<f64>());
            let x = |number: f64| left + number * scale;
            let y = |number: f64| -number * scale;
            let step = match (letter, numbers.as_slice()) {
                (Some('M'), &[a, b]) => Step::Move(x(a), y(b)),
                (Some('L'), &[a, b]) => Step::Line(x(a), y(b)),
                (Some('Q'), &[a, b, c, d]) => Step::Curve(x(a), y(b), x(c), y(d)),
                (Some('Z'), _) => Step::Close,
                _ => continue,
            };
            steps.push(step);
            numbers.clear();
        }
        left += glyph.advance * scale + apart;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_printable_letter() {
        for character in (' '..='~').chain(['–', '…', '·']) {
            let own = glyph(character).unwrap();
            let other = glyph(OTHER).unwrap();
            assert!(!std::ptr::eq(own, other), "{character}");
        }
        assert!(std::ptr::eq(glyph('模').unwrap(), glyph(OTHER).unwrap()));
    }

    /// The advance of every digit in DejaVu Sans is 1303 of 2048 units.
    #[test]
    fn a_text_is_as_wide_as_its_letters() {
        assert!((width("2026", 20.48) - 4.0 * 13.03).abs() < 1e-9);
        assert_eq!(width("", 12.0), 0.0);
    }

    #[test]
    fn lines_end_between_words() {
        let most = width("one two", 12.0);
        assert_eq!(
            wrapped("one two three four", 12.0, most),
            ["one two", "three", "four"]
        );
    }

    /// The outline of `-` in DejaVu Sans: a rectangle.
    #[cfg(feature = "png")]
    #[test]
    fn outlines_are_read() {
        let steps = outline("-", 2048.0, 0.0);
        assert_eq!(
            steps,
            [
                Step::Move(100.0, -643.0),
                Step::Line(639.0, -643.0),
                Step::Line(639.0, -479.0),
                Step::Line(100.0, -479.0),
                Step::Close
            ]
        );
    }
}
