//! The ids are those that NNx 0.4.1 gives to the same configurations.

use super::*;
use crate::{
    Activations, Devices, Losses, MetricSpec, ModelSpec, Momentum, MonitorSpec, NNOptimParams,
    NNParamGroupSpec, NNParams, NNParamsBuilder, NNSchedulerParams, NNTrainParamsBuilder,
    NNTransformerParams, Nets, Optims, PrecisionFallback, PrecisionMode, PrecisionPolicy,
    ResumeEpochs, SchedulerClock, Schedulers, TaskKind, TaskSpec,
};

fn model() -> NNModelParams {
    NNModelParams::builder(Nets::FeedFwd).build().unwrap()
}

fn net() -> NNParamsBuilder {
    NNParams::builder(4, 3)
        .hidden_dims([8])
        .activation(Activations::Relu)
        .dropout_prob(0.1)
}

fn train() -> NNTrainParamsBuilder {
    NNTrainParams::builder(8)
}

#[track_caller]
fn check(model: &NNModelParams, net: impl Into<NetParams>, train: NNTrainParamsBuilder, id: &str) {
    let (net, train) = (net.into(), train.build().unwrap());
    let identity = RunIdentity::new(model, &train).net(&net);
    assert_eq!(identity.run_id().unwrap(), id);
    // The objects of the reloaded states have the same id.
    let model = NNModelParams::from_state(&model.state().unwrap()).unwrap();
    let net = NetParams::resolve_from_state(&net.state()).unwrap();
    let train = NNTrainParams::from_state(&train.state()).unwrap();
    let identity = RunIdentity::new(&model, &train).net(&net);
    assert_eq!(identity.run_id().unwrap(), id);
}

#[test]
fn nets() {
    let check = |net: NNParamsBuilder, id| check(&model(), net.build().unwrap(), train(), id);
    check(net(), "cbcb83e7e2b607e54bb9725aa8d31d75");
    check(net().dropout_prob(0), "e93751ef56195376d9e8d5ccf8e1fedc");
    check(net().dropout_prob(0.0), "1f7a44123114e12aebd0c4c943eef9fb");
    let no_hidden = NNParams::builder(4, 3).activation(None).dropout_prob(0.0);
    check(no_hidden, "bed386979a41cc1e0f7a82e175a83373");
    let layers = [Activations::Tanh, Activations::Softmax, Activations::Elu];
    let per_layer = NNParams::builder(4, 2)
        .hidden_dims([6, 5, 4])
        .activation(Activations::Relu)
        .dropout_prob(0.2)
        .activations(layers)
        .dropout_probs([0.0, 0.25, 0.5]);
    check(per_layer, "5d5b5344a96809b5fb7a4f490d43081a");
}

#[test]
fn transformer() {
    let model = NNModelParams::builder(Nets::Transformer).build().unwrap();
    let net = NNTransformerParams::builder()
        .hidden_dims([9])
        .activation(None)
        .dropout_prob(0.1)
        .n_heads(1)
        .n_layers(1)
        .d_model(6)
        .vocab_size(11)
        .max_seq_len(8)
        .ffn_mult(2)
        .rope_base(500.0)
        .tie_embeddings(false)
        .attn_dropout(0.1)
        .resid_dropout(0.2);
    check(
        &model,
        net.build().unwrap(),
        train(),
        "c15cedab83c38633171c03c18d8ffc80",
    );
}

#[test]
fn training() {
    let check = |train, id| check(&model(), net().build().unwrap(), train, id);
    check(train().seed(0), "73c18f992585eeb024c5f5aa5a0c8b9b");
    let parent = "d694a53660eef652341ce49a8c16cd26";
    check(
        train().parent_run_id(parent),
        "3210db2e6ce3655b752d108b61f1a7cd",
    );
    check(
        train().resume_from_run_id(parent),
        "3210db2e6ce3655b752d108b61f1a7cd",
    );
    let best = train().parent_run_id(parent).resume_from_checkpoint("best");
    check(best, "79c05b3724ab0e2ad9744400d6d1e963");
    let unsaved = train().data_id("iris-v1").save_phase_checkpoints(false);
    check(unsaved, "380985469682e1a41624285c52cb8b53");
    let monitored = NNTrainParams::builder(2)
        .resume_epochs(ResumeEpochs::Planned)
        .metrics([MetricSpec::new("accuracy", 1, State::new(), None).unwrap()])
        .monitor(&MonitorSpec::builder("loss").build().unwrap());
    check(monitored, "45822b4d667fc55b8a8944a56b949a38");
    let adamw = NNOptimParams::builder(Optims::Adamw, 3e-4, (0.9, 0.95), 0.01).eps(1e-6);
    let cosine = NNSchedulerParams::builder()
        .kind(Schedulers::CosineAnnealing)
        .clock(SchedulerClock::OptimizerUpdate);
    let updates = NNTrainParams::builder(2)
        .optim(adamw.build().unwrap())
        .scheduler(&cosine.build().unwrap());
    check(updates, "2082018b832a0dcafbe5bf6a96062378");
}

