//! Trainings that change sides: every optimizer under every schedule.

use nnx_params::{
    Activations, Momentum, NNModelParams, NNOptimParams, NNParams, NNSchedulerParams,
    NNTrainParams, NetParams, Nets, Optims, Schedulers,
};
use nnx_run::{NNRun, yaml};

use super::compare::{Closeness, Training};
use super::data::{self, Kind};
use super::job::{Job, Trainers};
use super::random::Random;
use crate::Result;

/// Epochs of the three parts of a training.
const PARTS: [usize; 3] = [2, 1, 2];
const ROWS: usize = 40;
const KIND: Kind = Kind::Class {
    width: 5,
    classes: 3,
};

/// One training: by the real NNx without a break, and in three parts by the two sides in turn.
pub(super) fn judge(trainers: &Trainers, closeness: &mut Closeness) -> Result<()> {
    let mut random = Random(1);
    let folder = &trainers.folder;
    let train = data::write(folder, "chain-train.safetensors", KIND, ROWS, &mut random)?;
    let val = data::write(folder, "chain-val.safetensors", KIND, 14, &mut random)?;
    let mut jobs = Vec::new();
    for (number, (title, config)) in configurations()?.into_iter().enumerate() {
        let path = folder.join(format!("chain-{number}.yaml"));
        std::fs::write(&path, config)?;
        jobs.push((
            title,
            Job {
                config: path,
                train: train.clone(),
                val: Some(val.clone()),
                root: folder.join(format!("chain-{number}")),
                init_seed: 3,
                batch_size: 8,
                shuffle: true,
                drop_last: false,
                // Some loaders have a generator of their own.
                generator_seed: (number % 3 == 1).then_some(11),
                resume: None,
                epochs: None,
            },
        ));
    }
    let part = |side: &str, epochs: usize, before: Option<&[NNRun]>| -> Vec<Job> {
        let parts = jobs.iter().enumerate().map(|(number, (_, job))| {
            let before = before.and_then(|runs| runs.get(number)).map(NNRun::id);
            job.below(side).part(epochs, before)
        });
        parts.collect()
    };
    let [first, second, third] = PARTS;

    let whole = trainers.with_python(&part("whole", PARTS.iter().sum(), None))?;
    let python = trainers.with_python(&part("python", first, None))?;
    let ours = trainers.with_nnx(&part("nnx", first, None))?;
    let python_2 = trainers.with_nnx(&part("python", second, Some(&python)))?;
    let ours_2 = trainers.with_python(&part("nnx", second, Some(&ours)))?;
    let python_3 = trainers.with_python(&part("python", third, Some(&python_2)))?;
    let ours_3 = trainers.with_nnx(&part("nnx", third, Some(&ours_2)))?;

    let sides = [
        ("NNx, nnx, NNx", "python", [&python, &python_2, &python_3]),
        ("nnx, NNx, nnx", "nnx", [&ours, &ours_2, &ours_3]),
    ];
    for (number, (title, job)) in jobs.iter().enumerate() {
        let whole_root = job.below("whole").root;
        let expected = Training {
            runs: runs_at(number, [&whole]),
            root: &whole_root,
        };
        for (order, side, parts) in &sides {
            let root = job.below(side).root;
            let found = Training {
                runs: runs_at(number, *parts),
                root: &root,
            };
            closeness.compare(&format!("{title}: {order}"), &expected, &found)?;
        }
    }
    Ok(())
}

fn runs_at<const N: usize>(number: usize, parts: [&Vec<NNRun>; N]) -> Vec<&NNRun> {
    parts.iter().filter_map(|runs| runs.get(number)).collect()
}

/// The text of a configuration for every optimizer under every schedule, with its name.
fn configurations() -> Result<Vec<(String, String)>> {
    let optimizers: [(Optims, f64, Momentum); 5] = [
        (Optims::Sgd, 0.05, 0.9.into()),
        (Optims::SgdNesterov, 0.03, 0.8.into()),
        (Optims::Adam, 0.01, (0.9, 0.999).into()),
        (Optims::AdamAmsgrad, 0.01, (0.9, 0.99).into()),
        (Optims::Adamw, 0.01, (0.85, 0.999).into()),
    ];
    // A schedule that depends on the number of epochs is told it: it differs from part to part.
    let epochs: usize = PARTS.iter().sum();
    let schedule = NNSchedulerParams::builder;
    let schedules = [
        ("plateau", schedule().patience(0).cooldown(0).factor(0.5)),
        ("step", schedule().kind(Schedulers::Step).step_size(2)),
        (
            "cosine",
            schedule().kind(Schedulers::CosineAnnealing).t_max(3),
        ),
        (
            "one cycle",
            schedule()
                .kind(Schedulers::OneCycle)
                .total_steps(epochs + 1),
        ),
        (
            "linear",
            schedule()
                .kind(Schedulers::LinearWarmupDecay)
                .warmup_steps(2)
                .total_steps(epochs + 2),
        ),
    ];
    let net: NetParams = NNParams::builder(5, 3)
        .hidden_dims([7])
        .activation(Activations::Tanh)
        .dropout_prob(0.2)
        .build()?
        .into();
    let mut configurations = Vec::new();
    for (optimizer, rate, momentum) in optimizers {
        for (name, schedule) in &schedules {
            let optim = NNOptimParams::builder(optimizer, rate, momentum, 1e-3)
                .grad_clip_norm(1.5)
                .accumulate_grad_batches(2)
                .build()?;
            let train = NNTrainParams::builder(epochs)
                .optim(optim)
                .scheduler(&schedule.clone().build()?)
                .seed(5)
                .build()?;
            let model = NNModelParams::builder(Nets::FeedFwd).build()?;
            configurations.push((
                format!("{optimizer}, {name}"),
                text(model, net.clone(), train)?,
            ));
        }
    }
    Ok(configurations)
}

/// The text of `run.yaml`.
pub(super) fn text(model: NNModelParams, net: NetParams, train: NNTrainParams) -> Result<String> {
    Ok(yaml::to_yaml(&NNRun::new(model, net, train)?.full_state()?))
}
