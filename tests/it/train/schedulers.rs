//! Rates, equal to the library's as float64.

use candle_core::{DType, Device, Var};
use nnx_params::{
    MonitorMode, NNOptimParams, NNParamGroupSpec, NNSchedulerParams, Optims, SchedulerClock,
    Schedulers, State, Value,
};
use nnx_run::Data;
use nnx_tests::{Json, float_from_hex};
use nnx_train::{ErrorKind, Horizon, Optimizer, Parameter, Scheduler};

use super::fixture::folder;
use super::recorded::{Recorded, check_data, check_same};

fn optimizer(optim: Optims, lr: f64) -> Optimizer {
    let params = if optim.is_sgd() {
        NNOptimParams::builder(optim, lr, 0.5, 0.0)
    } else {
        NNOptimParams::builder(optim, lr, (0.9, 0.999), 0.0)
    };
    let second = NNParamGroupSpec::builder("1").lr(2.0 * lr).build().unwrap();
    let first = NNParamGroupSpec::builder("0").build().unwrap();
    let params = params.param_groups([first, second]).build().unwrap();
    let parameters = ["0", "1"].map(|name| {
        let var = Var::zeros(1, DType::F32, &Device::Cpu).unwrap();
        Parameter::new(name, var)
    });
    Optimizer::new(&params, parameters.into()).unwrap()
}

/// The state without what JSON does not keep: the functions of `LambdaLR`, which are never saved.
fn comparable(state: Data) -> Data {
    let Data::Dict(mut pairs) = state else {
        panic!("no mapping");
    };
    if let Some(at) = { pairs.iter() }.position(|(key, _)| key.as_str() == Some("lr_lambdas")) {
        assert_eq!(at, pairs.len() - 1);
        let (_, functions) = pairs.remove(at);
        assert!(functions.items().unwrap().iter().all(Data::is_none));
    }
    Data::Dict(pairs)
}

fn check_rates(optimizer: &Optimizer, lr: &Json, momentum: Option<&Json>, at: &str) -> usize {
    let groups = optimizer.groups();
    let rates: Vec<_> = groups.iter().map(|group| group.lr().to_bits()).collect();
    let expected = |texts: &Json| -> Vec<_> {
        let bits = |text: String| float_from_hex(&text).to_bits();
        texts.texts().into_iter().map(bits).collect()
    };
    assert_eq!(rates, expected(lr), "{at}");
    let Some(momentum) = momentum else {
        return rates.len();
    };
    let moved = groups.iter().map(|group| {
        let beta1 = group.betas().map(|(beta1, _)| beta1);
        beta1.or(group.momentum()).unwrap().to_bits()
    });
    assert_eq!(moved.collect::<Vec<_>>(), expected(momentum), "{at}");
    2 * rates.len()
}

#[test]
fn all_sequences_of_rates_are_the_library_s() {
    let cases = Json::read(&folder().join("schedulers.json"))
        .get("cases")
        .items();
    assert_eq!(cases.len(), 69);
    let mut judged = 0;
    for case in &cases {
        let mut state = case.get("params").state().clone();
        if let Some(kind) = case.find("kind") {
            state.insert("kind", kind.0);
        }
        let params = NNSchedulerParams::from_state(&state).unwrap();
        let at = format!("{params} of {} {:?}", case.get("n_epochs").size(), state);
        let optim = match case.get("optimizer").text() {
            "adam" => Optims::Adam,
            "sgd" => Optims::Sgd,
            other => panic!("{other}"),
        };
        let mut optimizer = optimizer(optim, 0.01);
        let updates = case.find("planned_updates").map(|updates| updates.size());
        let horizon = Horizon::new(case.get("n_epochs").size()).with_updates(updates);
        let mut scheduler = Scheduler::new(&params, &mut optimizer, horizon).unwrap();
        assert_eq!(scheduler.class(), case.get("class").text(), "{at}");
        let rates = case.get("lr").items();
        let momenta = case.find("momentum").map(|momenta| momenta.items());
        let metrics = case.find("metrics").map(|metrics| metrics.items());
        for (step, expected) in rates.iter().enumerate() {
            if step > 0 {
                match &metrics {
                    Some(metrics) => {
                        let value = metrics[step - 1].float();
                        scheduler.step_with(value, &mut optimizer).unwrap();
                    }
                    None => scheduler.step(&mut optimizer).unwrap(),
                }
            }
            let momentum = momenta.as_ref().map(|momenta| &momenta[step]);
            judged += check_rates(&optimizer, expected, momentum, &format!("{at} step {step}"));
        }
        check_data(&comparable(scheduler.state()), &case.get("state").0, &at);
    }
    println!("rates and momenta judged: {judged}");
    assert_eq!(judged, 1792);
}

