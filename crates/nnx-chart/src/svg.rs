//! A picture as SVG.
//!
//! Colours for a light background are attributes, which every program understands. A style sheet
//! has the colours for a dark background, for readers that prefer one.

use std::fmt::Write as _;

use crate::chart::Chart;
use crate::figure;
use crate::palette::{DARK, LIGHT, SERIES};
use crate::scene::{Anchor, Element, Ink, Scene, Stroke, Text};

const FONT: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

/// The chart as an SVG file, which follows the reader's light or dark theme.
pub fn to_svg(chart: &Chart) -> String {
    let (scene, title) = (figure::scene(chart), chart.title.as_str());
    let mut out = open(&scene, title, "");
    let paper = LIGHT.paper;
    let _ = write!(
        out,
        "\n<title>{}</title>\n<style>@media (prefers-color-scheme: dark) {{ {} }}</style>\n\
         <rect class=\"fp\" width=\"100%\" height=\"100%\" fill=\"{paper}\"/>",
        escaped(title),
        dark_rules()
    );
    close(out, &scene)
}

/// The picture as a part of a page whose style sheet contains the [`dark_rules`].
pub(crate) fn part(scene: &Scene, title: &str, class: &str) -> String {
    close(open(scene, title, class), scene)
}

fn open(scene: &Scene, title: &str, class: &str) -> String {
    let class = match class {
        "" => String::new(),
        class => format!(" class=\"{class}\""),
    };
    let (width, height) = (length(scene.width), length(scene.height));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\"{class} viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{}\" font-family=\"{FONT}\" \
         fill=\"none\" stroke-linejoin=\"round\">",
        escaped(title)
    )
}

fn close(mut out: String, scene: &Scene) -> String {
    for element in &scene.elements {
        add(element, &mut out);
    }
    out.push_str("\n</svg>\n");
    out
}

/// The rules of a style sheet for a dark background.
pub(crate) fn dark_rules() -> String {
    let series = (0..SERIES).map(Ink::Series);
    let inks = [Ink::Paper, Ink::Text, Ink::Muted, Ink::Grid, Ink::Axis].into_iter();
    let rules = inks.chain(series).map(|ink| {
        let (class, colour) = (class(ink), DARK.colour(ink));
        format!(".f{class} {{ fill: {colour} }} .s{class} {{ stroke: {colour} }}")
    });
    rules.collect::<Vec<String>>().join(" ")
}

fn class(ink: Ink) -> String {
    match ink {
        Ink::Paper => "p".to_owned(),
        Ink::Text => "t".to_owned(),
        Ink::Muted => "m".to_owned(),
        Ink::Grid => "g".to_owned(),
        Ink::Axis => "a".to_owned(),
        Ink::Series(number) => (number % SERIES).to_string(),
    }
}

// Writing to a `String` cannot fail.
fn add(element: &Element, out: &mut String) {
    match element {
        Element::Text(text) => self::text(text, out),
        Element::Path { points, stroke } => {
            let _ = write!(
                out,
                "\n<path d=\"{}\"{}/>",
                path(points),
                attributes(stroke)
            );
        }
        Element::Mark {
            outline,
            stroke,
            filled,
            title,
        } => {
            let solid = Stroke {
                dash: &[],
                ..stroke.clone()
            };
            // A hollow mark hides the line below it.
            let fill = if *filled { stroke.ink } else { Ink::Paper };
            let theme_fill = format!(
                " class=\"f{0} s{1}\" fill=\"{2}\"",
                class(fill),
                class(stroke.ink),
                LIGHT.colour(fill)
            );
            let rest = attributes(&solid);
            let rest = rest.split_once(" stroke=").map_or("", |(_, rest)| rest);
            let _ = write!(
                out,
                "\n<path d=\"{}Z\"{theme_fill} stroke={rest}",
                path(outline)
            );
            if title.is_empty() {
                out.push_str("/>");
            } else {
                let _ = write!(out, "><title>{}</title></path>", escaped(title));
            }
        }
        Element::Group {
            class,
            data,
            elements,
        } => {
            let _ = write!(out, "\n<g class=\"{class}\"");
            for (key, value) in data {
                let _ = write!(out, " data-{key}=\"{}\"", escaped(value));
            }
            out.push('>');
            for element in elements {
                add(element, out);
            }
            out.push_str("</g>");
        }
    }
}

fn text(text: &Text, out: &mut String) {
    let (x, y) = (length(text.x), length(text.y));
    let place = if text.upwards {
        format!("transform=\"translate({x} {y}) rotate(-90)\"")
    } else {
        format!("x=\"{x}\" y=\"{y}\"")
    };
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let weight = if text.bold {
        " font-weight=\"600\""
    } else {
        ""
    };
    let _ = write!(
        out,
        "\n<text {place} class=\"f{}\" fill=\"{}\" font-size=\"{}\"{anchor}{weight}>{}</text>",
        class(text.ink),
        LIGHT.colour(text.ink),
        length(text.size),
        escaped(&text.text)
    );
}

fn attributes(stroke: &Stroke) -> String {
    let dash = match stroke.dash {
        [] => String::new(),
        dash => {
            let dash: Vec<String> = dash.iter().map(|part| length(*part)).collect();
            format!(" stroke-dasharray=\"{}\"", dash.join(" "))
        }
    };
    format!(
        " class=\"s{}\" stroke=\"{}\" stroke-width=\"{}\"{dash}",
        class(stroke.ink),
        LIGHT.colour(stroke.ink),
        length(stroke.width)
    )
}

fn path(points: &[(f64, f64)]) -> String {
    let mut out = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let letter = if index == 0 { 'M' } else { 'L' };
        let _ = write!(out, "{letter}{} {}", length(*x), length(*y));
    }
    out
}

/// A length with at most two decimals.
fn length(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "-0" => "0".to_owned(),
        text => text.to_owned(),
    }
}

/// A text for XML and HTML. Characters that XML cannot hold, and control characters, become the
/// replacement character.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            character if character.is_control() => out.push('\u{fffd}'),
            character => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_short() {
        for (value, expected) in [
            (1.0, "1"),
            (1.25, "1.25"),
            (100.0, "100"),
            (-0.001, "0"),
            (0.5, "0.5"),
        ] {
            assert_eq!(length(value), expected);
        }
    }

    #[test]
    fn markup_in_texts_stays_text() {
        assert_eq!(
            escaped("<script>alert(\"&'\")</script>\u{1b}\u{ffff}"),
            "&lt;script&gt;alert(&quot;&amp;&#39;&quot;)&lt;/script&gt;\u{fffd}\u{fffd}"
        );
    }
}
