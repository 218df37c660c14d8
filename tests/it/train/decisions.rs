//! Early stopping, the best epoch, monitors and phases, decided as the real library does.

use nnx_params::{
    MonitorMode, MonitorSpec, NNEvaluationDataPoint, NNIterationDataPoint, State, Value,
};
use nnx_run::{BestMetric, comparable_metric};
use nnx_tests::{Json, fixtures_dir};
use nnx_train::{EarlyStopping, MonitorTracker, phase_tag};

use super::setup::field_of;

fn decisions(key: &str) -> Json {
    Json::read(&fixtures_dir().join("training/decisions.json")).get(key)
}

/// The record of an epoch whose training has the error 0.3 and the loss 0.7.
fn record(epoch: usize, val: &Json) -> NNIterationDataPoint {
    let train = NNEvaluationDataPoint::builder()
        .error(0.3)
        .loss(0.7)
        .build()
        .unwrap();
    let record = NNIterationDataPoint::new(0.1, 0, epoch as i64, 0, train);
    let Value::List(values) = &val.0 else {
        return record;
    };
    let mut point = NNEvaluationDataPoint::builder();
    let number = |value: &Value| match value {
        Value::None => None,
        other => Some(Json(other.clone()).float()),
    };
    if let Some(error) = number(&values[0]) {
        point = point.error(error);
    }
    if let Some(loss) = number(&values[1]) {
        point = point.loss(loss);
    }
    record.with_val_edp(point.build().unwrap())
}

fn stopping(settings: &Json) -> EarlyStopping {
    let mut stopping = EarlyStopping::new()
        .patience(settings.get("patience").size())
        .min_delta(settings.get("min_delta").float());
    if let Some(monitor) = settings.find("monitor") {
        stopping = stopping.field(field_of(monitor.text()));
    }
    if settings.get("mode").text() == "max" {
        stopping = stopping.mode(MonitorMode::Max);
    }
    stopping
}

#[test]
fn early_stopping_waits_as_long() {
    let cases = decisions("early_stopping").items();
    let mut epochs = 0;
    for case in &cases {
        let at = format!(
            "{} under {:?}",
            case.get("sequence").text(),
            case.get("settings")
        );
        let mut stopping = stopping(&case.get("settings"));
        stopping.reset(&[]).unwrap();
        let (mut stops_at, mut warnings) = (None, 0);
        let states = case.get("states").items();
        for (epoch, (val, state)) in case.get("val").items().iter().zip(&states).enumerate() {
            let stops = stopping.observe(&record(epoch, val), epoch as i64).unwrap();
            warnings += stopping.take_warnings().len();
            if stops && stops_at.is_none() {
                stops_at = Some(epoch);
            }
            assert_eq!(
                stopping.best(),
                state.find("best").map(|best| best.float()),
                "{at}"
            );
            assert_eq!(stopping.wait(), state.get("wait").size(), "{at}");
            let selected = state.find("selected").map(|json| json.text().to_owned());
            assert_eq!(stopping.selected().map(str::to_owned), selected, "{at}");
            epochs += 1;
        }
        assert_eq!(
            stops_at,
            case.find("stops_at").map(|epoch| epoch.size()),
            "{at}"
        );
        assert_eq!(warnings, case.get("warnings").size(), "{at}");
    }
    println!(
        "{} sequences of early stopping, {epochs} epochs",
        cases.len()
    );
    assert_eq!(cases.len(), 35);
}

#[test]
fn the_best_epoch_is_the_same() {
    let cases = decisions("best").items();
    let mut judged = 0;
    for case in &cases {
        let mut best = f64::INFINITY;
        let epochs = case.get("epochs").items();
        for (epoch, (val, expected)) in case.get("val").items().iter().zip(&epochs).enumerate() {
            let at = format!("{}, epoch {epoch}", case.get("sequence").text());
            let record = record(epoch, val);
            let metric = comparable_metric(record.val_edp(), Some(record.train_edp()));
            let value = expected.find("value").map(|value| value.float());
            assert_eq!(metric.found.map(|(_, value)| value), value, "{at}");
            let source = expected
                .find("source")
                .map(|source| source.text().to_owned());
            assert_eq!(
                metric.found.map(|(name, _)| name.to_owned()),
                source,
                "{at}"
            );
            assert_eq!(metric.rejected, expected.get("rejected").texts(), "{at}");
            let from_record = BestMetric::from_record(&record).map(|metric| metric.value);
            assert_eq!(from_record, value, "{at}");
            let score = value.unwrap_or(f64::INFINITY);
            let is_written = epoch == 0 || score < best;
            if is_written {
                best = score;
            }
            assert_eq!(
                Value::Bool(is_written),
                expected.get("best_written").0,
                "{at}"
            );
            judged += 1;
        }
    }
    println!(
        "{} sequences of the best epoch, {judged} epochs",
        cases.len()
    );
    assert_eq!(cases.len(), 5);
}

#[test]
fn monitors_judge_alike() {
    let cases = decisions("monitor").items();
    let mut judged = 0;
    for case in &cases {
        let Value::Map(state) = case.get("monitor").0 else {
            panic!("{case:?} has no monitor");
        };
        let mut tracker =
            MonitorTracker::new(&MonitorSpec::from_state(&state).unwrap(), &[]).unwrap();
        let records = case.get("records").items();
        let Value::List(values) = case.get("values").0 else {
            panic!("{case:?} has no values");
        };
        for (epoch, (value, expected)) in values.iter().zip(&records).enumerate() {
            let value = match value {
                Value::None => None,
                other => Some(Json(other.clone()).float()),
            };
            let found = tracker.observe(value, epoch as i64).unwrap();
            let at = format!("{state:?}, epoch {epoch}");
            assert_eq!(
                found.status().value(),
                expected.get("status").text(),
                "{at}"
            );
            assert_eq!(
                Value::Bool(found.improved()),
                expected.get("improved").0,
                "{at}"
            );
            assert_eq!(
                tracker.best(),
                expected.find("best").map(|best| best.float()),
                "{at}"
            );
            judged += 1;
        }
    }
    println!("{} monitors, {judged} epochs", cases.len());
    assert_eq!((cases.len(), judged), (4, 40));
}

#[test]
fn phases_have_the_same_tags() {
    let Value::Map(cases): Value = decisions("phase_tags").0 else {
        panic!("no tags of phases");
    };
    let cases: State = cases;
    for (epochs, tags) in cases.iter() {
        let epochs: usize = epochs.parse().unwrap();
        let Value::List(tags) = tags else {
            panic!("{tags:?} are no tags");
        };
        assert_eq!(tags.len(), epochs);
        for (epoch, expected) in tags.iter().enumerate() {
            let found = phase_tag(epoch, epochs).map(|tag| tag.value());
            assert_eq!(found, expected.as_str(), "epoch {epoch} of {epochs}");
        }
    }
    println!("phases of {} trainings", cases.len());
    assert_eq!(cases.len(), 20);
}
