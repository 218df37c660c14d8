//! Values that are no tensors, against what Python shows of them.

use std::path::Path;

use nnx_checkpoint::{CheckpointReader, PickledValue};
use nnx_tests::{Json, fixtures_dir};

/// The value that is listed under a path.
fn value(path: &Path, name: &str) -> PickledValue {
    let reader = CheckpointReader::open(path).unwrap_or_else(|error| panic!("{error}"));
    let others = reader.non_tensors();
    let entry = others.iter().find(|other| other.path() == name);
    let entry = entry.unwrap_or_else(|| panic!("no `{name}` in {others:?}"));
    reader
        .value(entry)
        .unwrap_or_else(|| panic!("`{name}` has no value: {}", entry.description()))
}

fn text(text: &str) -> PickledValue {
    PickledValue::Text {
        text: text.to_owned(),
        characters: text.chars().count(),
    }
}

/// A value as Python shows it, for the kinds that the fixtures hold.
fn shown(value: &PickledValue) -> String {
    let items = |items: &[PickledValue]| items.iter().map(shown).collect::<Vec<_>>().join(", ");
    let pairs = |pairs: &[(String, PickledValue)], join: &str, quote: &str| {
        let pairs = pairs.iter();
        let pairs = pairs.map(|(key, value)| format!("{quote}{key}{quote}{join}{}", shown(value)));
        pairs.collect::<Vec<_>>().join(", ")
    };
    match value {
        PickledValue::None => "None".to_owned(),
        PickledValue::Bool(true) => "True".to_owned(),
        PickledValue::Bool(false) => "False".to_owned(),
        PickledValue::Int(int) => int.to_string(),
        PickledValue::Float(float) => {
            nnx_params::python_text::repr(&nnx_params::Value::Float(*float))
        }
        PickledValue::Text { text, characters } if text.len() == *characters => {
            format!("'{text}'")
        }
        PickledValue::Text { text, characters } => {
            assert_eq!(text.len(), 2000);
            characters.to_string()
        }
        PickledValue::Sequence {
            items: first,
            count,
            ..
        } if first.len() < *count => {
            assert_eq!(first.len(), 200);
            count.to_string()
        }
        PickledValue::Sequence {
            class, items: all, ..
        } => match *class {
            "tuple" => format!("({})", items(all)),
            "set" => format!("{{{}}}", items(all)),
            "frozenset" => format!("frozenset({{{}}})", items(all)),
            _ => format!("[{}]", items(all)),
        },
        PickledValue::Mapping { pairs: all, .. } => format!("{{{}}}", pairs(all, ": ", "'")),
        PickledValue::Path(text) | PickledValue::Date(text) => text.clone(),
        PickledValue::Object {
            class, attributes, ..
        } => {
            let class = class.rsplit('.').next().unwrap();
            format!("{class}({})", pairs(attributes, "=", ""))
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn the_arguments_of_a_training_are_what_python_shows() {
    let dir = fixtures_dir().join("values");
    let expected = Json::read(&dir.join("expected.json"));
    for protocol in [0, 2, 4] {
        let path = dir.join(format!("arguments_{protocol}.pkl"));
        for name in expected.state().keys() {
            // Python knows the name of a member, a pickle has its value.
            let expected = match name {
                "safe" => {
                    let args = vec![PickledValue::Int(0)];
                    let callable = "uuid.SafeUUID".to_owned();
                    let expected = PickledValue::Call { callable, args };
                    assert_eq!(value(&path, name), expected);
                    continue;
                }
                // A mapping is listed by its keys.
                "ordered" => {
                    assert_eq!(value(&path, "ordered.a"), PickledValue::Int(1));
                    continue;
                }
                name => expected.get(name).text().to_owned(),
            };
            let found = shown(&value(&path, name));
            assert_eq!(found, expected, "protocol {protocol}, `{name}`");
        }
    }
}

/// The files that trainers leave beside the weights, as PyTorch and transformers wrote them.
#[test]
fn the_side_files_of_a_trainer_are_read() {
    let dir = fixtures_dir().join("cases/E13_trainer_side_files");
    let arguments = dir.join("training_args.bin");
    assert_eq!(
        value(&arguments, "learning_rate"),
        PickledValue::Float(5e-5)
    );
    assert_eq!(value(&arguments, "output_dir"), text("out"));
    assert_eq!(value(&arguments, "seed"), PickledValue::Int(42));
    for (name, class, member) in [
        (
            "save_strategy",
            "transformers.trainer_utils.IntervalStrategy",
            "steps",
        ),
        (
            "optim",
            "transformers.training_args.OptimizerNames",
            "adamw_torch",
        ),
    ] {
        let expected = PickledValue::Call {
            callable: class.to_owned(),
            args: vec![text(member)],
        };
        assert_eq!(value(&arguments, name), expected);
    }
    let scheduler = dir.join("scheduler.pt");
    let floats = |number| PickledValue::Sequence {
        class: "list",
        items: vec![PickledValue::Float(number); 2],
        count: 2,
    };
    assert_eq!(value(&scheduler, "base_lrs"), floats(5e-5));
    assert_eq!(value(&scheduler, "_last_lr"), floats(4.9e-5));

    // A member of an enumeration that CPython 3.11.0 to 3.11.3 pickled by its name.
    let arguments = fixtures_dir().join("cases/E03_enum_by_getattr/training_args.bin");
    let expected = PickledValue::Attribute {
        class: "transformers.trainer_utils.SchedulerType".to_owned(),
        name: "LINEAR".to_owned(),
    };
    assert_eq!(value(&arguments, "lr_scheduler_type"), expected);
}

/// The groups of optimizers that were all made with `lr=0.1`.
#[test]
fn the_groups_of_optimizers_are_read() {
    let path = fixtures_dir().join("scan/optimizer_states.pt");
    let reader = CheckpointReader::open(&path).unwrap();
    let others = reader.non_tensors().iter();
    let rates = others.filter(|other| other.path().ends_with("param_groups.0.lr"));
    let rates: Vec<_> = rates.map(|other| reader.value(other)).collect();
    assert_eq!(rates, vec![Some(PickledValue::Float(0.1)); 10]);
}
