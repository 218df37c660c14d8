//! Verdicts as text for people.

use std::fmt::Write as _;

use nnx::checkpoint::SafetyLevel;
use nnx::checkpoint::scan::Verdict;

use super::report::{Counts, FileLine, FindingLine, ReportLines};
use crate::escape::escaped;
use crate::size;
use crate::terminal::{DIM, GREEN, Page, RED, YELLOW};
use crate::wrap::wrapped;

/// The width of the longest verdict and the gap after it.
const INDENT: usize = 11;

pub(super) fn render(report: &ReportLines, page: &Page) -> String {
    let mut out = String::new();
    for file in &report.files {
        render_file(&mut out, file, page);
    }
    if report.files.len() != 1 {
        out.push_str(&summary(report));
        out.push('\n');
    }
    out
}

fn render_file(out: &mut String, file: &FileLine, page: &Page) {
    let word = file.verdict.name();
    let style = match file.verdict {
        Verdict::Clean => GREEN,
        Verdict::Dangerous => RED,
        _ => YELLOW,
    };
    let gap = " ".repeat(INDENT - word.len());
    let word = page.paint(style, word);
    out.push_str(&format!("{word}{gap}{}", escaped(&file.path.text)));
    if file.verdict == Verdict::Clean && file.pickles == 0 {
        out.push_str(&page.paint(DIM, " (no pickle in it)"));
    }
    out.push('\n');
    let reasons = file
        .findings
        .iter()
        .map(|finding| in_words(finding, file.verdict));
    let reasons = reasons.chain(file.errors.iter().map(|error| error.message()));
    for reason in reasons {
        out.push_str(&wrapped(&escaped(&reason), INDENT, page));
    }
}

/// A dangerous finding has no word beside the verdict.
fn in_words(finding: &FindingLine, verdict: Verdict) -> String {
    let FindingLine {
        module,
        name,
        level,
        offset,
        entry,
    } = finding;
    let mut text = format!("`{module}.{name}`");
    if let Some(offset) = offset {
        // Writing to a `String` cannot fail.
        let _ = write!(text, " at offset {offset:#x}");
    }
    if let Some(entry) = entry {
        let _ = write!(text, " of `{entry}`");
    }
    if verdict == Verdict::Dangerous && *level != SafetyLevel::Dangerous {
        let _ = write!(text, " ({})", level.name());
    }
    text
}

fn summary(report: &ReportLines) -> String {
    let Counts {
        clean,
        unknown,
        dangerous,
        unjudged,
    } = report.counts;
    let counts = [
        (clean, "clean"),
        (unknown, "unknown"),
        (dangerous, "dangerous"),
        (unjudged, "unjudged"),
    ];
    let parts = counts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<_> = parts
        .map(|(count, word)| format!("{} {word}", size::grouped(*count as u128)))
        .collect();
    let files = size::count(report.files.len(), "file");
    if parts.is_empty() {
        files
    } else {
        format!("{files}: {}", parts.join(", "))
    }
}
