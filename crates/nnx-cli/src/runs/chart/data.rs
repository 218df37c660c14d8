//! What a chart shows: lines of values, where they break off, and why.

use nnx::run::{EpochMetrics, NNRun};

use crate::escape::escaped;
use crate::runs::metrics::Metric;

/// Characters of a net's name that a chart shows.
const SHOWN_CHARS: usize = 24;
/// Characters of an id that are shown, and more where they are needed to tell runs apart.
const LEAST_ID_CHARS: usize = 8;
/// Ranges of epochs that a note lists.
const SHOWN_RANGES: usize = 6;

/// The runs of a chart and their lines.
#[derive(Debug)]
pub(in crate::runs) struct Chart {
    pub(super) runs: Vec<Drawn>,
    pub(super) panels: Vec<PanelData>,
    /// What is not drawn, and why.
    pub(in crate::runs) notes: Vec<String>,
    pub(super) log: bool,
}

/// A run as the chart names it.
#[derive(Debug)]
pub(super) struct Drawn {
    pub(super) id: String,
    pub(super) short_id: String,
    pub(super) net: String,
    pub(super) planned_epochs: usize,
    pub(super) epochs: Vec<EpochMetrics>,
    /// What is wrong with the history.
    pub(super) warnings: Vec<String>,
}

impl Drawn {
    pub(super) fn label(&self) -> String {
        match self.net.as_str() {
            "" => self.short_id.clone(),
            net => format!("{} {net}", self.short_id),
        }
    }
}

/// Loss or error, of all runs.
#[derive(Debug)]
pub(super) struct PanelData {
    pub(super) title: &'static str,
    pub(super) key: &'static str,
    pub(super) lines: Vec<Line>,
}

/// One metric of one run.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) run: usize,
    pub(super) metric: Metric,
    /// Neighbours within a segment are joined; there is a gap between two segments.
    pub(super) segments: Vec<Vec<(i64, f64)>>,
}

impl Line {
    pub(super) fn points(&self) -> impl Iterator<Item = (i64, f64)> {
        self.segments.iter().flatten().copied()
    }

    /// Whether it is of the training, not of the validation.
    pub(super) fn is_training(&self) -> bool {
        matches!(self.metric, Metric::TrainLoss | Metric::TrainError)
    }
}

impl Chart {
    /// The chart of runs, each with the name of its folder.
    pub(in crate::runs) fn new(runs: &[(String, NNRun)], log: bool) -> Self {
        let ids: Vec<&str> = runs.iter().map(|(id, _)| id.as_str()).collect();
        let length = id_length(&ids);
        let drawn = runs.iter().map(|(id, run)| {
            let net = run.model().net();
            let net = net.map_or_else(String::new, ToString::to_string);
            Drawn {
                id: escaped(id).into_owned(),
                short_id: escaped(&id.chars().take(length).collect::<String>()).into_owned(),
                net: cut(&escaped(&net)),
                planned_epochs: run.train().n_epochs(),
                epochs: run.epochs(),
                warnings: run
                    .warnings()
                    .filter(|warning| warning.is_of_history())
                    .map(|warning| escaped(&warning.message).into_owned())
                    .collect(),
            }
        });
        let mut chart = Self {
            runs: drawn.collect(),
            panels: Vec::new(),
            notes: Vec::new(),
            log,
        };
        let panels = [
            ("Loss", "loss", [Metric::TrainLoss, Metric::ValLoss]),
            ("Error", "error", [Metric::TrainError, Metric::ValError]),
        ];
        for run in &chart.runs {
            let warnings = run.warnings.iter();
            let warnings = warnings.map(|warning| format!("In {}, {warning}.", run.short_id));
            chart.notes.extend(warnings);
            chart.notes.extend(missing_epochs(run));
        }
        for (title, key, metrics) in panels {
            let mut lines = Vec::new();
            for (index, run) in chart.runs.iter().enumerate() {
                for metric in metrics {
                    let (line, notes) = line(run, index, metric, log);
                    chart.notes.extend(notes);
                    lines.extend(line);
                }
            }
            chart.panels.push(PanelData { title, key, lines });
        }
        chart
    }

    /// What the chart is of.
    pub(in crate::runs) fn title(&self) -> String {
        let of = match self.runs.as_slice() {
            [run] => format!("run {}", run.short_id),
            runs => format!("{} runs", runs.len()),
        };
        format!("Loss and error of {of}")
    }

    /// The panels with a line in them; the first one where none has.
    pub(super) fn shown_panels(&self) -> Vec<&PanelData> {
        let filled = self.panels.iter().filter(|panel| !panel.lines.is_empty());
        let filled: Vec<&PanelData> = filled.collect();
        match filled.is_empty() {
            true => self.panels.iter().take(1).collect(),
            false => filled,
        }
    }

    /// The first and the last epoch that is drawn.
    pub(super) fn epochs(&self) -> Option<(i64, i64)> {
        let lines = self.panels.iter().flat_map(|panel| &panel.lines);
        let mut epochs = lines.flat_map(Line::points).map(|(epoch, _)| epoch);
        let first = epochs.next()?;
        Some(epochs.fold((first, first), |(low, high), epoch| {
            (low.min(epoch), high.max(epoch))
        }))
    }
}

