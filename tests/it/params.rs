//! Judges the parameters against what the real library printed, for both of its versions.

mod corpus;

use self::corpus::{Form, build, cases, decode, fixture, map, report, text};

use nnx_params::python_text::{json_dumps, json_loads, repr};
use nnx_params::{
    Activations, Checkpoints, Devices, Losses, NNCheckpointTransform, NNEvaluationDataPoint,
    NNIterationDataPoint, NNModelParams, NNTrainParams, NNTrainerParams, NetParams, Nets, Optims,
    PythonClass, Result, RunIdentity, Schedulers, State, Value, run_id, validate_run_id,
    validate_salt,
};

const NEW: &str = "nnx-0.4.1";
const OLD: &str = "nnx-0.2.3";

#[test]
fn enums() {
    for version in [NEW, OLD] {
        let fixture = fixture(version, "enums");
        let enums = fixture.as_map().expect("a mapping");
        let mut judged = 0;
        macro_rules! judge {
            ($($class:ident),*) => {$(
                let case = map(enums, $class::CLASS);
                assert_eq!(text(case, "module"), $class::MODULE);
                let members = case.get("members").and_then(Value::as_items).expect("members");
                let mut names = Vec::new();
                for member in members {
                    let parts: Vec<_> = member
                        .as_items()
                        .expect("a member")
                        .iter()
                        .map(|part| part.as_str().expect("a text"))
                        .collect();
                    let [name, value, str, _repr] = parts[..] else {
                        panic!("a member has a name, a value, a str and a repr");
                    };
                    let member: $class = value.parse().expect(value);
                    assert_eq!(member.name(), name);
                    assert_eq!(member.value(), value);
                    assert_eq!(member.to_string(), str);
                    names.push(name);
                    judged += 1;
                }
                // The older version has a part of the members, in the same order.
                let known: Vec<_> = $class::all()
                    .iter()
                    .map(|member| member.name())
                    .filter(|name| version == NEW || names.contains(name))
                    .collect();
                assert_eq!(names, known);
                let first = $class::all()[0];
                let reduce = case.get("reduce").and_then(Value::as_items).expect("reduce");
                let path = format!("{}.{}", $class::MODULE, $class::CLASS);
                assert_eq!(reduce[0], path.as_str().into());
                assert_eq!(reduce[1], vec![first.value()].into());
                assert!("nope".parse::<$class>().is_err());
                assert!(first.name().parse::<$class>().is_err());
            )*};
        }
        judge!(
            Activations,
            Devices,
            Losses,
            Nets,
            Optims,
            Schedulers,
            Checkpoints
        );
        assert_eq!(enums.len(), 7);
        report(version, "enums", judged, " (members)");
    }
}

/// The constructor's arguments of a dumped object; the values that the dump only names are taken
/// from its state.
fn fields_of(dump: &State, state: &State) -> State {
    let mut fields = State::new();
    for (field, value) in dump.iter() {
        let named = value
            .as_map()
            .is_some_and(|nested| nested.contains_key("str"));
        let list_of_named = value.as_items().is_some_and(|items| {
            items
                .iter()
                .any(|item| item.as_map().is_some_and(|item| item.contains_key("str")))
        });
        match state.get(field) {
            Some(nested) if named || list_of_named => {
                fields.insert(field, nested.clone());
            }
            // A nested object at its default is in no state, and neither is an empty mapping.
            None if named => {}
            _ => {
                fields.insert(field, value.clone());
            }
        }
    }
    fields
}

