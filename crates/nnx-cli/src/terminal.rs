//! Properties of standard output.

use std::env;
use std::io;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();

/// How text is laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// The width of the terminal; `None` without a terminal, so that a script gets whole lines.
    pub(crate) width: Option<usize>,
    colour: bool,
}

impl Page {
    /// The page of standard output.
    pub(crate) fn for_stdout() -> Self {
        Self {
            width: width(),
            colour: has_colour(),
        }
    }

    /// A page without colour.
    #[cfg(test)]
    pub(crate) fn plain(width: Option<usize>) -> Self {
        Self {
            width,
            colour: false,
        }
    }

    /// The text in a style, if colour is on.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

/// Whether the output is coloured: standard output is a terminal, and neither `NO_COLOR` nor
/// `TERM=dumb` disables colour. `CLICOLOR_FORCE` enables it everywhere.
pub(crate) fn has_colour() -> bool {
    AutoStream::choice(&io::stdout()) != ColorChoice::Never
}

/// `COLUMNS` if it is set, because the user chose it, else the width of the terminal.
fn width() -> Option<usize> {
    let wish = env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    wish.filter(|&columns| columns > 0)
        .or_else(|| terminal_size::terminal_size_of(io::stdout()).map(|size| size.0.0.into()))
}