/// The value with which the library stepped a plateau schedule after an epoch: `None` if the
/// fixture does not have it.
fn value(epoch: &Json) -> Option<f64> {
    if let Some(selection) = epoch.find("selection") {
        return selection.find("value").map(|value| value.float());
    }
    let validation = epoch.find("val_edp")?;
    let value = validation.find("error").or(validation.find("loss"))?;
    Some(value.float())
}

#[test]
fn the_schedule_of_every_run_is_the_library_s() {
    let (mut runs, mut steps) = (0, 0);
    for run in Recorded::with_one_optimizer() {
        let saved = run.training_state();
        let order = saved.optimizer().unwrap().unwrap();
        let mut optimizer = Optimizer::new(&run.optim(), run.parameters(&order)).unwrap();
        let params = run.scheduler();
        let mut scheduler = Scheduler::new(&params, &mut optimizer, run.horizon()).unwrap();
        let epochs = run.json.get("epochs").items();
        if let Some(selection) = epochs[0].find("selection") {
            let monitor = selection.get("monitor");
            let mode = match monitor.get("mode").text() {
                "min" => MonitorMode::Min,
                _ => MonitorMode::Max,
            };
            let min_delta = monitor.get("min_delta").float();
            scheduler = scheduler.monitored(mode, min_delta, &optimizer).unwrap();
        }
        if let Some((_, Some(source))) = run.source() {
            let state = source.optimizer().unwrap().unwrap();
            optimizer.load_state(&state).unwrap();
            scheduler.load_state(source.scheduler().unwrap().0).unwrap();
        }
        let mut updates = 0;
        for epoch in &epochs {
            let at = format!("{} epoch {}", run.name, epoch.get("epoch").size());
            match (params.clock(), scheduler.plateau()) {
                (SchedulerClock::OptimizerUpdate, _) => {
                    let rates = epoch.get("update_lrs").items();
                    for rate in rates {
                        scheduler.step(&mut optimizer).unwrap();
                        assert_eq!(scheduler.steps(), rate.items()[0].size() as i64, "{at}");
                        let expected = rate.items()[1].float();
                        assert_eq!(optimizer.learning_rate(), expected, "{at}");
                        updates += 1;
                    }
                }
                (SchedulerClock::Epoch, None) => scheduler.step(&mut optimizer).unwrap(),
                (SchedulerClock::Epoch, Some(_)) => match value(epoch) {
                    Some(value) => scheduler.step_with(value, &mut optimizer).unwrap(),
                    None => break,
                },
            }
            let groups = optimizer.groups().iter();
            let rates = Value::List(groups.map(|group| group.lr().into()).collect());
            assert_eq!(rates, epoch.get("lr_after").0, "{at}");
            check_data(
                &comparable(scheduler.state()),
                &epoch.get("scheduler").0,
                &at,
            );
            steps += 1;
            if epoch.get("epoch") == epochs.last().unwrap().get("epoch") {
                let (state, class) = saved.scheduler().unwrap();
                assert_eq!(Some(scheduler.class()), class);
                check_same(&scheduler.state(), state, &at);
                runs += 1;
            }
        }
        assert_eq!(
            updates > 0,
            params.clock() == SchedulerClock::OptimizerUpdate
        );
    }
    println!("schedules of {runs} runs followed to their end, {steps} epochs judged");
    // One run has no validation; its fixture lacks the values with which its schedule was stepped.
    assert_eq!((runs, steps), (63, 222));
}

