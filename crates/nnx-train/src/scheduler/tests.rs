use candle_core::{DType, Device, Var};
use nnx_params::{
    MonitorMode, NNOptimParams, NNSchedulerParams, NNSchedulerParamsBuilder, Optims,
    SchedulerClock, Schedulers,
};
use nnx_run::Data;

use super::Scheduler;
use super::horizon::Horizon;
use crate::error::ErrorKind;
use crate::optimizer::Optimizer;
use crate::parameter::Parameter;

fn optimizer(lr: f64) -> Optimizer {
    let params = NNOptimParams::builder(Optims::Sgd, lr, 0.5, 0.0)
        .build()
        .unwrap();
    let var = Var::zeros(1, DType::F32, &Device::Cpu).unwrap();
    Optimizer::new(&params, vec![Parameter::new("w", var)]).unwrap()
}

fn plateau() -> NNSchedulerParamsBuilder {
    NNSchedulerParams::builder()
        .factor(0.5)
        .patience(0)
        .cooldown(0)
        .min_lr(0.0)
}

fn scheduler(params: NNSchedulerParamsBuilder, optimizer: &mut Optimizer) -> Scheduler {
    Scheduler::new(&params.build().unwrap(), optimizer, Horizon::new(4)).unwrap()
}

/// The rates after each value.
fn rates(scheduler: &mut Scheduler, optimizer: &mut Optimizer, values: &[f64]) -> Vec<f64> {
    let rates = values.iter().map(|value| {
        scheduler.step_with(*value, optimizer).unwrap();
        optimizer.learning_rate()
    });
    rates.collect()
}

#[test]
fn a_monitor_s_rule_is_absolute_and_has_its_direction() {
    let mut optimizer = optimizer(1.0);
    let own = scheduler(plateau(), &mut optimizer);
    let mut monitored = own.monitored(MonitorMode::Max, 0.5, &optimizer).unwrap();
    let plateau = monitored.plateau().unwrap();
    assert_eq!(
        (plateau.mode(), plateau.is_absolute()),
        (MonitorMode::Max, true)
    );
    assert_eq!(plateau.worst(), f64::NEG_INFINITY);
    let values = [-3.0, -2.0, -2.0, -1.5, -1.0];
    let found = rates(&mut monitored, &mut optimizer, &values);
    assert_eq!(found, [1.0, 1.0, 0.5, 0.25, 0.25]);
    assert_eq!(monitored.plateau().unwrap().best(), -1.0);
    // A difference that is just as large is none yet.
    let mut monitored = monitored
        .monitored(MonitorMode::Min, 0.5, &optimizer)
        .unwrap();
    let found = rates(&mut monitored, &mut optimizer, &[1.0, 0.5, 0.25, 0.0]);
    assert_eq!(found, [0.25, 0.125, 0.125, 0.0625]);
}

