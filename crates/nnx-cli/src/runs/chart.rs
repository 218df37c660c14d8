//! The chart of runs: its values, notes about values that are not drawn, and its table.

use nnx::chart::{Axes, Cell, Chart, Line, Series, Table};
use nnx::run::{EpochMetrics, NNRun};

use super::metrics::{Metric, before_end, last, lowest, number, shown, values};
use crate::escape::escaped;

/// The number of characters of a net's name in a chart.
const SHOWN_CHARS: usize = 24;
/// The number of characters of an id that are shown, unless more are needed to distinguish the
/// runs.
const LEAST_ID_CHARS: usize = 8;
/// The largest number of ranges of epochs in a note.
const SHOWN_RANGES: usize = 6;

/// The axes of the chart: title, name for scripts, and the metrics with a line.
const AXES: [(&str, &str, [Metric; 2]); 2] = [
    ("Loss", "loss", [Metric::TrainLoss, Metric::ValLoss]),
    ("Error", "error", [Metric::TrainError, Metric::ValError]),
];

/// The title of a run in the chart.
#[derive(Debug)]
struct Drawn {
    id: String,
    short_id: String,
    net: String,
    planned_epochs: usize,
    epochs: Vec<EpochMetrics>,
    /// The warnings about the history.
    warnings: Vec<String>,
}

/// The chart of runs, each with the name of its folder.
pub(super) fn chart(runs: &[(String, NNRun)], log: bool) -> Chart {
    let ids: Vec<&str> = runs.iter().map(|(id, _)| id.as_str()).collect();
    let length = id_length(&ids);
    let runs = runs.iter().map(|(id, run)| Drawn::new(id, length, run));
    let runs: Vec<Drawn> = runs.collect();
    let mut chart = Chart::new(title(&runs)).log(log);
    for run in &runs {
        chart = chart.series(Series::new(run.label()).short_label(&run.short_id));
        let warnings = run.warnings.iter();
        let warnings = warnings.map(|warning| format!("In {}, {warning}.", run.short_id));
        chart.notes.extend(warnings);
        chart.notes.extend(missing_epochs(run));
    }
    for (title, key, metrics) in AXES {
        let mut axes = Axes::new(title).data("panel", key);
        for (index, run) in runs.iter().enumerate() {
            for metric in metrics {
                axes = axes.line(line(run, index, metric));
                chart.notes.extend(not_drawn(run, metric, log));
            }
        }
        chart = chart.axes(axes);
    }
    chart.table(table(&runs))
}

/// The title of the chart.
fn title(runs: &[Drawn]) -> String {
    let of = match runs {
        [run] => format!("run {}", run.short_id),
        runs => format!("{} runs", runs.len()),
    };
    format!("Loss and error of {of}")
}

impl Drawn {
    fn new(id: &str, id_length: usize, run: &NNRun) -> Self {
        let net = run.model().net();
        let net = net.map_or_else(String::new, ToString::to_string);
        let short_id: String = id.chars().take(id_length).collect();
        let warnings = run.warnings().filter(|warning| warning.is_of_history());
        Self {
            id: escaped(id).into_owned(),
            short_id: escaped(&short_id).into_owned(),
            net: cut(&escaped(&net)),
            planned_epochs: run.train().n_epochs(),
            epochs: run.epochs(),
            warnings: warnings
                .map(|warning| escaped(&warning.message).into_owned())
                .collect(),
        }
    }

    fn label(&self) -> String {
        match self.net.as_str() {
            "" => self.short_id.clone(),
            net => format!("{} {net}", self.short_id),
        }
    }
}

/// The number of characters that distinguish the ids.
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

/// The words for a metric in a sentence, the name of its line in the legend, and whether the line
/// belongs to the training.
fn in_words(metric: Metric) -> (&'static str, &'static str, bool) {
    match metric {
        Metric::TrainLoss => ("training loss", "training", true),
        Metric::ValLoss => ("validation loss", "validation", false),
        Metric::TrainError => ("training error", "training", true),
        Metric::ValError => ("validation error", "validation", false),
    }
}

/// The line of a metric. Training is dashed, and validation is drawn above it, because it matters
/// more.
fn line(run: &Drawn, index: usize, metric: Metric) -> Line {
    let points = values(&run.epochs, |epoch| metric.value_in(epoch));
    let (_, name, is_training) = in_words(metric);
    let line = if is_training {
        Line::dashed(index, name, points)
    } else {
        Line::solid(index, name, points)
    };
    line.data("run", &run.id).data("metric", metric.key())
}

/// Notes about the values of a metric that the chart does not show.
fn not_drawn(run: &Drawn, metric: Metric, log: bool) -> Vec<String> {
    let (mut absent, mut infinite, mut below) = (Vec::new(), Vec::new(), Vec::new());
    for epoch in &run.epochs {
        match metric.value_in(epoch) {
            None => absent.push(epoch.epoch),
            Some(value) if !value.is_finite() => infinite.push(epoch.epoch),
            Some(value) if log && value <= 0.0 => below.push(epoch.epoch),
            Some(_) => {}
        }
    }
    let name = format!("{} of {}", in_words(metric).0, run.short_id);
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
            "The {name} is not above 0 at {epochs}; a logarithmic scale cannot show it."
        ));
    }
    notes
}

/// The runs with the last and the lowest value of each metric.
fn table(runs: &[Drawn]) -> Table {
    let recorded = |metric: &Metric| {
        let mut epochs = runs.iter().flat_map(|run| &run.epochs);
        epochs.any(|epoch| metric.value_in(epoch).is_some())
    };
    let metrics: Vec<Metric> = Metric::ALL.into_iter().filter(recorded).collect();
    let titles = metrics.iter().map(|metric| metric.title());
    let mut table = Table::new("Runs", ["Run", "Epochs"].into_iter().chain(titles));
    for run in runs {
        let epochs = format!("{} of {}", run.epochs.len(), run.planned_epochs);
        let first = [Cell::new(run.label()).hint(&run.id), Cell::new(epochs)];
        let values = metrics.iter().map(|metric| cell(run, *metric));
        table = table.row(first.into_iter().chain(values));
    }
    table
}

/// The last value, with its epoch if that is not the run's last epoch, and below it the lowest
/// value with its epoch.
fn cell(run: &Drawn, metric: Metric) -> Cell {
    let values = values(&run.epochs, |epoch| metric.value_in(epoch));
    let (value, epoch) = last(&values);
    let mut cell = Cell::new(shown(value.0));
    if let Some(epoch) = before_end(epoch, &run.epochs) {
        cell = cell.aside(format!("at epoch {epoch}, then none"));
    }
    if let Some((epoch, value)) = lowest(&values) {
        cell = cell.below(format!("lowest {}, epoch {epoch}", number(value)));
    }
    cell
}

/// The epochs between the first and the last one that are missing in the history.
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
        more => format!(" and in {more} more ranges"),
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
            "epochs 0, 2, 4, 6, 8, 10 and in 2 more ranges"
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
