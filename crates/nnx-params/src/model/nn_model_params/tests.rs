//! Outcomes of NNx 0.4.1.

use crate::python::text::{json_dumps, json_loads};
use crate::{
    NNModelParams, Nets, PrecisionFallback, PrecisionMode, PrecisionPolicy, Result, RuntimeModule,
};

fn read(text: &str) -> Result<NNModelParams> {
    NNModelParams::from_state(json_loads(text).unwrap().as_map().unwrap())
}

#[track_caller]
fn check_kept(text: &str, str: &str) {
    let params = read(text).unwrap();
    assert_eq!(json_dumps(&params.full_state().unwrap().into()), text);
    assert_eq!(params.to_string(), str);
}

#[test]
fn descriptors_and_their_unknown_keys_are_kept() {
    check_kept(
        r#"{"net": {"kind": "runtime", "module": "m.N", "topology": "ab", "reconstructible": false, "later": 1}, "loss": "cross_entropy", "device": "cpu"}"#,
        "[net=runtime:m.N, device=cpu, loss=cross_entropy, mixed_precision=False]",
    );
    check_kept(
        r#"{"net": {"kind": "registered", "id": "m", "version": 2, "config": {"a": [1, 2.5]}, "seed": 0, "later": {}}, "loss": "cross_entropy", "device": "cpu", "later": null}"#,
        "[net=m@v2, device=cpu, loss=cross_entropy, mixed_precision=False]",
    );
    check_kept(
        r#"{"net": "vit", "loss": "cross_entropy", "device": "mps", "mixed_precision": true, "task": {"version": 1, "kind": "categorical", "num_outputs": 2, "ignore_index": -100, "labels": ["a", "b"]}}"#,
        "[net=vit, device=mps, loss=cross_entropy, mixed_precision=True, task=categorical[2]]",
    );
}

#[test]
fn redundant_precision_is_dropped() {
    let policy = |mode| PrecisionPolicy::new(mode, PrecisionFallback::Fp32);
    let builder = || NNModelParams::builder(Nets::FeedFwd);
    let fp32 = builder()
        .precision(policy(PrecisionMode::Fp32))
        .build()
        .unwrap();
    assert_eq!(fp32.precision(), None);
    let fp16 = builder()
        .mixed_precision(true)
        .precision(policy(PrecisionMode::Fp16));
    let fp16 = fp16.build().unwrap();
    assert!(!fp16.mixed_precision());
    assert_eq!(fp16.precision(), Some(&policy(PrecisionMode::Fp16)));
    let bf16 = builder()
        .mixed_precision(true)
        .precision(policy(PrecisionMode::Bf16));
    assert_eq!(bf16.build().unwrap_err().python_exception(), "ValueError");
}

#[track_caller]
fn check_fails(text: &str, exception: &str, field: &str) {
    let error = read(text).unwrap_err();
    assert_eq!(
        (error.python_exception(), error.field()),
        (exception, Some(field)),
        "{error}"
    );
}

#[test]
fn faults_are_named() {
    check_fails(
        r#"{"loss": "cross_entropy", "device": "cpu"}"#,
        "KeyError",
        "net",
    );
    let with = |net: &str, rest: &str| {
        format!(r#"{{"net": {net}, "loss": "cross_entropy", "device": "cpu"{rest}}}"#)
    };
    check_fails(&with("null", ""), "ValueError", "net");
    check_fails(&with("\"nope\"", ""), "ValueError", "net");
    check_fails(&with(r#"{"kind": "other"}"#, ""), "ValueError", "net");
    check_fails(
        &with(r#"{"kind": "runtime", "module": "m"}"#, ""),
        "KeyError",
        "topology",
    );
    check_fails(
        &with("\"conv\"", r#", "task": {"version": 2}"#),
        "ValueError",
        "version",
    );
    let unknown = r#", "task": {"version": 1, "kind": "regression", "zzz": 1}"#;
    check_fails(&with("\"conv\"", unknown), "ValueError", "zzz");
    check_fails(
        &with("\"conv\"", r#", "precision": {}"#),
        "KeyError",
        "mode",
    );
    let unknown = r#", "precision": {"mode": "fp16", "zzz": 1}"#;
    check_fails(&with("\"conv\"", unknown), "ValueError", "zzz");
}

#[test]
fn a_missing_net_is_kept_but_not_serialised() {
    let params = NNModelParams::builder(None).build().unwrap();
    assert_eq!(params.net(), None);
    assert_eq!(params.state().unwrap_err().python_exception(), "ValueError");
    assert!(params.to_string().starts_with("[net=None, "));
    let module = RuntimeModule::new("m.N", "ab").unwrap();
    assert!(
        NNModelParams::builder(module)
            .build()
            .unwrap()
            .state()
            .is_ok()
    );
}
