//! `nnx init`: writes a configuration to train from.

mod net;

use std::fmt::Write as _;
use std::fs;

use crate::arguments::training::{Init, Net};
use crate::escape::escaped;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::shell;

pub(crate) fn run(arguments: &Init) -> Outcome {
    outcome(arguments).unwrap_or_else(|failure| Outcome::failure(&failure, false))
}

fn outcome(arguments: &Init) -> Result<Outcome, Failure> {
    let text = configuration(arguments)?;
    let Some(file) = &arguments.file else {
        return Ok(Outcome::success(text));
    };
    Failure::if_exists(file, arguments.overwrite)?;
    fs::write(file, text)
        .map_err(|error| Failure::from(nnx::checkpoint::Error::from(error)).in_path(file))?;
    let shown = escaped(&file.to_string_lossy()).to_string();
    let next = if arguments.net == Net::Vit {
        String::new()
    } else {
        let typed = escaped(&shell::path(&file.to_string_lossy())).into_owned();
        format!("; next: nnx train {typed} --data TRAIN --split 0.2,0.1")
    };
    Ok(Outcome::success(format!("wrote {shown}{next}\n")))
}

/// The text of the file.
fn configuration(arguments: &Init) -> Result<String, Failure> {
    let mut out = String::from(
        "# What is trained, and how: the keys of a `run.yaml`, which Python reads too.\n\
         # A key in a comment has its default value.\n\n",
    );
    model(arguments, &mut out)?;
    net::section(arguments, &mut out)?;
    training(arguments, &mut out);
    Ok(out)
}

/// The number of outputs that the labels or the arguments ask for.
fn outputs(arguments: &Init, default: usize) -> Result<usize, Failure> {
    let labels = Some(arguments.labels.len()).filter(|count| *count > 0);
    match (arguments.output, labels) {
        (Some(output), Some(labels)) if output != labels => Err(Failure::usage(&format!(
            "expected as many labels as outputs, got `{labels}` and `{output}`"
        ))),
        (output, labels) => Ok(output.or(labels).unwrap_or(default)),
    }
}

fn model(arguments: &Init, out: &mut String) -> Result<(), Failure> {
    let net = arguments.net;
    let loss = match net {
        Net::Vit => "mean_squared_error",
        _ => "cross_entropy",
    };
    let mut lines = format!(
        "model:\n  \
           net: {name}\n  \
           # cross_entropy for classes, binary_cross_entropy for several labels of one sample,\n  \
           # mean_squared_error for numbers\n  \
           loss: {loss}\n  \
           # cuda and mps need a build for them\n  \
           device: cpu\n",
        name = net.name()
    );
    if !arguments.labels.is_empty() {
        let labels = arguments.labels.iter().map(|label| quoted(label));
        let labels = labels.collect::<Result<Vec<_>, _>>()?.join(", ");
        let count = arguments.labels.len();
        // A `String` takes whatever is written.
        let _ = write!(
            lines,
            "  # The classes by name; a CSV file may have the names in place of 0, 1, …\n  \
               task:\n    \
                 version: 1\n    \
                 kind: categorical\n    \
                 num_outputs: {count}\n    \
                 labels: [{labels}]\n"
        );
    }
    out.push_str(&lines);
    out.push('\n');
    Ok(())
}

/// A text as YAML reads it back.
fn quoted(text: &str) -> Result<String, Failure> {
    if text.is_empty() || text.chars().any(char::is_control) {
        let what = "a label is a text without control characters that is not empty";
        return Err(Failure::usage(what));
    }
    Ok(format!("'{}'", text.replace('\'', "''")))
}

fn training(arguments: &Init, out: &mut String) {
    let (optimizer, rate, decay, clip) = match arguments.net {
        Net::Transformer | Net::Vit => ("adamw", "0.001", "0.01", "grad_clip_norm: 1.0"),
        _ => ("adam", "0.01", "5.0e-05", "# grad_clip_norm: 1.0"),
    };
    out.push_str(&format!(
        "train:\n  \
           # How often the data is gone through\n  \
           n_epochs: 20\n  \
           # The seed of orders and dropout; the weights follow from `nnx train --init-seed`\n  \
           seed: 0\n  \
           # A name of the data, so that runs on other data have other ids\n  \
           # data_id: my-data-1\n  \
           optim:\n    \
             # sgd, sgd_nesterov, adam, adam_amsgrad, adamw\n    \
             name: {optimizer}\n    \
             # The learning rate\n    \
             max_lr: {rate}\n    \
             # Two numbers of the Adam kinds; for the sgd kinds one, such as '0.9'\n    \
             momentum: (0.9, 0.999)\n    \
             weight_decay: {decay}\n    \
             # The largest norm of all gradients together; without it they are not clipped\n    \
             {clip}\n    \
             # Batches between two updates\n    \
             # accumulate_grad_batches: 1\n  \
           scheduler:\n    \
             # reduce_lr_on_plateau (as without `kind`), step, cosine_annealing, one_cycle,\n    \
             # linear_warmup_decay\n    \
             # kind: reduce_lr_on_plateau\n    \
             # On a plateau: how many epochs bring nothing before the rate falls, by which factor, and\n    \
             # for how many epochs it then rests\n    \
             patience: 8\n    \
             factor: 0.95\n    \
             cooldown: 2\n    \
             threshold: 0.001\n    \
             min_lr: 1.0e-07\n"
    ));
}
