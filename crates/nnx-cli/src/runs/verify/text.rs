//! The verdicts as a table.

use super::super::warnings;
use super::checkpoint::{Checked, State};
use super::{Part, Verdict, Verification};
use crate::escape::escaped;
use crate::table::{Side, Table};
use crate::terminal::{BOLD, GREEN, Page, RED, YELLOW};
use crate::wrap::wrapped;

pub(super) fn render(verification: &Verification, page: &Page) -> String {
    let mut table = Table::new(&[
        ("Part", Side::Left),
        ("Verdict", Side::Left),
        ("Save", Side::Right),
        ("Checked", Side::Left),
    ]);
    add(
        &mut table,
        page,
        "run".to_owned(),
        &verification.run.part,
        None,
        "configuration, id and history",
    );
    for warning in &verification.run.warnings {
        table.below(warnings::line(warning, page));
    }
    let read = if verification.metadata.present {
        "read"
    } else {
        "there are none; they are optional"
    };
    add(
        &mut table,
        page,
        "metadata".to_owned(),
        &verification.metadata.part,
        None,
        read,
    );
    for checkpoint in &verification.checkpoints {
        add(
            &mut table,
            page,
            format!("checkpoint {}", checkpoint.tag),
            &checkpoint.part,
            checkpoint.generation,
            &checkpoint.checked(),
        );
        for state in &checkpoint.training_states {
            if let Some(line) = state_line(checkpoint, state) {
                let style = match state.verdict {
                    Verdict::Wrong => RED,
                    _ => YELLOW,
                };
                table.below(page.paint(style, &escaped(&line)));
            }
        }
    }
    let mut others = String::new();
    if !verification.other_files.is_empty() {
        let names = verification.other_files.join("`, `");
        let line = format!("not read, because no checkpoint has such a name: `{names}`");
        others = format!(
            "\n{}",
            page.paint(YELLOW, &wrapped(&escaped(&line), 0, page))
        );
    }
    let style = match verification.verdict {
        Verdict::Sound => GREEN,
        Verdict::Wrong => RED,
        Verdict::Unjudged => YELLOW,
    };
    format!(
        "{}: {}\n\n{}{others}",
        page.paint(BOLD, &escaped(&verification.folder)),
        page.paint(style, word(verification.verdict)),
        table.render(page)
    )
}

/// Adds a part, and the reason if it is not sound.
fn add(
    table: &mut Table,
    page: &Page,
    name: String,
    part: &Part,
    generation: Option<i64>,
    checked: &str,
) {
    let checked = match part.verdict {
        Verdict::Sound => checked,
        _ => "",
    };
    let save = generation.map(|number| number.to_string());
    table.push([
        name,
        word(part.verdict).to_owned(),
        save.unwrap_or_default(),
        checked.to_owned(),
    ]);
    if let Some(error) = &part.error {
        let style = match part.verdict {
            Verdict::Unjudged => YELLOW,
            _ => RED,
        };
        table.below(page.paint(style, &escaped(&error.message())));
    }
}

/// The line about a training state, if it adds something to the line of its checkpoint.
fn state_line(checkpoint: &Checked, state: &State) -> Option<String> {
    match &state.error {
        Some(error) if checkpoint.part.error.as_ref() == Some(error) => None,
        Some(error) => Some(format!(
            "{} ({}): {}",
            state.name,
            state.role,
            error.message()
        )),
        None if !checkpoint.present => Some(format!("{} is a training state of it", state.name)),
        None if state.is_leftover => Some(format!(
            "{} is left over from another save; nothing uses it, and the next save removes it",
            state.name
        )),
        None => None,
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Sound => "sound",
        Verdict::Wrong => "wrong",
        Verdict::Unjudged => "unjudged",
    }
}
