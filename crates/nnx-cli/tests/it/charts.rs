//! The charts of `nnx runs plot`: their data are those of the run.

#![cfg(feature = "png")]

use std::fs;
use std::path::Path;
use std::process::Command;

use tiny_skia::Pixmap;

/// Pixels in a PNG file to a unit of the drawing.
const DENSITY: f64 = 2.0;

const NAN: f64 = f64::NAN;

/// The result of `NNRun.load(id)._epoch_series()` in NNx 0.4.1.
struct Series {
    version: &'static str,
    id: &'static str,
    epochs: &'static [f64],
    train_loss: &'static [f64],
    train_error: &'static [f64],
    val_loss: &'static [f64],
    val_error: &'static [f64],
}

const SERIES: [Series; 4] = [
    Series {
        version: "0.2.3",
        id: "8c31fdc087caba4eb4089500d579394d",
        epochs: &[0.0, 1.0],
        train_loss: &[1.0871158639589946, 1.0533185005187988],
        train_error: &[0.5, 0.3333333333333333],
        val_loss: &[1.1022197484970093, 1.1239766597747802],
        val_error: &[0.8, 1.0],
    },
    Series {
        version: "0.2.3",
        id: "b0925cecdc8df0c5dfddd225815b2118",
        epochs: &[2.0],
        train_loss: &[1.0261659622192383],
        train_error: &[0.30000000000000004],
        val_loss: &[NAN],
        val_error: &[NAN],
    },
    Series {
        version: "0.4.1",
        id: "499c2c31103109a3288bc4bf52678ca0",
        epochs: &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
        train_loss: &[
            1.0871158639589946,
            1.0533185005187988,
            1.0235572457313538,
            0.9942920009295145,
            0.9663154482841492,
            0.9391932884852091,
            0.9123302698135376,
            0.8856969674428304,
        ],
        train_error: &[
            0.5,
            0.3333333333333333,
            0.3333333333333333,
            0.4166666666666667,
            0.5,
            0.5,
            0.5,
            0.5,
        ],
        val_loss: &[
            1.1022197484970093,
            1.1239766597747802,
            1.1483569622039795,
            1.174420380592346,
            1.2017505168914795,
            1.231757402420044,
            1.2668266773223877,
            1.3075859308242799,
        ],
        val_error: &[0.8, 1.0, 1.0, 1.0, 1.0, 0.8, 0.8, 0.8],
    },
    Series {
        version: "0.4.1",
        id: "88216f2154a1d1b2c7a5ffb77dfdb688",
        epochs: &[8.0],
        train_loss: &[0.8801010251045227],
        train_error: &[0.5],
        val_loss: &[NAN],
        val_error: &[NAN],
    },
];

fn root(version: &str) -> std::path::PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    fixtures.join(format!("nnx-{version}/run"))
}

