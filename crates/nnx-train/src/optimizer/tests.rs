use candle_core::{DType, Device, Var};
use nnx_params::{NNOptimParams, NNParamGroupSpec, Optims};
use nnx_run::Data;

use super::Optimizer;
use crate::error::ErrorKind;
use crate::gradients::Gradients;
use crate::parameter::Parameter;

fn parameter(name: &str, values: &[f32]) -> Parameter {
    Parameter::new(name, Var::new(values, &Device::Cpu).unwrap())
}

fn three() -> Vec<Parameter> {
    ["a.weight", "a.bias", "b.weight"]
        .map(|name| parameter(name, &[1.0, 2.0]))
        .into()
}

fn adam() -> NNOptimParams {
    adam_with(&[])
}

fn adam_with(specs: &[NNParamGroupSpec]) -> NNOptimParams {
    let params = NNOptimParams::builder(Optims::Adam, 0.1, (0.9, 0.999), 0.01);
    let params = match specs {
        [] => params,
        specs => params.param_groups(specs.iter().cloned()),
    };
    params.build().unwrap()
}

fn spec(pattern: &str) -> NNParamGroupSpec {
    NNParamGroupSpec::builder(pattern).build().unwrap()
}

fn names(optimizer: &Optimizer) -> Vec<Vec<&str>> {
    let groups = optimizer.groups().iter();
    let names = groups.map(|group| group.parameters().map(|one| one.name.as_str()).collect());
    names.collect()
}

#[test]
fn the_first_pattern_that_matches_decides() {
    let specs = [spec("*.bias"), spec("A.*"), spec("a.*")];
    let optimizer = Optimizer::new(&adam_with(&specs), three()).unwrap();
    assert_eq!(names(&optimizer), [["a.bias"], ["a.weight"], ["b.weight"]]);
    let strict = Optimizer::strict(&adam_with(&specs), three()).unwrap();
    assert_eq!(names(&strict), [["a.bias"], ["a.weight"]]);
}

#[test]
fn rates_and_decays_are_the_spec_s_or_the_optimizer_s() {
    let specs = [
        NNParamGroupSpec::builder("a.weight").lr(0.5).build(),
        NNParamGroupSpec::builder("a.bias")
            .lr_multiplier(0.25)
            .weight_decay(0.0)
            .build(),
    ];
    let params = adam_with(&specs.map(Result::unwrap));
    let optimizer = Optimizer::new(&params, three()).unwrap();
    let groups = optimizer.groups().iter();
    let settings: Vec<_> = groups
        .map(|group| (group.lr(), group.weight_decay()))
        .collect();
    assert_eq!(
        settings,
        [(0.5, Some(0.01)), (0.025, Some(0.0)), (0.1, Some(0.01))]
    );
    for group in optimizer.groups() {
        let first: Vec<_> = group.settings().names().take(3).collect();
        assert_eq!(first, ["lr", "weight_decay", "betas"]);
    }
}

#[test]
fn a_rate_that_is_not_positive_is_refused() {
    for multiplier in [1e308, 1e-320] {
        let spec = NNParamGroupSpec::builder("*")
            .lr_multiplier(multiplier)
            .build()
            .unwrap();
        let max_lr = if multiplier > 1.0 { 100.0 } else { 1e-300 };
        let params = NNOptimParams::builder(Optims::Sgd, max_lr, 0.0, 0.0).param_groups([spec]);
        let error = Optimizer::new(&params.build().unwrap(), three()).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::InvalidConfiguration { .. }),
            "{error}"
        );
    }
}

#[test]
fn frozen_parameters_are_in_the_one_group_and_in_no_declared_one() {
    let mut parameters = three();
    parameters[0].requires_grad = false;
    let optimizer = Optimizer::new(&adam(), parameters.clone()).unwrap();
    assert_eq!(names(&optimizer), [["a.weight", "a.bias", "b.weight"]]);
    let grouped = adam_with(&[spec("a.weight")]);
    let optimizer = Optimizer::new(&grouped, parameters.clone()).unwrap();
    assert_eq!(names(&optimizer), [["a.bias", "b.weight"]]);
    let error = Optimizer::strict(&grouped, parameters.clone()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::InvalidConfiguration { .. }),
        "{error}"
    );
    for parameter in &mut parameters {
        parameter.requires_grad = false;
    }
    assert!(Optimizer::new(&grouped, parameters).is_err());
}

