//! Predictions.

use nnx_params::{
    Losses, Nets, PrecisionFallback, PrecisionMode, PrecisionPolicy, TaskKind, TaskSpec,
};

use super::*;

#[test]
fn predictions_ignore_and_keep_the_mode() {
    let mut model = per_layer();
    let before = model.predict(&rows()).unwrap();
    // m.predict(x)
    assert_eq!(before.classes.to_vec1::<i64>().unwrap(), [0, 0]);
    model.train_mode();
    let after = model.predict(&rows()).unwrap();
    assert!(model.is_training());
    assert_eq!(
        before.logits.to_vec2::<f32>().unwrap(),
        after.logits.to_vec2::<f32>().unwrap()
    );
}

#[test]
fn regression_predicts_values() {
    let params = NNModelParams::builder(Nets::FeedFwd)
        .loss(Losses::MeanSquaredError)
        .task(TaskSpec::builder(TaskKind::Regression).build().unwrap())
        .build()
        .unwrap();
    let model = NNModel::new(net_params(&[4, 2]), params, 0).unwrap();
    let prediction = model.predict(&rows()).unwrap();
    assert_eq!(
        prediction.classes.to_vec2::<f32>().unwrap(),
        prediction.logits.to_vec2::<f32>().unwrap()
    );
}

#[track_caller]
fn check_precision(mode: PrecisionMode, fallback: PrecisionFallback, builds: bool, predicts: bool) {
    let params = NNModelParams::builder(Nets::FeedFwd)
        .precision(PrecisionPolicy::new(mode, fallback))
        .build()
        .unwrap();
    let model = NNModel::new(net_params(&[4, 2]), params, 0);
    assert_eq!(model.is_ok(), builds, "{mode} {fallback}");
    if let Ok(model) = model {
        assert!(model.forward(&rows()).is_ok());
        assert_eq!(
            model.predict(&rows()).is_ok(),
            predicts,
            "{mode} {fallback}"
        );
    }
}

#[test]
fn a_precision_policy_is_not_ignored() {
    use PrecisionFallback::{Error, Fp32};
    check_precision(PrecisionMode::Fp32, Error, true, true);
    // Python raises PrecisionUnsupportedError for fp16 on the CPU, and falls back when told to.
    check_precision(PrecisionMode::Fp16, Error, false, false);
    check_precision(PrecisionMode::Fp16, Fp32, true, true);
    // Python predicts in bfloat16 on the CPU; its numbers differ from float32 in the third digit.
    check_precision(PrecisionMode::Bf16, Error, true, false);
    check_precision(PrecisionMode::Bf16, Fp32, true, false);
}
