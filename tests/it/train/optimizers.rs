//! Updates from given gradients, equal to the library's bit for bit.

use candle_core::{Device, Tensor, Var};
use nnx_checkpoint::CheckpointReader;
use nnx_params::{NNOptimParams, Optims, State, Value};
use nnx_run::{Data, GroupSettings, OptimizerGroup, OptimizerParameter, OptimizerState};
use nnx_tests::Json;
use nnx_train::{Gradients, Optimizer, Parameter, ParameterGroup};

use super::fixture::folder;
use super::recorded::{Recorded, TRAINER, bits, check_data, values};

/// The parameters of NNx for a setting of `optimizers.json`, if it can build it.
fn params(name: &str, group: &State) -> Option<NNOptimParams> {
    let float = |key: &str| Json(group.get(key).unwrap().clone()).float();
    let optim = match name {
        "sgd" | "sgd_wd" | "sgd_momentum" | "sgd_momentum_wd" => Optims::Sgd,
        "sgd_nesterov" => Optims::SgdNesterov,
        "adam" | "adam_wd" | "adam_betas" | "adam_zero_betas" => Optims::Adam,
        "adam_amsgrad" => Optims::AdamAmsgrad,
        "adamw" | "adamw_eps" => Optims::Adamw,
        _ => return None,
    };
    let (lr, weight_decay) = (float("lr"), float("weight_decay"));
    let params = if optim.is_sgd() {
        NNOptimParams::builder(optim, lr, float("momentum"), weight_decay)
    } else {
        let betas = group.get("betas").unwrap().as_items().unwrap();
        let [first, second] = [0, 1].map(|index| Json(betas[index].clone()).float());
        NNOptimParams::builder(optim, lr, (first, second), weight_decay).eps(float("eps"))
    };
    Some(params.build().unwrap())
}

/// The group as PyTorch has it, where JSON made a list of the betas.
fn settings(group: &State) -> GroupSettings {
    let settings = group.iter().filter(|(name, _)| *name != "params");
    let settings = settings.map(|(name, value)| match value {
        Value::List(betas) => (name, Data::Tuple(betas.iter().map(Data::from).collect())),
        value => (name, Data::from(value)),
    });
    settings.collect()
}

fn check_settings(found: &GroupSettings, expected: &State, at: &str) {
    let names: Vec<_> = expected.keys().filter(|name| *name != "params").collect();
    assert_eq!(found.names().collect::<Vec<_>>(), names, "{at}");
    for name in names {
        let (found, expected) = (found.get(name).unwrap(), expected.get(name).unwrap());
        match (found.as_f64(), expected) {
            // Where PyTorch's default is an integer, NNx gives a float.
            (Some(found), Value::Int(_) | Value::Float(_)) => {
                assert_eq!(found, Json(expected.clone()).float(), "{at} {name}");
            }
            _ => check_data(found, expected, &format!("{at} {name}")),
        }
    }
}

struct Parts {
    json: Json,
    tensors: CheckpointReader,
}

impl Parts {
    fn tensor(&self, name: &str) -> Tensor {
        Tensor::try_from(&self.tensors.tensor(name).unwrap()).unwrap()
    }

    fn parameters(&self) -> Vec<Parameter> {
        let indices = 0..self.json.get("shapes").items().len();
        let parameters = indices.map(|index| {
            let start = self.tensor(&format!("start.{index}"));
            Parameter::new(index.to_string(), Var::from_tensor(&start).unwrap())
        });
        parameters.collect()
    }

