//! Configurations that make no model.

use nnx_params::{NNMoEParams, NNParams, NetDescriptor, Nets, RuntimeModule, TaskKind, TaskSpec};

use super::*;
use crate::error::ErrorKind;

#[track_caller]
fn check_build(net: Option<NetDescriptor>, params: NetParams, expected: &str) {
    let model_params = NNModelParams::builder(net).build().unwrap();
    let error = NNModel::new(params, model_params, 0).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn what_cannot_be_built_is_named() {
    let moe = || {
        NetParams::from(
            NNMoEParams::builder(4, 2, 2)
                .hidden_dims([3])
                .dropout_prob(0.0)
                .build()
                .unwrap(),
        )
    };
    // Python: Nets.CONV requires NNConvParams; got NNParams
    check_build(
        Nets::Conv.into(),
        net_params(&[4, 2]),
        "net `conv` needs `NNConvParams`, got `NNParams`",
    );
    // Python: NNMoEParams is only compatible with Nets.FEED_FWD_MOE; got Nets.FEED_FWD
    check_build(
        Nets::FeedFwd.into(),
        moe(),
        "net `feed_fwd` needs `NNParams`, got `NNMoEParams`",
    );
    // Python: NNModelParams.net is required
    check_build(
        None,
        net_params(&[4, 2]),
        "expected one of `Nets` as the net of the model parameters, found none",
    );
    let module = RuntimeModule::new("my.Net", "d41d8cd98f00b204e9800998ecf8427e").unwrap();
    check_build(
        module.into(),
        net_params(&[4, 2]),
        "net `my.Net` is a Python module that no configuration can rebuild",
    );
}

#[test]
fn a_hidden_layer_needs_an_activation() {
    // Python: activation must be set when no per-layer activation override is available
    let params = NNParams::builder(4, 2)
        .hidden_dims([3])
        .activation(None)
        .dropout_prob(0.0);
    let error = NNModel::new(params.build().unwrap().into(), feed_fwd(), 0).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Params(_)), "{error:?}");
}

#[test]
fn a_task_that_does_not_fit_is_refused() {
    let params = NNModelParams::builder(Nets::FeedFwd)
        .task(TaskSpec::builder(TaskKind::Regression).build().unwrap())
        .build()
        .unwrap();
    let error = NNModel::new(net_params(&[4, 2]), params, 0).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::InvalidConfiguration { .. }),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        "a regression task needs the loss `mean_squared_error`, got `cross_entropy`"
    );
}
