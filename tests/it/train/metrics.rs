//! Metrics that a program registers.

use candle_core::{Device, Tensor};
use nnx_net::{Batch, NNModel};
use nnx_params::{
    Losses, MetricSpec, MonitorMode, MonitorSpec, NNModelParams, NNParams, NNTrainParams, Nets,
    State, TaskKind, TaskSpec,
};
use nnx_train::{
    ErrorKind, Metric, MetricAccumulator, MetricBatch, MetricInput, Result, Trained, Training,
    register_metric,
};

/// A mean of terms, computed as a built-in metric is from the same input.
struct Mean {
    input: MetricInput,
    mode: MonitorMode,
}

#[derive(Default)]
struct Sum {
    sum: f64,
    count: usize,
}

impl Metric for Mean {
    fn input(&self) -> MetricInput {
        self.input
    }

    fn mode(&self) -> MonitorMode {
        self.mode
    }

    fn check(&self, config: &State) -> Result<()> {
        match config.keys().next() {
            None => Ok(()),
            Some(key) => Err(ErrorKind::InvalidConfiguration {
                what: format!("`{key}` is no setting of the metric"),
            }
            .into()),
        }
    }

    fn accumulator(&self, _: &State) -> Box<dyn MetricAccumulator> {
        Box::new(Sum::default())
    }
}

impl MetricAccumulator for Sum {
    fn update(&mut self, batch: &MetricBatch<'_>) {
        let terms: Vec<f64> = match *batch {
            MetricBatch::Labels { truth, predicted } => {
                let pairs = truth.iter().zip(predicted);
                pairs
                    .map(|(truth, predicted)| f64::from(u8::from(truth == predicted)))
                    .collect()
            }
            MetricBatch::Classes {
                truth,
                width,
                values,
            } => {
                let rows = truth.iter().zip(values.chunks(width));
                rows.map(|(class, row)| -f64::from(row[usize::try_from(*class).unwrap()]).ln())
                    .collect()
            }
            MetricBatch::Probabilities { truth, values } => {
                let pairs = truth.iter().zip(values);
                pairs
                    .map(|(truth, p)| (f64::from(*p) - *truth as f64).powi(2))
                    .collect()
            }
            MetricBatch::Continuous { truth, predicted } => {
                let pairs = truth.iter().zip(predicted);
                pairs
                    .map(|(truth, predicted)| (f64::from(*predicted) - f64::from(*truth)).abs())
                    .collect()
            }
            _ => panic!("another input"),
        };
        self.count += terms.len();
        self.sum += terms.iter().sum::<f64>();
    }

