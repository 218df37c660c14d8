//! A picture as PNG.

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, StrokeDash, Transform,
};

use super::data::Chart;
use super::glyphs::{self, Step};
use super::palette::LIGHT;
use super::scene::{Anchor, Ink, Item, Stroke, Text};
use super::whole;

/// Pixels in a unit of length: enough for a screen of a high density.
const DENSITY: f32 = 2.0;
/// The share of a letter's height by which a bold one is thicker.
const BOLD: f64 = 0.055;

/// The chart as a PNG file on a light ground; none where it would be larger than a picture can be.
pub(in crate::runs) fn image(chart: &Chart) -> Option<Vec<u8>> {
    let scene = whole::scene(chart);
    let size = |length: f64| (length as f32 * DENSITY).ceil() as u32;
    let mut canvas = Canvas {
        pixels: Pixmap::new(size(scene.width), size(scene.height))?,
    };
    canvas.pixels.fill(colour(Ink::Paper));
    for item in &scene.items {
        canvas.draw(item);
    }
    canvas.pixels.encode_png().ok()
}

struct Canvas {
    pixels: Pixmap,
}

impl Canvas {
    fn draw(&mut self, item: &Item) {
        match item {
            Item::Text(text) => self.text(text),
            Item::Path { points, stroke } => {
                if let Some(path) = path(points, false) {
                    self.stroke(&path, stroke);
                }
            }
            Item::Mark {
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
            Item::Group { items, .. } => items.iter().for_each(|item| self.draw(item)),
        }
    }

    fn text(&mut self, text: &Text) {
        // A bold letter is a thicker one, and needs the room.
        let apart = if text.bold { text.size * BOLD } else { 0.0 };
        let width = glyphs::width(&text.text, text.size) + apart * text.text.chars().count() as f64;
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
        for step in glyphs::outline(&text.text, text.size, apart) {
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