    /// Takes twenty steps, and returns how many elements were compared.
    fn check(&self, name: &str, mut optimizer: Optimizer) -> usize {
        let steps = self.json.get("steps").size();
        let parameters: Vec<_> = optimizer.parameters().cloned().collect();
        let rows = |prefix: &str| -> Vec<Tensor> {
            let indices = 0..parameters.len();
            indices
                .map(|index| self.tensor(&format!("{prefix}.{index}")))
                .collect()
        };
        let (gradients, expected) = (rows("grad"), rows(name));
        let mut judged = 0;
        for step in 0..steps {
            let mut given = Gradients::new();
            for (parameter, rows) in parameters.iter().zip(&gradients) {
                given.set(parameter, values(&rows.get(step).unwrap()));
            }
            optimizer.step(&given).unwrap();
            for (parameter, rows) in parameters.iter().zip(&expected) {
                let (found, expected) = (values(&parameter.var), values(&rows.get(step).unwrap()));
                assert_eq!(bits(&found), bits(&expected), "{name} step {step}");
                judged += found.len();
            }
        }
        let state = optimizer.state().unwrap();
        let keys = self
            .json
            .get("optimizers")
            .get(name)
            .get("state_keys")
            .texts();
        for (index, saved) in state.groups()[0].parameters().iter().enumerate() {
            let mut names: Vec<_> = saved.slot_names().collect();
            names.sort_unstable();
            assert_eq!(names, keys, "{name}");
            for key in &keys {
                let found = saved.slot(key).unwrap().as_tensor().unwrap();
                let found = Tensor::try_from(found).unwrap();
                let expected = self.tensor(&format!("{name}.state.{index}.{key}"));
                // The fixture has a number as an array of one.
                if key != "step" {
                    assert_eq!(found.dims(), expected.dims(), "{name} {key}");
                }
                assert_eq!(
                    bits(&values(&found)),
                    bits(&values(&expected)),
                    "{name} {key}"
                );
            }
        }
        judged
    }
}

#[test]
fn every_setting_gives_the_library_s_weights_and_state_for_twenty_steps() {
    let parts = Parts {
        json: Json::read(&folder().join("optimizers.json")),
        tensors: CheckpointReader::open(folder().join("optimizers.safetensors")).unwrap(),
    };
    let all = parts.json.get("optimizers");
    let (mut judged, mut configured) = (0, 0);
    for (name, setting) in all.state().iter() {
        let setting = Json(setting.clone());
        let (class, group) = (setting.get("class"), setting.get("group"));
        let parameters = parts.parameters();
        let saved = parameters.iter();
        let saved = saved.map(|one| OptimizerParameter::new(&one.name, one.var.dims()));
        let saved = OptimizerGroup::with_settings(settings(group.state()), saved.collect());
        let saved = OptimizerState::with_class(class.text(), vec![saved]);
        let optimizer = Optimizer::from_state(&saved, parameters).unwrap();
        judged += parts.check(name, optimizer);
        if let Some(params) = params(name, group.state()) {
            let optimizer = Optimizer::new(&params, parts.parameters()).unwrap();
            assert_eq!(optimizer.class(), class.text());
            check_settings(optimizer.groups()[0].settings(), group.state(), name);
            judged += parts.check(name, optimizer);
            configured += 1;
        }
    }
    println!("updated elements judged: {judged}");
    assert_eq!((all.state().len(), configured), (16, 12));
    assert_eq!(judged, (16 + 12) * 20 * (35 + 7 + 13 + 1));
}

/// Gives the groups the rate and the momentum that they had.
fn set_groups(groups: &mut [ParameterGroup], recorded: &Json) {
    let recorded = recorded.items();
    assert_eq!(groups.len(), recorded.len());
    for (group, recorded) in groups.iter_mut().zip(recorded) {
        for (name, value) in recorded.state().iter() {
            let value = match value {
                Value::List(betas) => Data::Tuple(betas.iter().map(Data::from).collect()),
                value => Data::from(value),
            };
            assert!(group.settings().get(name).is_some(), "{name}");
            group.set(name, value);
        }
    }
}