/// How many characters tell the ids apart.
fn id_length(ids: &[&str]) -> usize {
    let longest = ids.iter().map(|id| id.chars().count()).max();
    let longest = longest.unwrap_or_default().max(LEAST_ID_CHARS);
    let differ = |length: &usize| {
        let mut cut: Vec<String> = ids
            .iter()
            .map(|id| id.chars().take(*length).collect())
            .collect();
        cut.sort_unstable();
        cut.windows(2).all(|pair| pair[0] != pair[1])
    };
    (LEAST_ID_CHARS..=longest).find(differ).unwrap_or(longest)
}

fn cut(text: &str) -> String {
    let mut characters = text.chars();
    let mut shown: String = characters.by_ref().take(SHOWN_CHARS).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// The words for a metric within a sentence.
fn in_words(metric: Metric) -> &'static str {
    match metric {
        Metric::TrainLoss => "training loss",
        Metric::ValLoss => "validation loss",
        Metric::TrainError => "training error",
        Metric::ValError => "validation error",
    }
}

/// The line of a metric, if it has a point, and what is not drawn of it.
fn line(run: &Drawn, index: usize, metric: Metric, log: bool) -> (Option<Line>, Vec<String>) {
    let mut segments: Vec<Vec<(i64, f64)>> = Vec::new();
    let mut last: Option<i64> = None;
    let (mut absent, mut infinite, mut below) = (Vec::new(), Vec::new(), Vec::new());
    for epoch in &run.epochs {
        let number = epoch.epoch;
        match metric.of(epoch) {
            None => absent.push(number),
            Some(value) if !value.is_finite() => infinite.push(number),
            Some(value) if log && value <= 0.0 => below.push(number),
            Some(value) => {
                let follows = last.is_some_and(|last| last.checked_add(1) == Some(number));
                match segments.last_mut() {
                    Some(segment) if follows => segment.push((number, value)),
                    _ => segments.push(vec![(number, value)]),
                }
                last = Some(number);
            }
        }
    }
    let name = format!("{} of {}", in_words(metric), run.short_id);
    let mut notes = Vec::new();
    if absent.len() == run.epochs.len() {
        notes.push(format!("No {name} was recorded."));
    } else if !absent.is_empty() {
        notes.push(format!("No {name} at {}.", epochs_in_words(&absent)));
    }
    if !infinite.is_empty() {
        let epochs = epochs_in_words(&infinite);
        notes.push(format!("The {name} is infinite at {epochs}."));
    }
    if !below.is_empty() {
        let epochs = epochs_in_words(&below);
        notes.push(format!(
            "The {name} is not above 0 at {epochs}, where a logarithmic scale has no place for it."
        ));
    }
    let line = (!segments.is_empty()).then_some(Line {
        run: index,
        metric,
        segments,
    });
    (line, notes)
}

/// The epochs between the first and the last one that the history does not have.
fn missing_epochs(run: &Drawn) -> Option<String> {
    let gaps = run.epochs.windows(2).filter_map(|pair| {
        let (before, after) = (pair[0].epoch, pair[1].epoch);
        let first = before.checked_add(1)?;
        (first < after).then(|| (first, after - 1))
    });
    let gaps: Vec<(i64, i64)> = gaps.collect();
    (!gaps.is_empty()).then(|| {
        format!(
            "The history of {} does not have {}.",
            run.short_id,
            ranges_in_words(&gaps)
        )
    })
}

/// `epoch 3`, `epochs 3–5, 7`.
fn epochs_in_words(epochs: &[i64]) -> String {
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    for &epoch in epochs {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(epoch) => *last = epoch,
            _ => ranges.push((epoch, epoch)),
        }
    }
    ranges_in_words(&ranges)
}

fn ranges_in_words(ranges: &[(i64, i64)]) -> String {
    let shown = ranges.iter().take(SHOWN_RANGES).map(|(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}–{last}")
        }
    });
    let shown: Vec<String> = shown.collect();
    let word = match ranges {
        [(first, last)] if first == last => "epoch",
        _ => "epochs",
    };
    let more = match ranges.len().saturating_sub(SHOWN_RANGES) {
        0 => String::new(),
        more => format!(" and at {more} more places"),
    };
    format!("{word} {}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_are_told_as_ranges() {
        assert_eq!(epochs_in_words(&[3]), "epoch 3");
        assert_eq!(epochs_in_words(&[3, 4, 5, 7]), "epochs 3–5, 7");
        assert_eq!(
            epochs_in_words(&[0, 2, 4, 6, 8, 10, 12, 14]),
            "epochs 0, 2, 4, 6, 8, 10 and at 2 more places"
        );
        assert_eq!(
            epochs_in_words(&[i64::MAX - 1, i64::MAX]),
            format!("epochs {}–{}", i64::MAX - 1, i64::MAX)
        );
    }

    #[test]
    fn ids_are_cut_where_they_differ() {
        assert_eq!(id_length(&["0123456789", "abcdefghij"]), 8);
        assert_eq!(id_length(&["0123456789", "0123456780"]), 10);
        assert_eq!(id_length(&["ab", "abc"]), 8);
        assert_eq!(id_length(&["é"]), 8);
    }
}