#[test]
fn states() {
    for version in [NEW, OLD] {
        let fixture = fixture(version, "states");
        let mut judged = 0;
        for case in cases(&fixture) {
            let desc = text(case, "desc");
            let class = text(case, "class");
            let state = map(case, "state");
            let object = build(class, Form::Fields, &fields_of(map(case, "fields"), state))
                .unwrap_or_else(|error| panic!("{desc}: {error}"));
            assert_eq!(&object.state, state, "{desc}");
            let keys: Vec<_> = object.state.keys().collect();
            assert_eq!(
                Value::from(keys),
                case.get("state_key_order").expect("keys").clone()
            );
            assert_eq!(
                repr(&state.clone().into()),
                text(case, "str_state"),
                "{desc}"
            );
            let str = case.get("str").expect("str");
            assert_eq!(&Value::from(object.text.clone()), str, "{desc}");

            let reloaded =
                build(class, Form::State, state).unwrap_or_else(|error| panic!("{desc}: {error}"));
            assert_eq!(&reloaded.state, state, "{desc}");
            assert_eq!(&reloaded.full_state, state, "{desc}");
            assert_eq!(case.get("roundtrip_state_equal"), Some(&Value::Bool(true)));
            // Python's `==` takes 10000 for 10000.0, of which the state has neither.
            let equal = reloaded == object || desc == "transformer rope_base int equal default";
            let expected = case.get("roundtrip_object_equal");
            assert_eq!(expected, Some(&Value::Bool(equal)), "{desc}");
            if NetParams::fields_of(class).is_some() {
                let net = NetParams::resolve_from_state(state).expect(desc);
                assert_eq!(net.class(), text(case, "reloaded_class"), "{desc}");
                assert_eq!(&net.state(), state, "{desc}");
            }
            // A key of a later version is kept, at its level and last.
            let mut later = state.clone();
            later.insert("zzz", vec![1.5]);
            let kept = build(class, Form::State, &later).expect(desc);
            assert_eq!(&kept.state, state, "{desc}");
            assert_eq!(kept.full_state, later, "{desc}");
            judged += 1;
        }
        report(version, "states", judged, "");
    }
}

#[test]
fn from_state() {
    let new = fixture(NEW, "from_state");
    for version in [NEW, OLD] {
        let fixture = fixture(version, "from_state");
        let (mut judged, mut by_new) = (0, 0);
        for own in cases(&fixture) {
            let desc = text(own, "desc");
            let state = map(own, "state");
            let case = cases(&new)
                .into_iter()
                .find(|case| map(case, "state") == state)
                .unwrap_or(own);
            by_new += usize::from(case != own);
            match (NetParams::resolve_from_state(state), case.get("error")) {
                (Ok(net), None) => {
                    assert_eq!(net.class(), text(case, "class"), "{desc}");
                    assert_eq!(&net.state(), map(case, "state_back"), "{desc}");
                    // Nothing that the state had is lost, other than a null that means nothing.
                    let full_state = net.full_state();
                    for (key, value) in state {
                        assert!(
                            value.is_none() || full_state.contains_key(key),
                            "{desc}: {key}"
                        );
                    }
                }
                (Err(error), Some(expected)) => {
                    let exception = error.python_exception();
                    assert_eq!(expected, &Value::from(exception), "{desc}: {error}");
                    if exception == "KeyError" {
                        let key = repr(&error.field().expect("a key").into());
                        assert_eq!(case.get("arg"), Some(&Value::from(key)), "{desc}");
                    }
                }
                (got, expected) => panic!("{desc}: got {got:?}, expected error {expected:?}"),
            }
            judged += 1;
        }
        let note = format!(", {by_new} of them against the outcome of 0.4.1, which differs");
        report(
            version,
            "from_state",
            judged,
            if by_new == 0 { "" } else { &note },
        );
    }
}

#[test]
fn validation() {
    let new = fixture(NEW, "validation");
    let key = |case: &State| (text(case, "class").to_owned(), map(case, "kwargs").clone());
    for version in [NEW, OLD] {
        let fixture = fixture(version, "validation");
        let (mut judged, mut laxer) = (0, 0);
        for own in cases(&fixture) {
            let case = cases(&new)
                .into_iter()
                .find(|case| key(case) == key(own))
                .unwrap_or_else(|| panic!("0.4.1 has no outcome for {:?}", key(own)));
            let ok = |case: &State| case.get("ok").and_then(Value::as_bool);
            assert!(ok(own) >= ok(case), "0.2.3 refuses what 0.4.1 accepts");
            laxer += usize::from(ok(own) != ok(case));
            let (class, kwargs) = key(case);
            let desc = format!("{class}{}", repr(&kwargs.clone().into()));
            let built = build(&class, Form::Fields, &kwargs);
            match (built, ok(case)) {
                (Ok(object), Some(true)) => {
                    // The dump has every field as the real constructor left it.
                    let dump = fields_of(map(case, "fields"), &object.state);
                    let expected = build(&class, Form::Fields, &dump)
                        .unwrap_or_else(|error| panic!("{desc}: {error}"));
                    assert_eq!(object, expected, "{desc}");
                }
                (Err(error), Some(false)) => {
                    assert_eq!(
                        error.python_exception(),
                        text(case, "error"),
                        "{desc}: {error}"
                    );
                    assert_eq!(error.class(), Some(class.as_str()), "{desc}: {error}");
                    let message = error.to_string();
                    let mentions = case.get("mentions").and_then(Value::as_items);
                    for mention in mentions.expect("mentions") {
                        let field = mention.as_str().expect("a field");
                        // Python's wording happens to hold these; they are not at fault.
                        if !matches!(field, "name" | "name_pattern") {
                            assert!(message.contains(field), "{desc}: `{field}` in `{message}`");
                        }
                    }
                }
                (got, ok) => panic!("{desc}: got {got:?}, expected ok {ok:?}"),
            }
            judged += 1;
        }
        let note = format!(", {laxer} of them refused as by 0.4.1, though 0.2.3 accepted them");
        report(
            version,
            "validation",
            judged,
            if laxer == 0 { "" } else { &note },
        );
    }
}

