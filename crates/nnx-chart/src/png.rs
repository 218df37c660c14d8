//! A picture as PNG.

use std::fmt;

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, StrokeDash, Transform,
};

use crate::chart::Chart;
use crate::figure;
use crate::font_metrics::{self, Step};
use crate::palette::LIGHT;
use crate::scene::{Anchor, Element, Ink, Stroke, Text};

/// Pixels for each unit of length: enough for a screen with a high density.
const DENSITY: f32 = 2.0;
/// The width that bold adds to a letter, relative to its height.
const BOLD: f64 = 0.055;

/// A chart that has more pixels than a picture can have; fewer series make it smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooLarge {
    /// The width that the picture would have, in pixels.
    pub width: u32,
    /// The height that the picture would have, in pixels.
    pub height: u32,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "expected a chart that fits in a PNG file, found one of {} by {} pixels; draw fewer series",
            self.width, self.height
        )
    }
}

impl std::error::Error for TooLarge {}

/// The chart as a PNG file on a light background, with two pixels to a unit of the SVG.
///
/// # Errors
/// [`TooLarge`] when a picture cannot have as many pixels.
pub fn to_png(chart: &Chart) -> Result<Vec<u8>, TooLarge> {
    let scene = figure::scene(chart);
    let size = |length: f64| (length as f32 * DENSITY).ceil() as u32;
    let (width, height) = (size(scene.width), size(scene.height));
    let too_large = TooLarge { width, height };
    let mut canvas = Canvas {
        pixels: Pixmap::new(width, height).ok_or(too_large)?,
    };
    canvas.pixels.fill(colour(Ink::Paper));
    for element in &scene.elements {
        canvas.draw(element);
    }
    canvas.pixels.encode_png().map_err(|_| too_large)
}

struct Canvas {
    pixels: Pixmap,
}

impl Canvas {
    fn draw(&mut self, element: &Element) {
        match element {
            Element::Text(text) => self.text(text),
            Element::Path { points, stroke } => {
                if let Some(path) = path(points, false) {
                    self.stroke(&path, stroke);
                }
            }
            Element::Mark {
                outline,
                stroke,
                filled,
                ..
            } => {
                if let Some(path) = path(outline, true) {
                    self.fill(&path, if *filled { stroke.ink } else { Ink::Paper });
                    let solid = Stroke {
                        dash: &[],
                        ..stroke.clone()
                    };
                    self.stroke(&path, &solid);
                }
            }
            Element::Group { elements, .. } => {
                elements.iter().for_each(|element| self.draw(element))
            }
        }
    }

    fn text(&mut self, text: &Text) {
        // A bold letter is wider and needs more space.
        let apart = if text.bold { text.size * BOLD } else { 0.0 };
        let width =
            font_metrics::width(&text.text, text.size) + apart * text.text.chars().count() as f64;
        let left = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -width / 2.0,
            Anchor::End => -width,
        };
        let place = |x: f64, y: f64| {
            let (x, y) = (left + x, y);
            let (x, y) = if text.upwards { (y, -x) } else { (x, y) };
            ((text.x + x) as f32, (text.y + y) as f32)
        };
        let mut builder = PathBuilder::new();
        for step in font_metrics::outline(&text.text, text.size, apart) {
            match step {
                Step::Move(x, y) => {
                    let (x, y) = place(x, y);
                    builder.move_to(x, y);
                }
                Step::Line(x, y) => {
                    let (x, y) = place(x, y);
                    builder.line_to(x, y);
                }
                Step::Curve(a, b, x, y) => {
                    let (a, b) = place(a, b);
                    let (x, y) = place(x, y);
                    builder.quad_to(a, b, x, y);
                }
                Step::Close => builder.close(),
            }
        }
        if let Some(path) = builder.finish() {
            self.fill(&path, text.ink);
            if text.bold {
                let stroke = Stroke {
                    ink: text.ink,
                    width: text.size * BOLD,
                    dash: &[],
                };
                self.stroke(&path, &stroke);
            }
        }
    }

    fn fill(&mut self, path: &Path, ink: Ink) {
        let scale = Transform::from_scale(DENSITY, DENSITY);
        self.pixels
            .fill_path(path, &paint(ink), FillRule::Winding, scale, None);
    }

    fn stroke(&mut self, path: &Path, stroke: &Stroke) {
        let dash = stroke.dash.iter().map(|part| *part as f32).collect();
        let style = tiny_skia::Stroke {
            width: stroke.width as f32,
            line_cap: LineCap::Butt,
            line_join: LineJoin::Round,
            dash: StrokeDash::new(dash, 0.0),
            ..tiny_skia::Stroke::default()
        };
        let scale = Transform::from_scale(DENSITY, DENSITY);
        self.pixels
            .stroke_path(path, &paint(stroke.ink), &style, scale, None);
    }
}

fn path(points: &[(f64, f64)], closed: bool) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let (x, y) = (*x as f32, *y as f32);
        match index {
            0 => builder.move_to(x, y),
            _ => builder.line_to(x, y),
        }
    }
    if closed {
        builder.close();
    }
    builder.finish()
}

fn paint(ink: Ink) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color(colour(ink));
    paint.anti_alias = true;
    paint
}

fn colour(ink: Ink) -> Color {
    let text = LIGHT.colour(ink);
    let part = |from: usize| {
        let digits = text.get(from..from + 2).unwrap_or_default();
        u8::from_str_radix(digits, 16).unwrap_or_default()
    };
    Color::from_rgba8(part(1), part(3), part(5), u8::MAX)
}