#[test]
fn models() {
    let net = || net().build().unwrap();
    let amp = NNModelParams::builder(Nets::FeedFwd)
        .loss(Losses::MeanSquaredError)
        .device(Devices::Cuda)
        .mixed_precision(true);
    let group = NNParamGroupSpec::builder("layers.0.*")
        .lr(1e-6)
        .build()
        .unwrap();
    let sgd = NNOptimParams::builder(Optims::Sgd, 1e-5, Momentum::from(0.9), 0.0)
        .grad_clip_norm(1.0)
        .accumulate_grad_batches(2)
        .param_groups([group]);
    let one_cycle = NNSchedulerParams::builder()
        .kind(Schedulers::OneCycle)
        .max_lr(0.1)
        .total_steps(8);
    let train_sgd = train()
        .optim(sgd.build().unwrap())
        .scheduler(&one_cycle.build().unwrap());
    check(
        &amp.build().unwrap(),
        net(),
        train_sgd,
        "c43178c8b61a266c2bad0a9ac054ecf8",
    );
    let bf16 = PrecisionPolicy::new(PrecisionMode::Bf16, PrecisionFallback::Error);
    let task = NNModelParams::builder(Nets::FeedFwd)
        .task(
            TaskSpec::builder(TaskKind::Categorical)
                .num_outputs(3)
                .build()
                .unwrap(),
        )
        .precision(bf16);
    check(
        &task.build().unwrap(),
        net(),
        train(),
        "a7f682f383a43b9ec3d93a37a61e2624",
    );
}

#[test]
fn registered_model_has_no_net() {
    let config = State::from_iter([("o", 2), ("i", 3)]);
    let spec = ModelSpec::new("fix.linear", 1, config, 7).unwrap();
    let model = NNModelParams::builder(spec).build().unwrap();
    let train = train().build().unwrap();
    let identity = RunIdentity::new(&model, &train);
    assert_eq!(
        identity.run_id().unwrap(),
        "167273210bd0d4dac2f6f43f2d5f62e1"
    );
    let none = NNModelParams::builder(None).build().unwrap();
    let error = RunIdentity::new(&none, &train).run_id().unwrap_err();
    assert_eq!(error.field(), Some("net"));
}

#[test]
fn salts_transforms_and_trainers() {
    let (model, net, train) = (
        model(),
        net().build().unwrap().into(),
        train().build().unwrap(),
    );
    let identity = RunIdentity::new(&model, &train).net(&net);
    let check = |identity: RunIdentity<'_>, id| assert_eq!(identity.run_id().unwrap(), id);
    check(identity.salt("trial-1"), "094b4f54d1f722377699b41cc4f8c908");
    check(identity.salt("it's"), "5d9b86f83691e8e6db31d6039d58d5b3");
    check(identity.salt("a'b\"c"), "029394a6a24e5dac3f4a3b6ea09c5c37");
    assert_eq!(
        identity.salt(" \u{1c}").run_id().unwrap_err().field(),
        Some("salt")
    );
    let options = State::from_iter([
        ("targets", Value::Tuple(vec!["layers.0".into()])),
        ("r", 2.into()),
        ("alpha", 4.0.into()),
        ("dropout", 0.0.into()),
    ]);
    let lora = [NNCheckpointTransform::new("lora", 1, options)];
    check(
        identity.transforms(&lora),
        "05153696afde8bf08af11fbfd9e58c99",
    );
    let four = NNTrainParams::builder(4).build().unwrap();
    let adam = NNOptimParams::builder(Optims::Adam, 1e-3, (0.5, 0.999), 0.0)
        .build()
        .unwrap();
    let sgd = NNOptimParams::builder(Optims::Sgd, 1e-3, 0.0, 0.0)
        .build()
        .unwrap();
    let trainer = NNTrainerParams::builder(4).optim("g", adam).optim("d", sgd);
    let trainer = trainer.build().unwrap();
    let identity = RunIdentity::new(&model, &four).net(&net).trainer(&trainer);
    check(identity, "1dd6959e247348d3fbf2f1f9c669a5b8");
}

#[test]
fn unknown_keys_do_not_change_the_id() {
    let mut state = net().build().unwrap().state();
    state.insert("zzz", 1);
    let net = NetParams::resolve_from_state(&state).unwrap();
    assert_eq!(net.full_state(), state);
    check(&model(), net, train(), "cbcb83e7e2b607e54bb9725aa8d31d75");
}