    fn result(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

fn spec(id: &str) -> MetricSpec {
    MetricSpec::new(id, 1, State::new(), None).unwrap()
}

/// A training that declares metrics, monitored by the last of them.
fn trained(loss: Losses, metrics: &[MetricSpec], root: &std::path::Path) -> Result<Trained> {
    let net = NNParams::builder(2, 3).dropout_prob(0.0).build()?;
    let is_regression = loss == Losses::MeanSquaredError;
    let regression = || {
        TaskSpec::builder(TaskKind::Regression)
            .num_outputs(3)
            .build()
    };
    let params = NNModelParams::builder(Nets::FeedFwd)
        .loss(loss)
        .task(is_regression.then(regression).transpose()?)
        .build()?;
    let mut model = NNModel::new(net.into(), params, 5)?;
    let cpu = &Device::Cpu;
    let inputs = Tensor::new(&[[0_f32, 1.0], [1.0, 0.5], [-2.0, 1.0], [0.5, -1.0]], cpu)?;
    let targets = match loss {
        Losses::CrossEntropy => Tensor::new(&[0_i64, 2, 1, 2], cpu)?,
        _ => Tensor::new(
            &[
                [0_f32, 1.0, 1.0],
                [1.0, 0.0, 0.0],
                [1.0, 1.0, 0.0],
                [0.0, 0.0, 1.0],
            ],
            cpu,
        )?,
    };
    let batches: Vec<Batch> = [(0, 3), (3, 1)]
        .map(|(start, rows)| {
            let part = |all: &Tensor| all.narrow(0, start, rows).unwrap();
            Batch::new([part(&inputs)], part(&targets))
        })
        .into();
    let last = metrics.last().unwrap().label();
    let monitor = MonitorSpec::builder(last).build()?;
    let params = NNTrainParams::builder(3)
        .metrics(metrics.to_vec())
        .monitor(&monitor)
        .build()?;
    Training::new(&mut model, &params)
        .train_loader(batches.clone())
        .val_loader(batches)
        .root(root)
        .run()
}

/// A metric of the program has the inputs of the built-in ones, and decides as they do.
#[test]
fn a_registered_metric_equals_the_built_in_one() {
    let own = |input, mode| Mean { input, mode };
    let (labels, probabilities) = (MetricInput::Labels, MetricInput::Probabilities);
    register_metric("own.accuracy", 1, own(labels, MonitorMode::Max)).unwrap();
    register_metric("own.nll", 1, own(probabilities, MonitorMode::Min)).unwrap();
    register_metric("own.brier", 1, own(probabilities, MonitorMode::Min)).unwrap();
    register_metric("own.mae", 1, own(MetricInput::Continuous, MonitorMode::Min)).unwrap();
    for (loss, built_in) in [
        (Losses::CrossEntropy, "accuracy"),
        (Losses::CrossEntropy, "nll"),
        (Losses::BinaryCrossEntropy, "accuracy"),
        (Losses::BinaryCrossEntropy, "brier"),
        (Losses::MeanSquaredError, "mae"),
    ] {
        let own = format!("own.{built_in}");
        let root = tempfile::tempdir().unwrap();
        let metrics = [spec(built_in), spec(&own)];
        let run = trained(loss, &metrics, root.path()).unwrap().run;
        let reference = tempfile::tempdir().unwrap();
        let metrics = [spec(built_in)];
        let expected = trained(loss, &metrics, reference.path()).unwrap().run;
        assert_eq!(run.idps().len(), 6, "{built_in}");
        for (record, expected) in run.idps().iter().zip(expected.idps()).skip(1).step_by(2) {
            let points = [record.train_summary(), record.val_edp()];
            for point in points.map(Option::unwrap) {
                let of = |name: &str| point.metrics()[name].as_f64();
                assert!((of(built_in) - of(&own)).abs() < 1e-12, "{loss} {built_in}");
            }
            let (record, expected) = (record.selection().unwrap(), expected.selection().unwrap());
            assert_eq!(record.improved(), expected.improved(), "{loss} {built_in}");
        }
    }
}

#[test]
fn a_metric_that_cannot_be_used_is_refused() {
    let mean = |input| Mean {
        input,
        mode: MonitorMode::Min,
    };
    for (id, version) in [("nll", 1), ("refused", 0), ("re fused", 1)] {
        let refused = register_metric(id, version, mean(MetricInput::Labels));
        assert!(refused.is_err(), "{id} {version}");
    }
    register_metric("twice", 1, mean(MetricInput::Continuous)).unwrap();
    let error = register_metric("twice", 1, mean(MetricInput::Labels)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the metric `twice` of version 1 is registered already: give the new one another version"
    );
    let root = tempfile::tempdir().unwrap();
    // Classes are no numbers, and the metric takes no settings.
    let numbers = trained(Losses::CrossEntropy, &[spec("twice")], root.path()).unwrap_err();
    assert!(
        numbers.to_string().contains("cannot be computed"),
        "{numbers}"
    );
    register_metric("twice", 2, mean(MetricInput::Labels)).unwrap();
    let config = State::from_iter([("key", 1_i64)]);
    let spec = MetricSpec::new("twice", 2, config, None).unwrap();
    let settings = trained(Losses::CrossEntropy, &[spec], root.path()).unwrap_err();
    assert_eq!(settings.to_string(), "`key` is no setting of the metric");
    assert!(std::fs::read_dir(root.path()).unwrap().next().is_none());
}
