//! The arguments of `nnx train` and `nnx init`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::networks::{Header, at_least_one};

pub(super) const TRAIN_EXAMPLES: &str = "\
A first example, with a CSV file whose last column is the class, 0, 1 or 2:
  nnx init --net feed_fwd --input 4 --output 3 --hidden 16 flowers.yaml
  nnx train flowers.yaml --data flowers.csv --split 0.2,0.1
  nnx runs plot best -o chart.html
  nnx predict \"$(nnx runs best)\" new.csv --root .

More examples:
  nnx train digits.yaml --data train.npz --val val.npz --batch-size 64 --early-stopping 5
  nnx train digits.yaml --data train.npz --val val.npz --resume 499c --epochs 10
  nnx train runs/499c…/run.yaml --data train.safetensors --root again --json

Exit status: 0, 2 when the training failed, 130 when it was interrupted; the checkpoint `last` is \
whole then, and the command says how to go on.";

pub(super) const INIT_EXAMPLES: &str = "\
Examples:
  nnx init --net feed_fwd --input 4 --output 3 --hidden 16,8 flowers.yaml
  nnx init --net feed_fwd --input 4 --labels setosa,versicolor,virginica flowers.yaml
  nnx init --net conv --input 784 --output 10 mnist.yaml
  nnx init --net transformer --input 50257 > text.yaml

Exit status: 0, or 2 when the file could not be written.";

#[derive(Debug, Args)]
pub(crate) struct Train {
    /// The model and the training: a YAML file with the keys of `run.yaml`, or the `run.yaml` of a
    /// run
    pub(crate) config: PathBuf,
    /// The data to train on: a `.npz`, `.safetensors` or `.csv` file, tokens in a `.npy` file, or a
    /// folder with images
    #[arg(long, value_name = "TRAIN")]
    pub(crate) data: PathBuf,
    /// The data of the validation after each epoch
    #[arg(long, value_name = "VAL", conflicts_with = "split")]
    pub(crate) val: Option<PathBuf>,
    /// Keep these shares of the data for validation and test, such as 0.2,0.1
    #[arg(long, value_name = "V,T")]
    pub(crate) split: Option<Shares>,
    /// The seed of the split
    #[arg(long, value_name = "N", default_value_t = 0, requires = "split")]
    pub(crate) split_seed: u64,
    /// The column of the targets in a CSV file, by name or by number from 0; may be repeated
    /// [default: the last]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) target: Vec<String>,
    /// Whether the first line of a CSV file names the columns
    #[arg(long, value_enum, default_value_t = Header::Auto)]
    pub(crate) header: Header,
    /// The seed that is set before the model is built [default: that of a fresh PyTorch]
    #[arg(long, value_name = "N")]
    pub(crate) init_seed: Option<u64>,
    /// Start with the weights of a checkpoint or of a model's folder
    #[arg(long, value_name = "CHECKPOINT", conflicts_with = "resume")]
    pub(crate) from: Option<PathBuf>,
    /// Go on from a run, as if it had not ended: its id or the beginning of it, and a checkpoint
    /// [default: the parent's checkpoint in CONFIG, or `last`]
    #[arg(long, value_name = "RUN[:TAG]")]
    pub(crate) resume: Option<String>,
    /// Restore only the weights of the run to go on from; all else is as CONFIG says
    #[arg(long, requires = "resume")]
    pub(crate) weights_only: bool,
    /// The number of epochs, in place of the one in CONFIG
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) epochs: Option<usize>,
    /// The number of samples in a batch; a graph is always one batch
    #[arg(long, value_name = "N", default_value = "32", value_parser = at_least_one)]
    pub(crate) batch_size: usize,
    /// Take the samples in their own order
    #[arg(long)]
    pub(crate) no_shuffle: bool,
    /// Leave out the last batch of an epoch if it is smaller
    #[arg(long)]
    pub(crate) drop_last: bool,
    /// Shuffle with a generator of its own, of this seed
    #[arg(long, value_name = "N")]
    pub(crate) loader_seed: Option<u64>,
    /// End the training when so many epochs in a row brought no improvement
    #[arg(long, value_name = "PATIENCE")]
    pub(crate) early_stopping: Option<usize>,
    /// The folder that contains `runs`
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// The number of threads to compute with [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) threads: Option<usize>,
    /// Replace the run of the same id if there is one
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Print one JSON object at the end
    #[arg(long)]
    pub(crate) json: bool,
}

/// The shares of validation and test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shares {
    pub(crate) val: f64,
    pub(crate) test: f64,
}

impl FromStr for Shares {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = |text: &str| match text.trim().parse::<f64>() {
            Ok(share) if (0.0..1.0).contains(&share) => Some(share),
            _ => None,
        };
        let shares = match text.split_once(',') {
            Some((val, test)) => share(val).zip(share(test)),
            None => share(text).map(|val| (val, 0.0)),
        };
        let shares = shares.filter(|(val, test)| val + test < 1.0);
        let (val, test) = shares
            .ok_or("expected two shares from 0 that are below 1 together, such as `0.2,0.1`")?;
        Ok(Self { val, test })
    }
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The file to write [default: standard output]
    pub(crate) file: Option<PathBuf>,
    /// The kind of net
    #[arg(long, value_name = "KIND", value_enum, default_value_t = Net::FeedFwd)]
    pub(crate) net: Net,
    /// The number of values in a sample: columns, features of a node, pixels times channels; of a
    /// transformer the number of tokens [default: 4; 784 for `conv`, 3072 for `vit`, 256]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) input: Option<usize>,
    /// The number of outputs: classes, labels or numbers [default: that of the labels, or 3; 10 for
    /// images]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) output: Option<usize>,
    /// The widths of the hidden layers
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = at_least_one)]
    pub(crate) hidden: Vec<usize>,
    /// The names of the classes, in their order; a CSV file may have them in place of numbers
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) labels: Vec<String>,
    /// Replace the file if it exists
    #[arg(long, requires = "file")]
    pub(crate) overwrite: bool,
}

/// A kind of net, by its name in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Net {
    FeedFwd,
    Conv,
    FeedFwdMoe,
    Transformer,
    GraphConv,
    GraphSage,
    GraphAtt,
    Vit,
}

impl Net {
    /// The name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::FeedFwd => "feed_fwd",
            Self::Conv => "conv",
            Self::FeedFwdMoe => "feed_fwd_moe",
            Self::Transformer => "transformer",
            Self::GraphConv => "graph_conv",
            Self::GraphSage => "graph_sage",
            Self::GraphAtt => "graph_att",
            Self::Vit => "vit",
        }
    }
}
