//! Trainings whose configuration is drawn.

use nnx_params::{
    Activations, Losses, MonitorSpec, NNConvParams, NNMoEParams, NNModelParams, NNOptimParams,
    NNParams, NNSchedulerParams, NNTrainParams, NNTransformerParams, NetParams, Nets, Optims,
    Schedulers,
};

use super::chains::text;
use super::compare::{Closeness, Training};
use super::data::{self, Kind};
use super::job::{Job, Trainers};
use super::random::Random;
use crate::Result;

/// Trains what is drawn on both sides, from the same seed.
pub(super) fn judge(
    trainers: &Trainers,
    seed: u64,
    count: usize,
    closeness: &mut Closeness,
) -> Result<()> {
    let mut random = Random(seed);
    let (mut titles, mut jobs) = (Vec::new(), Vec::new());
    for number in 0..count {
        let (title, job) = draw(trainers, number, &mut random)?;
        titles.push(title);
        jobs.push(job);
    }
    let below = |side: &str| -> Vec<Job> { jobs.iter().map(|job| job.below(side)).collect() };
    let (theirs, ours) = (below("python"), below("nnx"));
    let expected = trainers.with_python(&theirs)?;
    let found = trainers.with_nnx(&ours)?;
    for (((title, one), other), (theirs, ours)) in titles
        .iter()
        .zip(&expected)
        .zip(&found)
        .zip(theirs.iter().zip(&ours))
    {
        if one.id() != other.id() {
            return Err(format!("{title}: the run is called {other} instead of {one}").into());
        }
        closeness.compare(
            title,
            &Training {
                runs: vec![one],
                root: &theirs.root,
            },
            &Training {
                runs: vec![other],
                root: &ours.root,
            },
        )?;
    }
    Ok(())
}

fn draw(trainers: &Trainers, number: usize, random: &mut Random) -> Result<(String, Job)> {
    let dropout = random.one_of(&[0.0, 0.1, 0.4]);
    // All of these are smooth, or flat below zero; none amplifies a difference.
    let activation = random.one_of(&[
        Activations::Relu,
        Activations::Tanh,
        Activations::Sigmoid,
        Activations::Softplus,
        Activations::LeakyRelu,
    ]);
    let classes = Kind::Class {
        width: 6,
        classes: 3,
    };
    let (kind, net, loss, data): (Nets, NetParams, Losses, Kind) = match random.below(5) {
        0 => {
            let net = NNConvParams::builder(36, 3, [3])
                .kernel_size(3)
                .padding(1)
                .hidden_dims([6])
                .activation(activation)
                .dropout_prob(dropout)
                .build()?;
            let data = Kind::Class {
                width: 36,
                classes: 3,
            };
            (Nets::Conv, net.into(), Losses::CrossEntropy, data)
        }
        1 => {
            let net = NNMoEParams::builder(6, 3, 3)
                .hidden_dims([5])
                .activation(activation)
                .dropout_prob(dropout)
                .build()?;
            (Nets::FeedFwdMoe, net.into(), Losses::CrossEntropy, classes)
        }
        2 => {
            let net = NNTransformerParams::builder()
                .vocab_size(11)
                .n_layers(2)
                .d_model(8)
                .n_heads(2)
                .max_seq_len(6)
                .resid_dropout(dropout)
                .attn_dropout(random.one_of(&[0.0, 0.1]))
                .tie_embeddings(random.is_heads())
                .build()?;
            let data = Kind::Tokens {
                length: 6,
                vocabulary: 11,
            };
            (Nets::Transformer, net.into(), Losses::CrossEntropy, data)
        }
        _ => {
            let loss = random.one_of(&[
                Losses::CrossEntropy,
                Losses::NegativeLogLikelihood,
                Losses::BinaryCrossEntropy,
            ]);
            let data = match loss {
                Losses::BinaryCrossEntropy => Kind::Labels {
                    width: 6,
                    labels: 3,
                },
                _ => classes,
            };
            let net = NNParams::builder(6, 3)
                .hidden_dims([8, 5])
                .activation(activation)
                .dropout_prob(dropout)
                .build()?;
            (Nets::FeedFwd, net.into(), loss, data)
        }
    };
    let optimizer = random.one_of(&[
        Optims::Adam,
        Optims::Adamw,
        Optims::Sgd,
        Optims::SgdNesterov,
    ]);
    let builder = if matches!(optimizer, Optims::Sgd | Optims::SgdNesterov) {
        // A higher rate makes some of the nets unstable, and differences of rounding grow.
        NNOptimParams::builder(optimizer, 0.01, 0.9, 1e-4)
    } else {
        NNOptimParams::builder(optimizer, 0.005, (0.9, 0.99), 1e-4)
    };
    let accumulate = random.one_of(&[1, 1, 2, 3]);
    let mut builder = builder.accumulate_grad_batches(accumulate);
    let clip = random.is_heads();
    if clip {
        builder = builder.grad_clip_norm(0.7);
    }
    let schedule = random.one_of(&[
        None,
        Some(Schedulers::Step),
        Some(Schedulers::CosineAnnealing),
        Some(Schedulers::OneCycle),
        Some(Schedulers::LinearWarmupDecay),
    ]);
    let scheduler = NNSchedulerParams::builder().kind(schedule).build()?;
    let mut train = NNTrainParams::builder(3)
        .optim(builder.build()?)
        .scheduler(&scheduler);
    if random.is_heads() {
        train = train.seed(i64::try_from(number)?);
    }
    let is_monitored = random.is_heads();
    if is_monitored {
        train = train.monitor(&MonitorSpec::builder("loss").min_delta(0.01).build()?);
    }
    let model = NNModelParams::builder(kind).loss(loss).build()?;

    let folder = &trainers.folder;
    let rows = 30 + random.below(20);
    let name = |part: &str| format!("drawn-{number}-{part}.safetensors");
    let config = folder.join(format!("drawn-{number}.yaml"));
    std::fs::write(&config, text(model, net, train.build()?)?)?;
    let job = Job {
        config,
        train: data::write(folder, &name("train"), data, rows, random)?,
        val: match random.below(4) {
            0 if !is_monitored => None,
            _ => Some(data::write(folder, &name("val"), data, 13, random)?),
        },
        root: folder.join(format!("drawn-{number}")),
        init_seed: number as u64,
        batch_size: 5 + random.below(6),
        shuffle: random.below(4) != 0,
        drop_last: random.below(4) == 0,
        generator_seed: (random.below(4) == 0).then_some(21),
        resume: None,
        epochs: None,
    };
    let schedule = schedule.map_or_else(|| "plateau".to_owned(), |kind| kind.to_string());
    let title = format!(
        "drawn {number}: {kind}, {loss}, dropout {dropout}, {optimizer}, {schedule}, windows of \
         {accumulate}, {}, {}",
        if clip { "clipped" } else { "not clipped" },
        if is_monitored {
            "monitored"
        } else {
            "no monitor"
        },
    );
    Ok((title, job))
}
