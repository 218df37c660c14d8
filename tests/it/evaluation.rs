//! Predictions and metrics against those of the real library.

use std::collections::BTreeMap;

use candle_core::{DType, Device, Tensor};
use nnx_checkpoint::{Dtype, StateDict};
use nnx_net::{Batch, EvaluateOptions, IGNORE_INDEX, NNModel, NllInput, ProbabilitySpec};
use nnx_params::{
    Average, Labels, Losses, NNEvaluationDataPoint, NNModelParams, NNParams, NetParams, Nets,
    State, Value,
};
use nnx_tests::{Json, LIBRARY_VERSIONS, fixtures_dir};

use crate::tensors::{assert_tensor, tensor, tensor_of};

const TOLERANCE: f64 = 1e-6;

/// Compares what Python's `state()` gave with ours: numbers within the tolerance, all else equal.
#[track_caller]
fn assert_state(at: &str, found: &State, expected: &State) {
    let keys: Vec<_> = found.keys().collect();
    assert_eq!(keys, expected.keys().collect::<Vec<_>>(), "{at}");
    for ((key, found), (_, expected)) in found.iter().zip(expected.iter()) {
        match (found, expected) {
            (Value::Map(found), Value::Map(expected)) => assert_state(at, found, expected),
            (Value::Float(a), Value::Float(b)) => {
                let same = a == b || (a.is_nan() && b.is_nan());
                assert!(
                    same || (a - b).abs() <= TOLERANCE,
                    "{at}: {key} is {a}, not {b}"
                );
            }
            (found, expected) => assert_eq!(found, expected, "{at}: {key}"),
        }
    }
}

fn labels(json: &Json) -> Labels {
    let items = json.items();
    let first = items.first().expect("a label");
    match first.0 {
        Value::List(_) => {
            let columns = first.items().len();
            let values = items.iter().flat_map(Json::items).map(|x| x.size() == 1);
            Labels::indicators(columns, values).unwrap()
        }
        _ => Labels::Classes(
            items
                .iter()
                .map(|x| match x.0 {
                    Value::Int(class) => i64::try_from(class).unwrap(),
                    ref other => panic!("{other:?} is no class"),
                })
                .collect(),
        ),
    }
}

#[test]
fn metrics_are_those_of_the_real_library() {
    let own = Json::read(&fixtures_dir().join("nets/evaluate.json"));
    let shared = Json::read(&fixtures_dir().join("nnx-0.4.1/params/metrics.json"));
    let cases = shared.items().into_iter().chain(own.get("labels").items());
    let (mut judged, mut sets) = (0, 0);
    for case in cases {
        sets += 1;
        for (name, average) in [
            ("macro", Average::Macro),
            ("micro", Average::Micro),
            ("weighted", Average::Weighted),
        ] {
            let Some(expected) = case.find(name) else {
                continue;
            };
            let (truth, predicted) = (labels(&case.get("y")), labels(&case.get("y_hat")));
            let point = NNEvaluationDataPoint::of(&truth, &predicted, average).unwrap();
            assert_state(
                &format!("{name} of {truth:?}"),
                &point.state(),
                expected.state(),
            );
            judged += 1;
        }
    }
    assert_eq!((sets, judged), (12 + 16, 2 * 12 + 3 * 16));
    println!("metrics: {judged} averages of {sets} sets of labels judged");
}

/// The model of a case of `params/evaluate.json`, whose weights are given.
fn model_of(case: &Json) -> NNModel {
    let params = NNParams::builder(4, case.get("output_dim").size())
        .hidden_dims([5])
        .dropout_prob(0.5)
        .activation(nnx_params::Activations::Relu)
        .build()
        .unwrap();
    let loss: Losses = case.get("loss").text().parse().unwrap();
    let mut state = StateDict::new();
    for tensor in case.get("tensors").items() {
        let hex = tensor.get("hex");
        let bytes: Vec<u8> = hex
            .text()
            .as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect();
        let shape: Vec<usize> = tensor.get("shape").items().iter().map(Json::size).collect();
        let tensor_name = tensor.get("name");
        state.insert(
            tensor_name.text(),
            nnx_checkpoint::Tensor::from_bytes(Dtype::Float32, &shape, bytes).unwrap(),
        );
    }
    let model_params = NNModelParams::builder(Nets::FeedFwd).loss(loss).build();
    NNModel::from_state_dict(params.into(), model_params.unwrap(), &state).unwrap()
}

#[test]
fn evaluations_are_those_of_the_real_library() {
    let (mut judged, mut errors) = (0, 0);
    for version in LIBRARY_VERSIONS {
        let path = fixtures_dir().join(format!("nnx-{version}/params/evaluate.json"));
        for case in Json::read(&path).items() {
            let desc = case.get("desc");
            let at = format!("{version}: {}", desc.text());
            let model = model_of(&case);
            let sizes = |key: &str| -> Vec<usize> {
                case.get(key).items().iter().map(Json::size).collect()
            };
            let xs = tensor_of("float32", sizes("X_shape"), &case.get("X").items());
            let dtype = case.get("Y_dtype");
            let dtype = dtype.text().trim_start_matches("torch.");
            let ys = tensor_of(dtype, sizes("Y_shape"), &case.get("Y").items());
            let size = case.get("batch_size").size();
            let batches = (0..7).step_by(size).map(|at| {
                let part = |of: &Tensor| of.narrow(0, at, size.min(7 - at)).unwrap();
                Batch::new([part(&xs)], part(&ys))
            });
            let nll = match version {
                "0.2.3" => NllInput::Logits,
                _ => NllInput::LogSoftmax,
            };
            let found = model.evaluate_with(batches, &EvaluateOptions::new().nll(nll));
            match case.find("state") {
                Some(expected) => {
                    let point = found.unwrap_or_else(|error| panic!("{at}: {error}"));
                    assert_state(&at, &point.state(), expected.state());
                }
                None => {
                    assert_eq!(case.get("error").text(), "ValueError", "{at}");
                    let error = found.expect_err(&at);
                    println!("{at}: {error}");
                    errors += 1;
                }
            }
            let prediction = model.predict(&xs).unwrap();
            let classes: Vec<i64> = prediction.classes.flatten_all().unwrap().to_vec1().unwrap();
            let expected: Vec<Json> = case
                .get("predict_classes")
                .items()
                .into_iter()
                .flat_map(|item| match item.0 {
                    Value::List(_) => item.items(),
                    _ => vec![item],
                })
                .collect();
            let expected: Vec<i64> = expected
                .iter()
                .map(|x| i64::try_from(x.size()).unwrap())
                .collect();
            assert_eq!(classes, expected, "{at}");
            judged += 1;
        }
    }
    assert_eq!((judged, errors), (20, 4));
    println!("evaluations: {judged} judged, {errors} of them errors");
}

