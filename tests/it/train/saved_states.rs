//! The states of optimizers and schedules, as the library saves them.

use nnx_params::{NNOptimParams, Optims};
use nnx_run::{Data, TrainingState};
use nnx_train::{ErrorKind, Optimizer, Scheduler};

use super::recorded::{Recorded, check_same};

fn part<'a>(state: &'a TrainingState, key: &str) -> &'a Data {
    state.get(key).unwrap()
}

#[test]
fn a_loaded_state_is_saved_as_it_was() {
    let mut slots = 0;
    for run in Recorded::with_one_optimizer() {
        let saved = run.training_state();
        let state = saved.optimizer().unwrap().unwrap();
        let mut optimizer = Optimizer::new(&run.optim(), run.parameters(&state)).unwrap();
        let mut scheduler =
            Scheduler::new(&run.scheduler(), &mut optimizer, run.horizon()).unwrap();
        // The settings that the schedule adds to the groups are in the library's order before a
        // state is loaded.
        for (group, expected) in optimizer.groups().iter().zip(state.groups()) {
            let expected: Vec<_> = expected.settings().names().collect();
            assert_eq!(group.settings().names().collect::<Vec<_>>(), expected);
        }
        let (schedule, class) = saved.scheduler().unwrap();
        assert_eq!(Some(scheduler.class()), class, "{}", run.name);
        optimizer.check_topology(&state).unwrap();
        optimizer.load_state(&state).unwrap();
        scheduler.load_state(schedule).unwrap();

        let mut written = TrainingState::new();
        written.set_optimizer(&optimizer.state().unwrap());
        written.set_scheduler(scheduler.state(), scheduler.class());
        for key in [
            "optimizer",
            "optimizer_type",
            "optimizer_topology",
            "scheduler",
            "scheduler_type",
        ] {
            let at = format!("{}: {key}", run.name);
            check_same(part(&written, key), part(&saved, key), &at);
        }
        let parameters = state.groups().iter().flat_map(|group| group.parameters());
        slots += parameters
            .map(|one| one.slot_names().count())
            .sum::<usize>();
    }
    println!("values of parameters judged: {slots}");
    assert!(slots > 1000, "{slots}");
}

#[test]
fn the_state_of_another_optimizer_is_refused_and_changes_nothing() {
    let runs = Recorded::with_one_optimizer();
    let find = |name: &str| runs.iter().find(|run| run.name == name).unwrap();
    let (adam, sgd) = (find("ff_adam_default"), find("ff_sgd_step"));
    let groups = find("ff_param_groups");
    let optimizer_state = |run: &Recorded| run.training_state().optimizer().unwrap().unwrap();
    let own = optimizer_state(adam);
    let mut optimizer = Optimizer::new(&adam.optim(), adam.parameters(&own)).unwrap();
    let error = optimizer.load_state(&optimizer_state(sgd)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::CannotResume { .. }));
    assert!(error.to_string().contains("SGD"), "{error}");
    let other = optimizer_state(groups);
    for error in [
        optimizer.load_state(&other).unwrap_err(),
        optimizer.check_topology(&other).unwrap_err(),
    ] {
        assert!(
            matches!(error.kind(), ErrorKind::CannotResume { .. }),
            "{error}"
        );
    }
    let wide = optimizer_state(find("ff_wide"));
    assert!(optimizer.check_topology(&wide).is_err());
    assert!(optimizer.load_state(&wide).is_err());
    let state = optimizer.state().unwrap();
    let kept = state.groups()[0].parameters().iter();
    assert_eq!(kept.map(|one| one.slot_names().count()).sum::<usize>(), 0);
}

#[test]
fn saved_groups_win_over_configured_ones() {
    let runs = Recorded::with_one_optimizer();
    let run = runs
        .iter()
        .find(|run| run.name == "ff_adam_default")
        .unwrap();
    let state = run.training_state().optimizer().unwrap().unwrap();
    let amsgrad = NNOptimParams::builder(Optims::AdamAmsgrad, 0.5, (0.1, 0.2), 0.3);
    let amsgrad = amsgrad.build().unwrap();
    let mut optimizer = Optimizer::new(&amsgrad, run.parameters(&state)).unwrap();
    optimizer.load_state(&state).unwrap();
    let group = &optimizer.groups()[0];
    assert_eq!(group.lr(), 0.01);
    assert_eq!(group.betas(), Some((0.9, 0.999)));
    assert_eq!(group.weight_decay(), Some(5e-5));
    let is_amsgrad = group.settings().get("amsgrad").and_then(Data::as_bool);
    assert_eq!(is_amsgrad, Some(false));
}

#[test]
fn an_optimizer_can_be_made_from_its_state() {
    for run in Recorded::with_one_optimizer() {
        let state = run.training_state().optimizer().unwrap().unwrap();
        let mut parameters = run.parameters(&state);
        parameters.reverse();
        let optimizer = Optimizer::from_state(&state, parameters.clone()).unwrap();
        let mut written = TrainingState::new();
        written.set_optimizer(&optimizer.state().unwrap());
        let saved = run.training_state();
        check_same(
            part(&written, "optimizer"),
            part(&saved, "optimizer"),
            &run.name,
        );
        parameters.pop();
        let error = Optimizer::from_state(&state, parameters).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::CannotResume { .. }),
            "{error}"
        );
    }
}