fn build(
    kind: Schedulers,
    entries: &[(&str, Value)],
    horizon: Horizon,
) -> nnx_train::Result<Scheduler> {
    let state: State = NNSchedulerParams::builder()
        .kind(kind)
        .build()
        .unwrap()
        .state();
    let state = State::from_iter({ state.into_iter() }.chain({
        let entries = entries.iter();
        entries.map(|(key, value)| ((*key).to_owned(), value.clone()))
    }));
    let params = NNSchedulerParams::from_state(&state).unwrap();
    Scheduler::new(&params, &mut optimizer(Optims::Adam, 0.1), horizon)
}

#[test]
fn schedules_that_do_not_fit_are_refused_with_the_library_s_words() {
    let updates = ("clock", Value::from("optimizer_update"));
    for (kind, entries, horizon, word) in [
        (
            Schedulers::ReduceLrOnPlateau,
            vec![("factor", 1.0.into())],
            Horizon::new(3),
            "factor",
        ),
        (
            Schedulers::OneCycle,
            vec![("total_steps", 2.into())],
            Horizon::new(3),
            "total_steps",
        ),
        (
            Schedulers::LinearWarmupDecay,
            vec![("total_steps", 2.into())],
            Horizon::new(3),
            "total_steps",
        ),
        (
            Schedulers::OneCycle,
            vec![updates.clone(), ("total_steps", 5.into())],
            Horizon::new(3).with_updates(6),
            "total_steps",
        ),
        (
            Schedulers::OneCycle,
            vec![updates.clone()],
            Horizon::new(3),
            "total_steps",
        ),
        (
            Schedulers::LinearWarmupDecay,
            vec![updates.clone()],
            Horizon::new(3),
            "total_steps",
        ),
        (
            Schedulers::CosineAnnealing,
            vec![updates.clone()],
            Horizon::new(3),
            "T_max",
        ),
        (
            Schedulers::Step,
            vec![updates.clone()],
            Horizon::new(3),
            "step_size",
        ),
    ] {
        let error = build(kind, &entries, horizon).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::InvalidConfiguration { .. }),
            "{error}"
        );
        assert!(error.to_string().contains(word), "{error}");
    }
    // Explicit steps replace the number of updates.
    let entries = [updates, ("step_size", 2.into())];
    build(Schedulers::Step, &entries, Horizon::new(3)).unwrap();
}

#[test]
fn no_step_is_taken_past_the_end() {
    let clock = ("clock", Value::from("optimizer_update"));
    for (kind, entries, last) in [
        (Schedulers::OneCycle, vec![("total_steps", 4.into())], 4),
        (
            Schedulers::OneCycle,
            vec![clock.clone(), ("total_steps", 4.into())],
            4,
        ),
        (
            Schedulers::LinearWarmupDecay,
            vec![clock, ("total_steps", 4.into())],
            4,
        ),
    ] {
        let mut optimizer = optimizer(Optims::Adam, 0.1);
        let mut scheduler = build(kind, &entries, Horizon::new(2)).unwrap();
        for (group, lr) in optimizer.groups_mut().iter_mut().zip([0.1, 0.2]) {
            for (name, value) in [
                ("initial_lr", lr),
                ("max_lr", lr),
                ("min_lr", 0.0),
                ("max_momentum", 0.95),
                ("base_momentum", 0.85),
            ] {
                group.set(name, Data::Float(value));
            }
        }
        for _ in 0..last {
            scheduler.step(&mut optimizer).unwrap();
        }
        let (rates, state) = (optimizer.state().unwrap(), scheduler.state());
        let error = scheduler.step(&mut optimizer).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::InvalidConfiguration { .. }),
            "{error}"
        );
        assert!(error.to_string().contains("total"), "{error}");
        assert_eq!(scheduler.steps(), last);
        check_same(&scheduler.state(), &state, kind.value());
        for (before, after) in rates.groups().iter().zip(optimizer.groups()) {
            assert_eq!(before.lr(), Some(after.lr()));
        }
    }
    // The decay of a linear schedule that counts epochs ends at 0, and may be stepped on.
    let mut optimizer = optimizer(Optims::Adam, 0.1);
    let entries = [("total_steps", 4.into())];
    let mut scheduler = build(Schedulers::LinearWarmupDecay, &entries, Horizon::new(2)).unwrap();
    for _ in 0..9 {
        scheduler.step(&mut optimizer).unwrap();
    }
    assert_eq!(optimizer.learning_rate(), 0.0);
}