#[test]
fn run_ids() {
    for version in [NEW, OLD] {
        let fixture = fixture(version, "run_ids");
        let mut judged = 0;
        for case in cases(&fixture) {
            let desc = text(case, "desc");
            let state = map(case, "state");
            let model = NNModelParams::from_state(map(state, "model")).expect(desc);
            let train = NNTrainParams::from_state(map(state, "train")).expect(desc);
            let net = state.get("net").and_then(Value::as_map);
            let net = net.map(|net| NetParams::resolve_from_state(net).expect(desc));
            let trainer = state.get("trainer").and_then(Value::as_map);
            let trainer = trainer.map(|state| NNTrainerParams::from_state(state).expect(desc));
            let transforms: Vec<_> = state
                .get("transforms")
                .and_then(Value::as_items)
                .into_iter()
                .flatten()
                .map(|item| NNCheckpointTransform::from_state(item.as_map().expect(desc)))
                .collect::<Result<_>>()
                .expect(desc);
            let mut identity = RunIdentity::new(&model, &train).transforms(&transforms);
            if let Some(net) = &net {
                identity = identity.net(net);
            }
            if let Some(trainer) = &trainer {
                identity = identity.trainer(trainer);
            }
            if let Some(salt) = state.get("salt").and_then(Value::as_str) {
                identity = identity.salt(salt);
            }
            let rebuilt = identity.state().expect(desc);
            assert_eq!(&rebuilt, state, "{desc}");
            assert_eq!(
                repr(&rebuilt.clone().into()),
                text(case, "hashed_text"),
                "{desc}"
            );
            assert_eq!(run_id(&rebuilt), text(case, "run_id"), "{desc}");
            judged += 1;
        }
        report(version, "run_ids", judged, "");
    }
}

/// The pairs of a value and its outcome.
fn pairs(fixture: &Value) -> Vec<(&Value, &Value)> {
    let items = fixture.as_items().expect("a list of cases");
    assert!(!items.is_empty(), "the corpus has cases");
    items
        .iter()
        .map(|item| match item.as_items() {
            Some([value, outcome]) => (value, outcome),
            _ => panic!("a case is a value and an outcome, found {item:?}"),
        })
        .collect()
}

#[test]
fn run_id_validation() {
    for version in [NEW, OLD] {
        let fixture = fixture(version, "run_id_validation");
        let (mut judged, mut by_type) = (0, 0);
        for (value, outcome) in pairs(&fixture) {
            let valid = match value {
                Value::Str(id) => validate_run_id(id).is_ok(),
                // A value that is no text cannot even be passed.
                _ => {
                    by_type += 1;
                    false
                }
            };
            assert_eq!(outcome, &Value::Bool(valid), "{value:?}");
            judged += 1;
        }
        report(
            version,
            "run_id_validation",
            judged,
            &format!(", {by_type} of them by the type"),
        );
    }
}

#[test]
fn salt_validation() {
    for version in [NEW, OLD] {
        let fixture = fixture(version, "salt_validation");
        let mut judged = 0;
        for (value, outcome) in pairs(&fixture) {
            let got = match validate_salt(value) {
                Ok(()) => Value::Bool(true),
                Err(error) => error.python_exception().into(),
            };
            assert_eq!(&got, outcome, "{value:?}");
            judged += 1;
        }
        report(version, "salt_validation", judged, "");
    }
}