/// Draws runs into a file of that extension.
fn plot(root: &Path, ids: &[&str], extension: &str, more: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join(format!("chart.{extension}"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnx"));
    command.args(["runs", "plot"]).args(ids).arg("--root");
    command.arg(root).arg("-o").arg(&target).args(more);
    let done = command.output().unwrap();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{errors}");
    fs::read(target).unwrap()
}

fn drawing(version: &str, ids: &[&str], more: &[&str]) -> String {
    String::from_utf8(plot(&root(version), ids, "svg", more)).unwrap()
}

/// The text between two others, and the text behind them.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<(&'a str, &'a str)> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after)
}

/// The numbers of a path.
fn numbers(path: &str) -> Vec<f64> {
    let numbers = path.split(|letter: char| letter.is_alphabetic() || letter == ' ');
    let numbers = numbers.filter(|number| !number.is_empty());
    numbers.map(|number| number.parse().unwrap()).collect()
}

/// From places to values, read off the first and the last tick of an axis.
struct Axis {
    places: [f64; 2],
    values: [f64; 2],
    log: bool,
}

impl Axis {
    /// `index` says which of a place's numbers counts: 0 across, 1 down.
    fn read(panel: &str, class: &str, index: usize, log: bool) -> Self {
        let (axis, _) = between(panel, &format!("<g class=\"{class}\">"), "</g></g>").unwrap();
        let ticks = axis.split("<g class=\"tick\">").skip(1).map(|tick| {
            let (path, rest) = between(tick, "d=\"", "\"").unwrap();
            let (_, label) = rest.rsplit_once("\">").unwrap();
            let label = label.split('<').next().unwrap();
            (numbers(path)[index], label.parse::<f64>().unwrap())
        });
        let ticks: Vec<(f64, f64)> = ticks.collect();
        let (first, last) = (ticks[0], *ticks.last().unwrap());
        // An axis of one epoch has one tick: the value is read off at its position.
        let last = match ticks.len() {
            1 => (first.0 + 1.0, first.1 + 1e-9),
            _ => last,
        };
        Self {
            places: [first.0, last.0],
            values: [first.1, last.1],
            log,
        }
    }

    fn value(&self, place: f64) -> f64 {
        let share = (place - self.places[0]) / (self.places[1] - self.places[0]);
        let [low, high] = if self.log {
            self.values.map(f64::log10)
        } else {
            self.values
        };
        let value = low + share * (high - low);
        if self.log { 10_f64.powf(value) } else { value }
    }

    /// The value of a hundredth of a unit, to which places are rounded.
    fn tolerance(&self, place: f64) -> f64 {
        (self.value(place + 0.02) - self.value(place)).abs()
    }
}

/// The middles of a line's marks.
fn marks(drawing: &str, run: &str, metric: &str) -> Vec<(f64, f64)> {
    let class = format!("<g class=\"line\" data-run=\"{run}\" data-metric=\"{metric}\">");
    let Some((line, _)) = between(drawing, &class, "</g>") else {
        return Vec::new();
    };
    let marks = line.split("<path d=\"").skip(1).filter_map(|path| {
        let (outline, _) = path.split_once("Z\"")?;
        let outline = numbers(outline);
        // Marks are circles here, of an even number of corners.
        let corners = outline.len() as f64 / 2.0;
        let sum = |from: usize| outline.iter().skip(from).step_by(2).sum::<f64>() / corners;
        Some((sum(0), sum(1)))
    });
    marks.collect()
}

/// The points that the line's paths go through.
fn points(drawing: &str, run: &str, metric: &str) -> Vec<(f64, f64)> {
    let class = format!("<g class=\"line\" data-run=\"{run}\" data-metric=\"{metric}\">");
    let Some((line, _)) = between(drawing, &class, "</g>") else {
        return Vec::new();
    };
    let paths = line.split("<path d=\"").skip(1);
    let paths = paths.filter_map(|path| path.split('"').next());
    let open = paths.filter(|path| !path.ends_with('Z')).map(numbers);
    open.flat_map(|numbers| {
        let pairs = numbers.chunks(2);
        pairs.map(|pair| (pair[0], pair[1])).collect::<Vec<_>>()
    })
    .collect()
}

#[track_caller]
fn check(drawing: &str, series: &Series, metric: &str, values: &[f64], log: bool) -> usize {
    let expected = series.epochs.iter().zip(values);
    let expected: Vec<(f64, f64)> = expected
        .filter(|(_, value)| !value.is_nan())
        .map(|(epoch, value)| (*epoch, *value))
        .collect();
    let name = metric.split('_').next_back().unwrap();
    let panel = between(drawing, &format!("data-panel=\"{name}\">"), "data-panel");
    let panel = panel.map_or_else(
        || {
            drawing
                .split(&format!("data-panel=\"{name}\">"))
                .nth(1)
                .unwrap()
        },
        |(panel, _)| panel,
    );
    let x = Axis::read(panel, "x-axis", 0, false);
    let y = Axis::read(panel, "y-axis", 1, log);
    let marks = marks(drawing, series.id, metric);
    assert_eq!(marks.len(), expected.len(), "{} {metric}", series.id);
    let joined = points(drawing, series.id, metric);
    // A mark without a neighbour has no line.
    assert_eq!(joined.len(), if marks.len() > 1 { marks.len() } else { 0 });
    for (place, (epoch, value)) in marks.iter().zip(&expected) {
        let found = (x.value(place.0), y.value(place.1));
        let place_text = format!("{} {metric} at {epoch}: {found:?} for {value}", series.id);
        assert!((found.0 - epoch).abs() < 0.02, "{place_text}");
        assert!(
            (found.1 - value).abs() <= y.tolerance(place.1),
            "{place_text}"
        );
    }
    for (point, mark) in joined.iter().zip(&marks) {
        assert!((point.0 - mark.0).abs() < 0.02 && (point.1 - mark.1).abs() < 0.02);
    }
    marks.len()
}

fn check_all(log: bool) {
    let more: &[&str] = if log { &["--log"] } else { &[] };
    let mut checked = 0;
    for series in &SERIES {
        let drawing = drawing(series.version, &[series.id], more);
        checked += check(&drawing, series, "train_loss", series.train_loss, log);
        checked += check(&drawing, series, "train_error", series.train_error, log);
        checked += check(&drawing, series, "val_loss", series.val_loss, log);
        checked += check(&drawing, series, "val_error", series.val_error, log);
    }
    assert_eq!(checked, 44);
}

#[test]
fn a_drawing_has_the_values_of_the_run() {
    check_all(false);
}

#[test]
fn so_has_one_on_a_logarithmic_scale() {
    check_all(true);
}

#[test]
fn runs_of_one_drawing_share_its_axes() {
    let [first, second] = [&SERIES[2], &SERIES[3]];
    let drawing = drawing("0.4.1", &[first.id, second.id], &[]);
    check(&drawing, first, "val_loss", first.val_loss, false);
    check(&drawing, second, "train_loss", second.train_loss, false);
}

/// The middle of each filled mark has its colour in the picture, and there is none beside it.
#[test]
fn a_picture_shows_what_the_drawing_does() {
    let series = &SERIES[2];
    let root = root(series.version);
    let drawing = drawing(series.version, &[series.id], &[]);
    let picture = plot(&root, &[series.id], "png", &[]);
    let picture = Pixmap::decode_png(&picture).unwrap();
    let colour = |x: f64, y: f64| {
        let (x, y) = ((x * DENSITY) as u32, (y * DENSITY) as u32);
        let pixel = picture.pixel(x, y).unwrap();
        (pixel.red(), pixel.green(), pixel.blue())
    };
    let marks = marks(&drawing, series.id, "val_loss");
    assert_eq!(marks.len(), series.epochs.len());
    for (x, y) in marks {
        assert_eq!(colour(x, y), (0x00, 0x72, 0xb2));
        assert_eq!(colour(x, y + 12.0), (0xff, 0xff, 0xff));
    }
}

#[test]
fn the_same_runs_give_the_same_bytes() {
    let ids = [SERIES[2].id, SERIES[3].id];
    for extension in ["svg", "png", "html"] {
        let [a, b] = [(); 2].map(|()| plot(&root("0.4.1"), &ids, extension, &[]));
        assert!(a == b, "{extension}");
    }
}

#[test]
fn a_page_loads_and_runs_nothing() {
    let page = plot(&root("0.4.1"), &[SERIES[2].id, SERIES[3].id], "html", &[]);
    let page = String::from_utf8(page).unwrap();
    let page = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for word in [
        "http:", "https:", "src=", "href", "<script", "url(", "@import", "onload", "<link",
    ] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(page.contains("prefers-color-scheme: dark"));
}

/// Lines break off where an epoch, or its value, is missing.
#[test]
fn what_is_missing_is_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("runs/gaps");
    fs::create_dir_all(&run).unwrap();
    let source = root("0.4.1")
        .join("runs")
        .join(SERIES[2].id)
        .join("run.yaml");
    fs::copy(source, run.join("run.yaml")).unwrap();
    let rows = [
        "0,0.5,0.1",
        "1,0.4,0.2",
        "4,0.3,0.3",
        "5,inf,0.4",
        "6,0.2,",
        "7,0.1,0.5",
    ];
    let mut history = ",lr,iter_idx,epoch_idx,batch_idx,train_edp.loss,val_edp.loss\n".to_owned();
    for (index, row) in rows.iter().enumerate() {
        let (epoch, values) = row.split_once(',').unwrap();
        history.push_str(&format!("{index},0.1,{index},{epoch},0,{values}\n"));
    }
    fs::write(run.join("idps.csv"), history).unwrap();
    let drawing = plot(folder.path(), &["gaps"], "svg", &[]);
    let drawing = String::from_utf8(drawing).unwrap();
    assert_eq!(marks(&drawing, "gaps", "train_loss").len(), 5);
    assert_eq!(marks(&drawing, "gaps", "val_loss").len(), 5);
    // 0–1 and 6–7; 0–1 and 4–5.
    assert_eq!(points(&drawing, "gaps", "train_loss").len(), 4);
    assert_eq!(points(&drawing, "gaps", "val_loss").len(), 4);
    for note in [
        "The history of gaps does not have epochs 2–3.",
        "The training loss of gaps is infinite at epoch 5.",
        "No validation loss of gaps at epoch 6.",
        "No training error of gaps was recorded.",
    ] {
        assert!(drawing.contains(note), "{note}");
    }
}