fn spec_of(json: &Json) -> ProbabilitySpec {
    let spec = match json.get("kind").text() {
        "categorical" => ProbabilitySpec::categorical(),
        "bernoulli" => ProbabilitySpec::bernoulli(),
        other => panic!("a spec of kind {other}"),
    };
    let Value::Int(axis) = json.get("class_axis").0 else {
        panic!("an axis is an integer")
    };
    let spec = spec.class_axis(isize::try_from(axis).unwrap());
    match json.find("labels") {
        Some(labels) => spec.labels(labels.texts()),
        None => spec,
    }
}

#[test]
fn every_net_and_task_is_evaluated_as_the_real_library_does() {
    let cases = Json::read(&fixtures_dir().join("nets/evaluate.json")).get("models");
    let mut judged = BTreeMap::<&str, usize>::new();
    let mut count = |what| *judged.entry(what).or_default() += 1;
    for case in cases.items() {
        let name = case.get("name");
        let at = name.text();
        let net_params = NetParams::resolve_from_state(case.get("net_params").state()).unwrap();
        let params = NNModelParams::from_state(case.get("params").state()).unwrap();
        let seed = u64::try_from(case.get("seed").size()).unwrap();
        let model = NNModel::new(net_params, params, seed).unwrap_or_else(|e| panic!("{at}: {e}"));
        let batches: Vec<Batch> = case
            .get("batches")
            .items()
            .iter()
            .map(|batch| {
                let inputs: Vec<Tensor> = batch.get("inputs").items().iter().map(tensor).collect();
                let made = Batch::new(inputs, tensor(&batch.get("targets")));
                made.seeds(batch.find("seeds").map(|seeds| seeds.size()))
            })
            .collect();
        let inputs = batches.first().expect("a batch").inputs.clone();
        let expected = case.get("evaluation");
        match (expected.find("error"), model.evaluate(batches)) {
            (Some(Json(Value::Str(kind))), found) => {
                let error = found.expect_err(at);
                println!("{at}: {kind} there, here: {error}");
                count("refused evaluations");
            }
            (_, found) => {
                let point = found.unwrap_or_else(|error| panic!("{at}: {error}"));
                assert_state(at, &point.state(), expected.state());
                count("evaluations");
            }
        }
        let classes = model.predict(&inputs).unwrap().classes;
        assert_tensor(at, &classes, &case.get("classes"), TOLERANCE);
        count("predictions");
        let spec = case.find("spec").map(|spec| spec_of(&spec));
        let result = model.predict_proba(&inputs, spec.as_ref());
        match case.find("probabilities") {
            Some(probabilities) if probabilities.find("error").is_some() => {
                println!("{at}: {}", result.expect_err(at));
                count("refused probabilities");
            }
            probabilities if case.find("decoded").is_some() => {
                let result = result.unwrap_or_else(|error| panic!("{at}: {error}"));
                match (&result.probabilities, probabilities) {
                    (Some(found), Some(expected)) => assert_tensor(at, found, &expected, TOLERANCE),
                    (found, expected) => {
                        assert_eq!(found.is_some(), expected.is_some(), "{at}");
                    }
                }
                assert_tensor(at, &result.decoded, &case.get("decoded"), TOLERANCE);
                count("probabilities");
            }
            _ => assert!(result.is_err(), "{at}: neither a spec nor a task"),
        }
    }
    println!("{judged:?}");
    let expected = [
        ("evaluations", 32),
        ("predictions", 45),
        ("probabilities", 25),
        ("refused evaluations", 13),
        ("refused probabilities", 4),
    ];
    assert_eq!(judged, BTreeMap::from(expected));
}

#[test]
fn metrics_of_ones_own_see_all_that_counts_once() {
    let params = NNModelParams::builder(Nets::FeedFwd).build().unwrap();
    let net_params = NNParams::builder(2, 2).dropout_prob(0.0).build().unwrap();
    let model = NNModel::new(net_params.into(), params, 0).unwrap();
    let batch = |targets: &[i64]| {
        let inputs = Tensor::ones((targets.len(), 2), DType::F32, &Device::Cpu).unwrap();
        Batch::new([inputs], Tensor::new(targets, &Device::Cpu).unwrap())
    };
    let point = model
        .evaluate_with(
            [batch(&[0, IGNORE_INDEX, 1]), batch(&[1])],
            &EvaluateOptions::new().extra("ones", |truth, predicted| {
                assert_eq!(*truth, Labels::Classes(vec![0, 1, 1]));
                assert_eq!(predicted.len(), 3);
                2.0
            }),
        )
        .unwrap();
    assert_eq!(point.extra().get("ones").unwrap().as_f64(), 2.0);
}