#[test]
fn mean_of() {
    // The older version has no such fixture.
    let fixture = fixture(NEW, "mean_of");
    let mut judged = 0;
    for case in cases(&fixture) {
        let points: Vec<_> = case
            .get("in")
            .and_then(Value::as_items)
            .expect("points")
            .iter()
            .map(|item| NNEvaluationDataPoint::from_state(item.as_map().expect("a point")))
            .collect::<Result<_>>()
            .expect("valid points");
        let mean = NNEvaluationDataPoint::mean_of(&points).expect("a mean");
        assert_eq!(&mean.state(), map(case, "out"), "{}", text(case, "name"));
        judged += 1;
    }
    report(NEW, "mean_of", judged, "");
}

/// The parameters in the checkpoints are those that the sidecars of the checkpoints state.
#[test]
fn checkpoint_states() {
    for version in [NEW, OLD] {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
        let folder = format!("{root}/{version}/checkpoints");
        let mut judged = 0;
        for entry in std::fs::read_dir(&folder).expect(&folder) {
            let path = entry.expect(&folder).path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let desc = path.display().to_string();
            let text_of_file = std::fs::read_to_string(&path).expect(&desc);
            let sidecar = decode(&json_loads(&text_of_file).expect(&desc));
            let case = sidecar.as_map().expect(&desc);
            if let Some(state) = case.get("net_params_state").and_then(Value::as_map) {
                let net = NetParams::resolve_from_state(state).expect(&desc);
                assert_eq!(net.class(), text(case, "net_params_class"), "{desc}");
                assert_eq!(&net.state(), state, "{desc}");
                let fields = map(case, "net_params_fields");
                let net = NetParams::from_fields(net.class(), fields).expect(&desc);
                assert_eq!(&net.state(), state, "{desc}");
                judged += 1;
            }
            if let Some(state) = case.get("model_params_state").and_then(Value::as_map) {
                let model = NNModelParams::from_state(state).expect(&desc);
                assert_eq!(&model.full_state().expect(&desc), state, "{desc}");
                judged += 1;
            }
            if let Some(state) = case.get("idp_state").and_then(Value::as_map) {
                let idp = NNIterationDataPoint::from_state(state).expect(&desc);
                assert_eq!(&idp.full_state(), state, "{desc}");
                assert_eq!(
                    json_dumps(&idp.state().into()),
                    text(case, "idp_json"),
                    "{desc}"
                );
                judged += 1;
            }
            let transforms = case.get("transforms").and_then(Value::as_items);
            for state in transforms.into_iter().flatten() {
                let state = state.as_map().expect(&desc);
                let transform = NNCheckpointTransform::from_state(state).expect(&desc);
                assert_eq!(&transform.state(), state, "{desc}");
                judged += 1;
            }
        }
        assert_ne!(judged, 0, "{version}: no sidecar was judged");
        println!("{version}/checkpoints/*.json: {judged} states judged");
    }
}

/// The modules in which the library defines the classes: `cls.__module__` of each.
#[test]
fn modules() {
    macro_rules! check {
        ($($module:literal: $($class:ident),*;)*) => {$($(
            let table = <nnx_params::$class as PythonClass>::TABLE;
            assert_eq!((table.module, table.class), ($module, stringify!($class)));
        )*)*};
    }
    check! {
        "nnx.finetune.param_groups": NNParamGroupSpec;
        "nnx.models": ModelSpec, RuntimeModule;
        "nnx.monitors": MetricSpec, MonitorRecord, MonitorSpec;
        "nnx.nn.params.nn_checkpoint": NNCheckpointTransform;
        "nnx.nn.params.nn_conv_params": NNConvParams;
        "nnx.nn.params.nn_evaluation_data_point": NNEvaluationDataPoint;
        "nnx.nn.params.nn_iteration_data_point": NNIterationDataPoint;
        "nnx.nn.params.nn_model_params": NNModelParams;
        "nnx.nn.params.nn_moe_params": NNMoEParams;
        "nnx.nn.params.nn_optim_params": NNOptimParams;
        "nnx.nn.params.nn_params": NNParams;
        "nnx.nn.params.nn_scheduler_params": NNSchedulerParams;
        "nnx.nn.params.nn_tokenizer_params": NNTokenizerParams;
        "nnx.nn.params.nn_train_params": NNTrainParams;
        "nnx.nn.params.nn_transformer_params": NNTransformerParams;
        "nnx.nn.params.nn_vit_params": NNViTParams;
        "nnx.optimizers": NNOptimFactoryParams, OptimizerFactorySpec;
        "nnx.precision": PrecisionPolicy;
        "nnx.tasks": TaskSpec;
        "nnx.trainer.params": NNTrainerParams;
    }
}
