//! The part of a configuration that describes the net.

use super::outputs;
use crate::arguments::training::{Init, Net};
use crate::failure::Failure;

/// The widths of the hidden layers where none are given.
const HIDDEN: &[usize] = &[16];
/// The width of a token's or a patch's vector; the four heads take a quarter each.
const WIDTH: usize = 64;

pub(super) fn section(arguments: &Init, out: &mut String) -> Result<(), Failure> {
    let text = match arguments.net {
        Net::FeedFwd => layers(arguments, "The columns of a sample", "")?,
        Net::FeedFwdMoe => layers(
            arguments,
            "The columns of a sample",
            "  # Each hidden layer has so many experts, of which each sample goes to two\n  \
               num_experts: 4\n  \
               top_k: 2\n",
        )?,
        Net::GraphConv | Net::GraphSage => layers(arguments, "The features of a node", "")?,
        Net::GraphAtt => layers(
            arguments,
            "The features of a node",
            "  # The attention heads\n  n_heads: 2\n",
        )?,
        Net::Conv => conv(arguments)?,
        Net::Transformer => transformer(arguments)?,
        Net::Vit => vit(arguments)?,
    };
    out.push_str("net:\n");
    out.push_str(&text);
    out.push('\n');
    Ok(())
}

/// A net of layers, with keys of its own at the end.
fn layers(arguments: &Init, samples: &str, own: &str) -> Result<String, Failure> {
    let (input, output) = (arguments.input.unwrap_or(4), outputs(arguments, 3)?);
    Ok(format!(
        "  # {samples}\n  \
           input_dim: {input}\n  \
           # The classes, labels or numbers that come out\n  \
           output_dim: {output}\n  \
         {}{own}",
        hidden(arguments)
    ))
}

fn hidden(arguments: &Init) -> String {
    let widths = match arguments.hidden.as_slice() {
        [] => HIDDEN,
        widths => widths,
    };
    format!(
        "# The widths of the hidden layers, as a text; None for none\n  \
           hidden_dims: '{widths:?}'\n  \
           # relu, leaky_relu, elu, selu, tanh, sigmoid, softmax, softplus\n  \
           activation: leaky_relu\n  \
           # The share of values that dropout sets to 0\n  \
           dropout_prob: 0.0\n"
    )
}

fn conv(arguments: &Init) -> Result<String, Failure> {
    let (input, output) = (arguments.input.unwrap_or(784), outputs(arguments, 10)?);
    let (channels, side) = image(input, &[1, 3])?;
    // Each block halves the side.
    let blocks = match side {
        4.. => "[16, 32]",
        2.. => "[16]",
        _ => {
            return Err(Failure::usage(
                "a net of convolutions needs images of 2 by 2 pixels",
            ));
        }
    };
    let channels = match channels {
        1 => "# in_channels: 1".to_owned(),
        channels => format!("in_channels: {channels}"),
    };
    Ok(format!(
        "  # The pixels of an image times its channels: it is square, {side} by {side}\n  \
           input_dim: {input}\n  \
           {channels}\n  \
           # The classes\n  \
           output_dim: {output}\n  \
           # The channels of each block of a convolution and a pooling, as a text\n  \
           conv_channels: '{blocks}'\n  \
           kernel_size: 3\n  \
           padding: 1\n  \
           # pool_size: 2\n  \
         {}",
        hidden(arguments)
    ))
}

fn transformer(arguments: &Init) -> Result<String, Failure> {
    no_layers(arguments)?;
    let tokens = arguments.input.unwrap_or(256);
    if arguments.output.is_some_and(|output| output != tokens) {
        return Err(Failure::usage(
            "a transformer has as many outputs as tokens: give `--input` alone",
        ));
    }
    Ok(format!(
        "  # The number of tokens, three times\n  \
           vocab_size: {tokens}\n  \
           input_dim: {tokens}\n  \
           output_dim: {tokens}\n  \
           # The longest sequence\n  \
           max_seq_len: 128\n  \
           # The width of a token's vector, the blocks, and the attention heads of each\n  \
           d_model: {WIDTH}\n  \
           n_layers: 2\n  \
           n_heads: 4\n  \
           # The shares that dropout sets to 0 in the attention and in what each block adds\n  \
           attn_dropout: 0.1\n  \
           resid_dropout: 0.1\n  \
           # Not used by this net\n  \
           hidden_dims: None\n  \
           activation: leaky_relu\n  \
           dropout_prob: 0.0\n"
    ))
}

fn vit(arguments: &Init) -> Result<String, Failure> {
    no_layers(arguments)?;
    let input = arguments.input.unwrap_or(3072);
    let (channels, side) = image(input, &[3, 1])?;
    if arguments.output.is_some_and(|output| output != WIDTH) || !arguments.labels.is_empty() {
        return Err(Failure::usage(
            "a vision transformer gives features and no classes: leave out `--output` and `--labels`",
        ));
    }
    let patch = [4, 2]
        .into_iter()
        .find(|patch| side.is_multiple_of(*patch))
        .unwrap_or(1);
    let channels = match channels {
        3 => "# in_channels: 3".to_owned(),
        channels => format!("in_channels: {channels}"),
    };
    Ok(format!(
        "  # This net gives features. `nnx train` has no loss for them: train it in a program, with an\n  \
           # objective or a step of your own.\n  \
           # The side of the square images, and of the patches that each is cut into\n  \
           image_size: {side}\n  \
           patch_size: {patch}\n  \
           {channels}\n  \
           # The pixels of an image times its channels\n  \
           input_dim: {input}\n  \
           # The width of a patch's vector, twice; the blocks, and the attention heads of each\n  \
           d_model: {WIDTH}\n  \
           output_dim: {WIDTH}\n  \
           n_layers: 2\n  \
           n_heads: 4\n  \
           # Not used by this net\n  \
           hidden_dims: None\n  \
           activation: leaky_relu\n  \
           dropout_prob: 0.0\n"
    ))
}

fn no_layers(arguments: &Init) -> Result<(), Failure> {
    if arguments.hidden.is_empty() {
        return Ok(());
    }
    let what = format!(
        "a net `{}` has no hidden layers of its own",
        arguments.net.name()
    );
    Err(Failure::usage(&what))
}

/// The channels and the side of a square image of so many values; the first number of channels that
/// gives a square counts.
fn image(values: usize, channels: &[usize]) -> Result<(usize, usize), Failure> {
    let found = channels.iter().find_map(|&channels| {
        let pixels = values / channels;
        let side = pixels.isqrt();
        (values.is_multiple_of(channels) && side * side == pixels).then_some((channels, side))
    });
    found.ok_or_else(|| {
        Failure::usage(&format!(
            "expected the values of a square image with one channel or three, got `{values}`"
        ))
    })
}