#[test]
fn a_tied_parameter_is_there_once() {
    let mut parameters = three();
    parameters[2].var = parameters[0].var.clone();
    let optimizer = Optimizer::new(&adam(), parameters).unwrap();
    assert_eq!(names(&optimizer), [["a.weight", "a.bias"]]);
}

#[test]
fn momenta_of_the_wrong_kind_are_refused() {
    for params in [
        NNOptimParams::builder(Optims::Adam, 0.1, 0.9, 0.0),
        NNOptimParams::builder(Optims::Sgd, 0.1, (0.9, 0.9), 0.0),
        NNOptimParams::builder(Optims::SgdNesterov, 0.1, 0.0, 0.0),
    ] {
        let error = Optimizer::new(&params.build().unwrap(), three()).unwrap_err();
        assert!(matches!(
            error.kind(),
            ErrorKind::InvalidConfiguration { .. }
        ));
        assert!(error.to_string().contains("momentum"), "{error}");
    }
}

#[test]
fn only_float32_is_updated() {
    let half = Var::zeros(3, DType::F16, &Device::Cpu).unwrap();
    let error = Optimizer::new(&adam(), vec![Parameter::new("half", half)]).unwrap_err();
    assert!(error.to_string().contains("half of f16"), "{error}");
}

#[test]
fn a_parameter_without_a_gradient_is_left_alone() {
    let parameters = three();
    let mut optimizer = Optimizer::new(&adam(), parameters.clone()).unwrap();
    let mut gradients = Gradients::new();
    gradients.set(&parameters[1], vec![1.0, -1.0]);
    optimizer.step(&gradients).unwrap();
    optimizer.step(&gradients).unwrap();
    let state = optimizer.state().unwrap();
    let steps: Vec<_> = { state.groups()[0].parameters().iter() }
        .map(|saved| (saved.step(), saved.slot_names().count()))
        .collect();
    assert_eq!(steps, [(None, 0), (Some(2.0), 3), (None, 0)]);
    for untouched in [0, 2] {
        let values = parameters[untouched].var.to_vec1::<f32>().unwrap();
        assert_eq!(values, [1.0, 2.0]);
    }
    assert_ne!(parameters[1].var.to_vec1::<f32>().unwrap(), [1.0, 2.0]);
}

#[test]
fn a_step_that_cannot_be_taken_changes_nothing() {
    let parameters = three();
    let mut optimizer = Optimizer::new(&adam(), parameters.clone()).unwrap();
    let mut gradients = Gradients::new();
    gradients.set(&parameters[0], vec![1.0, 1.0]);
    gradients.set(&parameters[2], vec![1.0]);
    let error = optimizer.step(&gradients).unwrap_err();
    assert!(error.to_string().contains("b.weight"), "{error}");
    gradients.set(&parameters[2], vec![1.0, 1.0]);
    optimizer.groups_mut()[0].set("lr", Data::None);
    assert!(optimizer.step(&gradients).is_err());
    assert!(optimizer.learning_rate().is_nan());
    for parameter in &parameters {
        assert_eq!(parameter.var.to_vec1::<f32>().unwrap(), [1.0, 2.0]);
    }
}

#[test]
fn integers_among_the_settings_stay_integers() {
    let params = NNOptimParams::builder(Optims::Sgd, 1, 0.5, 0)
        .build()
        .unwrap();
    let optimizer = Optimizer::new(&params, three()).unwrap();
    let settings = optimizer.groups()[0].settings();
    for (name, expected) in [("lr", 1), ("weight_decay", 0), ("dampening", 0)] {
        assert_eq!(settings.get(name).and_then(Data::as_int), Some(expected));
    }
}