/// Losses as large and small as floats are: every coordinate of the drawing is within it.
#[test]
fn no_loss_is_drawn_outside() {
    let folder = tempfile::tempdir().unwrap();
    let source = root("0.4.1")
        .join("runs")
        .join(SERIES[2].id)
        .join("run.yaml");
    let columns: [&[f64]; 9] = [
        &[-1e308, 1e308],
        &[f64::MIN, 0.0, f64::MAX],
        &[f64::MIN, f64::MIN],
        &[f64::MAX, f64::MAX],
        &[1.6e308, 1.7e308, f64::MAX],
        &[-1.7e308],
        &[5e-324, 1e-323],
        &[5e-324, f64::MAX],
        &[-5e-324, 5e-324],
    ];
    for (number, losses) in columns.iter().enumerate() {
        let name = format!("extreme{number}");
        let run = folder.path().join("runs").join(&name);
        fs::create_dir_all(&run).unwrap();
        fs::copy(&source, run.join("run.yaml")).unwrap();
        let mut history = ",lr,iter_idx,epoch_idx,batch_idx,train_edp.loss\n".to_owned();
        for (epoch, loss) in losses.iter().enumerate() {
            history.push_str(&format!("{epoch},0.1,{epoch},{epoch},0,{loss:e}\n"));
        }
        fs::write(run.join("idps.csv"), history).unwrap();
        for more in [&[][..], &["--log"]] {
            let drawing = plot(folder.path(), &[&name], "svg", more);
            let drawing = String::from_utf8(drawing).unwrap();
            let marked = losses.iter().filter(|loss| more.is_empty() || **loss > 0.0);
            let marked = marked.count();
            let marks = marks(&drawing, &name, "train_loss");
            assert_eq!(marks.len(), marked, "{losses:?} {more:?}");
            let (panel, _) = between(&drawing, "data-panel=\"loss\">", "class=\"line\"")
                .unwrap_or((&drawing, ""));
            let ticks = between(panel, "<g class=\"y-axis\">", "</g></g>").map(|(axis, _)| axis);
            let heights: Vec<f64> = ticks
                .unwrap()
                .split("d=\"")
                .skip(1)
                .map(|path| numbers(path.split('"').next().unwrap())[1])
                .collect();
            assert!(!heights.is_empty(), "{losses:?} {more:?}");
            // The panel of a drawing with one.
            let (size, _) = between(&drawing, "viewBox=\"0 0 ", "\"").unwrap();
            let size = numbers(size);
            let bottom = between(&drawing, "data-panel=\"loss\">", "<g class=\"x-axis\">");
            let bottom = bottom.unwrap().0.rsplit("d=\"").next().unwrap();
            let bottom = numbers(bottom.split('"').next().unwrap())[1];
            for (x, y) in marks {
                assert!((0.0..=size[0]).contains(&x), "{losses:?} {more:?}: {x}");
                assert!(
                    (0.0..=bottom + 0.01).contains(&y),
                    "{losses:?} {more:?}: {y}"
                );
            }
            assert!(heights.iter().all(|y| (0.0..=bottom + 0.01).contains(y)));
            assert!(
                !drawing.contains("NaN") && !drawing.contains("inf,"),
                "{drawing}"
            );
        }
    }
}