/// Takes the update of that number, and returns how many elements it changed or kept.
fn check_update(run: &Recorded, number: usize, optimizer: &mut Optimizer) -> usize {
    let update = &run.json.get("updates").items()[number];
    set_groups(optimizer.groups_mut(), &update.get("groups"));
    let parameters: Vec<_> = optimizer.parameters().cloned().collect();
    let mut gradients = Gradients::new();
    for parameter in &parameters {
        if let Some(gradient) = run.tensor(&format!("update.{number}.grad.{}", parameter.name)) {
            gradients.set(parameter, values(&gradient));
        }
    }
    optimizer.step(&gradients).unwrap();
    let mut judged = 0;
    for Parameter { name, var, .. } in &parameters {
        let expected = run
            .tensor(&format!("update.{number}.weight.{name}"))
            .unwrap();
        let (found, expected) = (values(var), values(&expected));
        assert_eq!(
            bits(&found),
            bits(&expected),
            "{} update {number} {name}",
            run.name
        );
        judged += found.len();
    }
    judged
}

#[test]
fn the_first_updates_of_every_run_are_the_library_s_bit_for_bit() {
    let (mut runs, mut updates, mut judged) = (0, 0, 0);
    for run in Recorded::with_one_optimizer() {
        let order = run.training_state().optimizer().unwrap().unwrap();
        let mut optimizer = Optimizer::new(&run.optim(), run.parameters(&order)).unwrap();
        if let Some((_, Some(source))) = run.source() {
            let state = source.optimizer().unwrap().unwrap();
            optimizer.check_topology(&state).unwrap();
            optimizer.load_state(&state).unwrap();
        }
        let is_kept = |number: &usize| {
            let prefix = format!("update.{number}.");
            run.tensors
                .tensors()
                .iter()
                .any(|entry| entry.name().starts_with(&prefix))
        };
        let kept = (0..3).take_while(is_kept).count();
        for number in 0..kept {
            judged += check_update(&run, number, &mut optimizer);
        }
        runs += usize::from(kept > 0);
        updates += kept;
    }
    println!("{updates} updates of {runs} runs judged, {judged} elements");
    assert_eq!((runs, updates), (64, 192));
}

#[test]
fn two_optimizers_update_what_they_own() {
    let mut all = Recorded::all();
    all.retain(|run| run.name == TRAINER);
    let [run] = all.as_slice() else {
        panic!("no {TRAINER}");
    };
    let saved = run.training_state().optimizers().unwrap();
    let optims = run.json.get("state").get("trainer").get("optims");
    let mut parameters = Vec::new();
    for (_, state) in &saved {
        parameters.extend(run.parameters(state));
    }
    let mut optimizers: Vec<_> = { saved.iter() }
        .map(|(name, state)| {
            let params = NNOptimParams::from_state(optims.get(name).state()).unwrap();
            let optimizer = Optimizer::strict(&params, parameters.clone()).unwrap();
            optimizer.check_topology(state).unwrap();
            assert_eq!(Some(optimizer.class()), state.class());
            (name, optimizer)
        })
        .collect();
    let updates = run.json.get("updates").items();
    let mut owned = Vec::new();
    for (number, update) in updates.iter().take(3).enumerate() {
        let owner = update.get("optimizer");
        let (_, optimizer) = { optimizers.iter_mut() }
            .find(|(name, _)| name.as_str() == owner.text())
            .unwrap();
        check_update(run, number, optimizer);
        owned.push(optimizer.parameters().count());
    }
    assert_eq!(owned, [2, 4, 2]);
}

#[test]
fn an_update_reaches_the_variable_s_own_values() {
    let variable = Var::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu).unwrap();
    let seen = variable.as_tensor().clone();
    let params = NNOptimParams::builder(Optims::Sgd, 1.0, 0.0, 0.0)
        .build()
        .unwrap();
    let parameter = Parameter::new("w", variable);
    let mut optimizer = Optimizer::new(&params, vec![parameter.clone()]).unwrap();
    let mut gradients = Gradients::new();
    gradients.set(&parameter, vec![1.0, 0.0, 0.0, 1.0]);
    optimizer.step(&gradients).unwrap();
    assert_eq!(values(&seen), [0.0, 2.0, 3.0, 3.0]);
}