/// The rates that NNx 0.4.1 gives.
#[test]
fn a_tenth_of_the_updates_warms_up_where_updates_are_counted() {
    let mut optimizer = optimizer(0.1);
    let params = NNSchedulerParams::builder()
        .kind(Schedulers::LinearWarmupDecay)
        .clock(SchedulerClock::OptimizerUpdate)
        .build()
        .unwrap();
    let horizon = Horizon::new(3).with_updates(40);
    let mut scheduler = Scheduler::new(&params, &mut optimizer, horizon).unwrap();
    let mut found = vec![optimizer.learning_rate()];
    for _ in 0..6 {
        scheduler.step(&mut optimizer).unwrap();
        found.push(optimizer.learning_rate());
    }
    let expected = [
        0.025,
        0.05,
        0.075_000_000_000_000_01,
        0.1,
        0.1,
        0.097_222_222_222_222_22,
        0.094_444_444_444_444_44,
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_value_that_is_not_a_number_does_not_improve() {
    let mut optimizer = optimizer(1.0);
    let mut scheduler = scheduler(plateau(), &mut optimizer);
    let found = rates(
        &mut scheduler,
        &mut optimizer,
        &[f64::NAN, 1.0, f64::INFINITY],
    );
    assert_eq!(found, [0.5, 0.5, 0.25]);
}

#[test]
fn a_change_below_a_hundred_millionth_is_not_made() {
    let mut optimizer = optimizer(1.5e-8);
    let mut scheduler = scheduler(plateau(), &mut optimizer);
    assert_eq!(
        rates(&mut scheduler, &mut optimizer, &[1.0, 2.0]),
        [1.5e-8, 1.5e-8]
    );
}

#[test]
fn a_plateau_needs_a_value_and_the_others_do_not() {
    let mut optimizer = optimizer(1.0);
    let mut by_value = scheduler(plateau(), &mut optimizer);
    assert!(by_value.step(&mut optimizer).is_err());
    let step = NNSchedulerParams::builder()
        .kind(Schedulers::Step)
        .step_size(1)
        .factor(0.5);
    let mut counting = scheduler(step, &mut optimizer);
    assert!(counting.plateau().is_none());
    assert_eq!(rates(&mut counting, &mut optimizer, &[f64::NAN]), [0.5]);
}

#[test]
fn entries_that_are_not_known_are_kept() {
    let mut optimizer = optimizer(1.0);
    let mut scheduler = scheduler(plateau(), &mut optimizer);
    let verbose = |state: &Data| state.get("verbose").and_then(Data::as_bool);
    assert_eq!(verbose(&scheduler.state()), None);
    scheduler
        .load_state(&Data::dict([("verbose", Data::Bool(true))]))
        .unwrap();
    assert_eq!(verbose(&scheduler.state()), Some(true));
}

#[test]
fn values_of_another_type_are_refused_and_change_nothing() {
    let text = || Data::Str("x".to_owned());
    for (kind, names) in [
        (
            Schedulers::ReduceLrOnPlateau,
            &[
                "factor",
                "default_min_lr",
                "min_lrs",
                "patience",
                "mode",
                "threshold_mode",
                "best",
            ][..],
        ),
        (
            Schedulers::Step,
            &[
                "step_size",
                "gamma",
                "base_lrs",
                "last_epoch",
                "_step_count",
            ],
        ),
        (
            Schedulers::CosineAnnealing,
            &["T_max", "eta_min", "_last_lr"],
        ),
        (
            Schedulers::OneCycle,
            &["total_steps", "_schedule_phases", "_anneal_func_type"],
        ),
        (Schedulers::LinearWarmupDecay, &["base_lrs"]),
    ] {
        let mut optimizer = optimizer(1.0);
        let params = NNSchedulerParams::builder().kind(kind);
        let mut scheduler = scheduler(params, &mut optimizer);
        let before = scheduler.state().to_value();
        for name in names {
            let other = Data::dict([(*name, text()), ("last_epoch", Data::Int(2))]);
            let error = scheduler.load_state(&other).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
            assert_eq!(scheduler.state().to_value(), before, "{name}");
        }
        assert!(scheduler.load_state(&text()).is_err());
    }
}

#[test]
fn numbers_that_no_schedule_has_are_refused() {
    for (kind, name, value) in [
        (Schedulers::Step, "step_size", 0),
        (Schedulers::CosineAnnealing, "T_max", 0),
        (Schedulers::OneCycle, "total_steps", 0),
        (Schedulers::Step, "last_epoch", -1),
        (Schedulers::ReduceLrOnPlateau, "patience", -1),
    ] {
        let mut optimizer = optimizer(1.0);
        let params = NNSchedulerParams::builder().kind(kind);
        let mut scheduler = scheduler(params, &mut optimizer);
        let state = Data::dict([(name, Data::Int(value))]);
        let error = scheduler.load_state(&state).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::CannotResume { .. }),
            "{error}"
        );
    }
}

#[test]
fn a_schedule_of_other_groups_is_not_stepped() {
    let two = || Data::List(vec![Data::Float(1.0), Data::Float(1.0)]);
    let mut optimizer = optimizer(1.0);
    let step = NNSchedulerParams::builder()
        .kind(Schedulers::Step)
        .step_size(1);
    let mut counting = scheduler(step, &mut optimizer);
    counting
        .load_state(&Data::dict([("base_lrs", two())]))
        .unwrap();
    assert!(counting.step(&mut optimizer).is_err());
    let mut by_value = scheduler(plateau(), &mut optimizer);
    // One lowest rate of all groups is given to each again.
    by_value
        .load_state(&Data::dict([("min_lrs", two())]))
        .unwrap();
    assert_eq!(
        rates(&mut by_value, &mut optimizer, &[1.0, 1.0]),
        [1.0, 0.5]
    );
    let own = [("min_lrs", two()), ("default_min_lr", Data::None)];
    by_value.load_state(&Data::dict(own)).unwrap();
    assert!(by_value.step_with(2.0, &mut optimizer).is_err());
}

#[test]
fn a_training_without_steps_has_no_schedule() {
    for kind in [
        Schedulers::Step,
        Schedulers::CosineAnnealing,
        Schedulers::OneCycle,
    ] {
        let params = NNSchedulerParams::builder().kind(kind).build().unwrap();
        let mut optimizer = optimizer(1.0);
        let error = Scheduler::new(&params, &mut optimizer, Horizon::new(0)).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::InvalidConfiguration { .. }),
            "{error}"
        );
        assert_eq!(
            optimizer.groups()[0]
                .settings()
                .get("initial_lr")
                .map(Data::is_none),
            None
        );
    }
}
