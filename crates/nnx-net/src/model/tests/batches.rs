//! Batches in training and evaluation.

use super::*;
use crate::batch::Batch;
use crate::evaluate_options::EvaluateOptions;
use crate::loss::{IGNORE_INDEX, NllInput};

fn batch(targets: &[i64; 2]) -> Batch {
    Batch::new([rows()], Tensor::new(targets, &Device::Cpu).unwrap())
}

#[test]
fn a_batch_is_trained_and_evaluated_whatever_the_mode() {
    let mut model = per_layer();
    model.seed(3);
    let before = model.generator().to_state();
    let evaluated = model.evaluate_batch(&batch(&[0, 1])).unwrap();
    assert_eq!(model.generator().to_state(), before);
    let logits = |tensor: &Tensor| tensor.to_vec2::<f32>().unwrap();
    let expected = logits(&model.forward(&rows()).unwrap());
    assert_eq!(logits(&evaluated.logits), expected);

    let trained = model.train_batch(&batch(&[0, 1])).unwrap();
    assert_ne!(model.generator().to_state(), before);
    assert_ne!(logits(&trained.logits), expected);
    let terms = model.loss_terms(&trained.logits, &trained.targets, NllInput::default());
    let terms = terms.unwrap();
    assert_eq!(terms.weight, 2.0);
    let store = terms.numerator.backward().unwrap();
    for (name, var) in model.trainable() {
        assert!(store.get(var.as_tensor()).is_some(), "{name}");
    }
}

#[test]
fn where_no_target_counts_a_batch_has_zeros_and_no_error() {
    // NNx 0.4.1: _classification_edp_for_loss of two targets of -100
    let model = per_layer();
    let output = model.evaluate_batch(&batch(&[IGNORE_INDEX; 2])).unwrap();
    let options = EvaluateOptions::new();
    let score = model.score(&output.logits, &output.targets, &options);
    let score = score.unwrap();
    let number = |value: Option<nnx_params::Number>| value.map(|number| number.as_f64());
    assert_eq!((score.scored, score.point.error()), (0, None));
    for metric in [
        score.point.accuracy(),
        score.point.precision(),
        score.point.recall(),
        score.point.f1(),
    ] {
        assert_eq!(number(metric), Some(0.0));
    }
    let output = model.evaluate_batch(&batch(&[IGNORE_INDEX, 1])).unwrap();
    let score = model.score(&output.logits, &output.targets, &options);
    let score = score.unwrap();
    assert_eq!(score.scored, 1);
    let right = number(score.point.accuracy()).unwrap();
    assert_eq!(number(score.point.error()), Some(1.0 - right));
}

#[test]
fn the_samples_of_a_batch_are_its_rows_or_seeds() {
    assert_eq!(batch(&[0, 1]).samples(), 2);
    assert_eq!(batch(&[0, 1]).seeds(1).samples(), 1);
}
