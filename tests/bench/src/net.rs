//! Networks beside PyTorch: `cargo xtask bench net`.
//!
//! The nets are made here and loaded by the real NNx from their checkpoints, so that both compute
//! the same; what they give is compared first. The fastest computation counts, as the others were
//! disturbed.

mod case;

use std::path::Path;
use std::time::Duration;

use candle_core::Tensor;
use nnx_checkpoint::CheckpointFormat;
use nnx_checkpoint::safetensors;
use nnx_net::NNModel;
use nnx_params::{
    Activations, NNConvParams, NNEvaluationDataPoint, NNIterationDataPoint, NNModelParams,
    NNParams, NNTransformerParams, NetParams, Nets,
};

use crate::Result;
use crate::peer::Peer;
use case::Case;

/// What runs in Python.
const SCRIPT: &str = include_str!("net/peer.py");
/// How often each is measured, in turns.
const TURNS: usize = 7;
/// How long one measurement takes, about.
const TURN: Duration = Duration::from_millis(300);
/// The largest difference of outputs that rounding explains.
const TOLERANCE: f32 = 1e-4;

/// # Errors
/// When Python fails, or computes something else.
pub(crate) fn run(python: &Path) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let nets = Models {
        ff: saved(feed_fwd()?, Nets::FeedFwd, "ff", folder.path())?,
        conv: saved(conv()?, Nets::Conv, "conv", folder.path())?,
        transformer: saved(
            transformer()?,
            Nets::Transformer,
            "transformer",
            folder.path(),
        )?,
    };
    let cases = case::all(&nets)?;
    let named: Vec<(&str, nnx_checkpoint::Tensor)> = case::inputs()?
        .into_iter()
        .map(|(name, tensor)| Ok((name, nnx_checkpoint::Tensor::try_from(&tensor)?)))
        .collect::<Result<_>>()?;
    let named: Vec<_> = named.iter().map(|(name, tensor)| (*name, tensor)).collect();
    let mut file = std::fs::File::create(folder.path().join("inputs.safetensors"))?;
    safetensors::write(&mut file, &named, None)?;
    drop(file);
    let mut peer = Peer::start(python, SCRIPT, [folder.path()])?;
    println!(
        "| what | nnx-net | PyTorch {} | ratio | largest difference |",
        peer.torch
    );
    println!("|---|---|---|---|---|");
    for case in &cases {
        row(case, &mut peer)?;
    }
    Ok(())
}

/// Measures one case in turns and prints its line.
fn row(case: &Case<'_>, peer: &mut Peer) -> Result<()> {
    let difference = difference(
        &case.run(1)?.0,
        Path::new(&peer.ask(&format!("output {}", case.name))?),
    )?;
    if difference.is_nan() || difference > TOLERANCE {
        return Err(format!("{}: outputs differ by {difference}", case.name).into());
    }
    let counts = [case.run(2)?.1, peer.time(&format!("time {} 2", case.name))?]
        .map(|one| case.count(one, TURN));
    let [mut ours, mut theirs] = [Duration::MAX; 2];
    for _ in 0..TURNS {
        ours = ours.min(case.run(counts[0])?.1);
        theirs = theirs.min(peer.time(&format!("time {} {}", case.name, counts[1]))?);
    }
    println!(
        "| {} | {:.3} ms | {:.3} ms | {:.2} | {difference:.1e} |",
        case.title,
        ours.as_secs_f64() * 1e3,
        theirs.as_secs_f64() * 1e3,
        ours.as_secs_f64() / theirs.as_secs_f64()
    );
    Ok(())
}

fn difference(ours: &Tensor, theirs: &Path) -> Result<f32> {
    let file = nnx_checkpoint::Source::read(theirs)?;
    let file = safetensors::SafeTensors::parse(file.bytes(), &nnx_checkpoint::Limits::default())?;
    let theirs = Tensor::try_from(file.get("output").ok_or("no output")?)?;
    if ours.dims() != theirs.dims() {
        return Err(format!("{:?} and {:?}", ours.dims(), theirs.dims()).into());
    }
    Ok((ours - theirs)?.abs()?.flatten_all()?.max(0)?.to_scalar()?)
}

/// The nets that are measured.
struct Models {
    ff: NNModel,
    conv: NNModel,
    transformer: NNModel,
}

/// A fresh model, whose checkpoint lies in the folder.
fn saved(net_params: NetParams, net: Nets, name: &str, folder: &Path) -> Result<NNModel> {
    let params = NNModelParams::builder(net).build()?;
    let model = NNModel::new(net_params, params, 0)?;
    let point = NNEvaluationDataPoint::builder().loss(1.0).build()?;
    let point = NNIterationDataPoint::new(0.1, 0, 0, 0, point);
    let path = folder.join(format!("{name}.pt"));
    model
        .checkpoint(point)?
        .to_file(path, CheckpointFormat::Pickle)?;
    Ok(model)
}

fn feed_fwd() -> Result<NetParams> {
    let params = NNParams::builder(784, 10).hidden_dims([512, 512]);
    let params = params.activation(Activations::Relu).dropout_prob(0.0);
    Ok(params.build()?.into())
}

fn conv() -> Result<NetParams> {
    let params = NNConvParams::builder(3 * 32 * 32, 10, [16, 32])
        .in_channels(3)
        .kernel_size(5)
        .hidden_dims([128])
        .activation(Activations::Relu)
        .dropout_prob(0.0);
    Ok(params.build()?.into())
}

fn transformer() -> Result<NetParams> {
    let params = NNTransformerParams::builder()
        .vocab_size(case::VOCABULARY)
        .d_model(256)
        .n_heads(8)
        .n_layers(4)
        .max_seq_len(256)
        .build()?;
    Ok(params.into())
}
