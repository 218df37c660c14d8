//! The arguments of `nnx`.

pub(crate) mod hub;
pub(crate) mod networks;
pub(crate) mod runs;
pub(crate) mod training;

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use nnx::checkpoint::{CheckpointPart, ConvertOptions, Dtype, TargetFormat, Worker};

use crate::failure::Failure;
use crate::outcome::Outcome;

const EXAMPLES: &str = "\
Examples:
  nnx inspect model.pt                     show what a checkpoint holds
  nnx scan ~/downloads                     check whether files are safe to unpickle
  nnx diff model.pt model.safetensors      check whether two checkpoints hold the same tensors
  nnx convert model.pt model.safetensors   write a checkpoint in another format
  nnx predict model.pt inputs.npy          run a model of NNx on inputs
  nnx generate hub-folder 'Once upon'      continue a text
  nnx train config.yaml --data train.csv   train a model; `nnx init` writes a config.yaml
  nnx push best.pt owner/model             publish a model on the Hub

Wherever a command reads a checkpoint, it also takes `hf://owner/name[@revision][/file]`, a path on \
the Hub.";

const INSPECT_EXAMPLES: &str = "\
Examples:
  nnx inspect model.pt
  nnx inspect model.safetensors --tree
  nnx inspect model.pt --select encoder. --hash
  nnx inspect model.pt --json | jq -r '.tensors[].name'

Exit status: 0, or 2 when the file could not be read.";

const SCAN_EXAMPLES: &str = "\
Examples:
  nnx scan model.pt
  nnx scan downloads --json
  nnx scan model.pt && python load.py

Exit status: 0 when every file is clean, 1 when a file is flagged, 2 when a file could not be judged; \
the highest one applies.";

const DIFF_EXAMPLES: &str = "\
Examples:
  nnx diff before.pt after.pt
  nnx diff model.pt model.safetensors --tolerance 1e-6

Exit status: 0 when the tensors are the same, 1 when they differ, 2 when a file could not be read.";

const CONVERT_EXAMPLES: &str = "\
Examples:
  nnx convert model.pt model.safetensors
  nnx convert epoch=3.ckpt model.safetensors --select state_dict --strip-prefix state_dict.
  nnx convert model.safetensors half.safetensors --dtype bfloat16
  nnx convert model.safetensors sharded/ --max-shard-size 5GB
  nnx convert downloads --out converted
  nnx convert checkpoint/step-500 model.safetensors --strip-prefix model.

Exit status: 0, 2 when something could not be converted, 130 when the command was interrupted. In
the last two cases the target is unchanged.";

const VERIFY_EXAMPLES: &str = "\
Examples:
  nnx verify model.pt
  nnx verify checkpoint/step-500
  nnx verify model.safetensors.index.json --json

Exit status: 0 when the checkpoint is sound, 1 when something is wrong with it, 2 when it could not be \
judged, 130 when the command was interrupted.";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  nnx completions bash > ~/.local/share/bash-completion/completions/nnx
  nnx completions zsh > \"${fpath[1]}/_nnx\"
  nnx completions fish > ~/.config/fish/completions/nnx.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  nnx man | man -l -
  nnx man inspect > nnx-inspect.1";

/// Show, scan, compare and convert model checkpoints, and train and run the models of NNx
///
/// Nothing in a file is ever executed: a pickle is read as data.
#[derive(Debug, Parser)]
#[command(name = "nnx", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what a checkpoint holds
    ///
    /// Lists the format, the tensors, the other values, the metadata, and the classes that pickles
    /// name. PATH is a file, or a folder with the weights of a model.
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(Inspect),
    /// Check whether files are safe to unpickle
    ///
    /// Gives each file a verdict: `clean`, `unknown` (it names classes that are not on the list of
    /// known ones) or `dangerous` (it names something that runs code).
    /// Folders and archives are searched. File names do not matter, only contents.
    #[command(after_help = SCAN_EXAMPLES)]
    Scan(Scan),
    /// Compare the tensors of two checkpoints
    ///
    /// Compares names, shapes, dtypes and bytes, and reports the largest difference between floats.
    /// The formats of the two may differ. Values that are not tensors are not compared.
    #[command(after_help = DIFF_EXAMPLES)]
    Diff(Diff),
    /// Convert a checkpoint into another format
    ///
    /// Writes a safetensors file, or a PyTorch file as `torch.save` does. SOURCE is a file of any
    /// format, a folder with the weights of a model, or with `--out` a folder of many checkpoints.
    /// Values that the target cannot hold are an error, which lists them.
    #[command(after_help = CONVERT_EXAMPLES)]
    Convert(Convert),
    /// Check that a checkpoint is whole
    ///
    /// Reads every tensor, and compares it with the checksum that its file states; checks offsets,
    /// shapes, and that what an index names is there. Of a checkpoint of several processes, checks
    /// that the parts make whole tensors. Writes nothing.
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(Verify),
    /// Run a model on inputs
    ///
    /// INPUT is a NumPy array of numbers or token ids, a CSV file with one sample in each line, or a
    /// safetensors file. A graph is the arrays `x` and `edge_index`.
    #[command(after_help = networks::PREDICT_EXAMPLES)]
    Predict(networks::Predict),
    /// Measure a model on samples with known targets
    ///
    /// Reports loss, error, accuracy, precision, recall and F1 over all samples, or the metrics of the
    /// model's task.
    #[command(after_help = networks::EVALUATE_EXAMPLES)]
    Evaluate(networks::Evaluate),
    /// Continue a text with a language model
    ///
    /// Prints the prompt, then each token as soon as it is computed.
    #[command(after_help = networks::GENERATE_EXAMPLES)]
    Generate(networks::Generate),
    /// Show the layers of a model
    ///
    /// Lists each layer with the shape of its output and the number of its parameters.
    #[command(after_help = networks::SUMMARY_EXAMPLES)]
    Summary(networks::Summary),
    /// Write a configuration to train from
    ///
    /// The file has comments, and the keys that `nnx train` and Python read.
    #[command(after_help = training::INIT_EXAMPLES)]
    Init(training::Init),
    /// Train a model
    ///
    /// Trains what CONFIG describes, and leaves the run in the folder `runs`: configuration, history
    /// and checkpoints, which both NNx for Rust and the Python library read and resume.
    #[command(after_help = training::TRAIN_EXAMPLES)]
    Train(training::Train),
    /// Publish a folder or a model on the Hub
    ///
    /// All files are in one commit. Files that the repository already has are not sent again.
    /// A checkpoint of NNx is published as the folder that `save_pretrained` writes.
    #[command(after_help = hub::PUSH_EXAMPLES)]
    Push(hub::Push),
    /// Download a repository of the Hub
    ///
    /// Prints the folder with the files of one commit. Size and hash of each file are checked. The
    /// folder is in the cache of the `hf` tools, or with `--to` the one given there.
    #[command(after_help = hub::PULL_EXAMPLES)]
    Pull(hub::Pull),
    /// Print the model card that `nnx push` would publish
    #[command(after_help = hub::CARD_EXAMPLES)]
    Card(hub::Card),
    /// Show the user that the token belongs to
    Whoami(hub::Whoami),
    /// List, show, draw, compare and check training runs
    ///
    /// Reads the runs in the folder `runs`, whether Python or Rust wrote them.
    Runs(runs::Runs),
    /// Print a shell's completion script
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print a manual page
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// The command whose page is printed [default: `nnx` itself]
        command: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// The checkpoint: a file or a folder
    pub(crate) path: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Add each tensor's SHA-256, over its contiguous little-endian bytes
    #[arg(long)]
    pub(crate) hash: bool,
    /// Show only the tensors and values whose names begin with this text
    #[arg(long, value_name = "PREFIX")]
    pub(crate) select: Option<String>,
    /// Show the names as a tree, with the size of each branch
    #[arg(long)]
    pub(crate) tree: bool,
    #[command(flatten)]
    pub(crate) distributed: Distributed,
}

/// Choices among the checkpoints that several processes wrote into a folder.
#[derive(Debug, Args)]
pub(crate) struct Distributed {
    /// Of a checkpoint of several processes: `model`, `optimizer` or `all`
    #[arg(long, value_name = "PART", value_parser = part)]
    pub(crate) part: Option<CheckpointPart>,
    /// Take this save of a folder of several, such as `global_step500`
    #[arg(long, value_name = "NAME")]
    pub(crate) tag: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The checkpoint: a file or a folder
    pub(crate) path: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Take this save of a folder of several, such as `global_step500`
    #[arg(long, value_name = "NAME")]
    pub(crate) tag: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Scan {
    /// Files and folders
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// A checkpoint: a file or a folder
    pub(crate) a: PathBuf,
    /// The other checkpoint
    pub(crate) b: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// The largest absolute difference at which floats are equal [default: every bit counts]
    #[arg(long, value_name = "X", value_parser = tolerance)]
    pub(crate) tolerance: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// The checkpoint: a file or a folder
    pub(crate) source: PathBuf,
    /// The file to write, or a folder, in which the file gets its standard name
    #[arg(required_unless_present = "out")]
    pub(crate) target: Option<PathBuf>,
    /// Convert every checkpoint below SOURCE into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "target")]
    pub(crate) out: Option<PathBuf>,
    /// The format to write [default: by the target's extension]
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) to: Option<TargetFormat>,
    /// Convert only the values at or below this name; names are not shortened
    #[arg(long, value_name = "PATH")]
    pub(crate) select: Option<String>,
    /// Remove this text from the beginning of names
    #[arg(long, value_name = "TEXT")]
    pub(crate) strip_prefix: Option<String>,
    /// Rename a value, or all values below a name; may be repeated
    #[arg(long, value_name = "FROM=TO", value_parser = pair)]
    pub(crate) rename: Vec<(String, String)>,
    /// Cast floating-point tensors, as PyTorch's `tensor.to(dtype)` does
    #[arg(long, value_name = "DTYPE", value_parser = dtype)]
    pub(crate) dtype: Option<Dtype>,
    /// Write several files with an index, each of at most this size: `5GB`, `200MB`
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_shard_size: Option<u64>,
    /// Write only the shards of worker K of N, counted from 0, and no index
    #[arg(long, value_name = "K/N", value_parser = worker, requires = "max_shard_size", conflicts_with = "out")]
    pub(crate) worker: Option<Worker>,
    /// Write only the index, if the workers have written all shards
    #[arg(long, requires = "max_shard_size", conflicts_with_all = ["out", "worker"])]
    pub(crate) index_only: bool,
    /// Add a text to the metadata of a safetensors file; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) metadata: Vec<(String, String)>,
    /// Leave out values that the target cannot hold
    #[arg(long)]
    pub(crate) drop_non_tensors: bool,
    /// Write a PyTorch file that names code which Python runs on loading, as its source does
    #[arg(long)]
    pub(crate) allow_dangerous_globals: bool,
    /// Write a target that has no tensors, or only empty ones
    #[arg(long)]
    pub(crate) allow_empty: bool,
    #[command(flatten)]
    pub(crate) distributed: Distributed,
    /// Write the state of several processes to a PyTorch file in its nested form
    #[arg(long, conflicts_with = "out")]
    pub(crate) nested: bool,
    /// Store tied tensors in a safetensors file once, and their other names in its metadata
    #[arg(long)]
    pub(crate) alias: bool,
    /// Write to a PyTorch file only the part of each storage that its tensor uses
    #[arg(long)]
    pub(crate) compact: bool,
    /// Replace the target if it exists
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Do not compare checksums, and do not read the result back
    #[arg(long)]
    pub(crate) no_verify: bool,
    /// Report what would be done, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

fn format(text: &str) -> Result<TargetFormat, String> {
    TargetFormat::from_name(text).ok_or_else(|| "expected `safetensors` or `torch`".to_owned())
}

/// A dtype by PyTorch's name or by that of safetensors.
fn dtype(name: &str) -> Result<Dtype, String> {
    Dtype::from_name(name)
        .or_else(|| Dtype::from_safetensors_name(name))
        .filter(|dtype| dtype.is_floating_point())
        .ok_or_else(|| {
            let known: Vec<&str> = Dtype::all()
                .filter(|dtype| dtype.is_floating_point())
                .map(Dtype::name)
                .collect();
            format!("expected one of {}", known.join(", "))
        })
}

fn part(text: &str) -> Result<CheckpointPart, String> {
    CheckpointPart::from_name(text)
        .ok_or_else(|| "expected `model`, `optimizer` or `all`".to_owned())
}

fn size(text: &str) -> Result<u64, String> {
    ConvertOptions::parse_size(text).map_err(|error| error.to_string())
}

fn worker(text: &str) -> Result<Worker, String> {
    Worker::parse(text).map_err(|error| error.to_string())
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected two texts with `=` between them".to_owned()),
    }
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number >= 0.0 => Ok(number),
        _ => Err("expected a number of at least 0".to_owned()),
    }
}

/// The outcome of arguments that clap does not accept: a help page, or an error.
pub(crate) fn refused(error: &clap::Error) -> Outcome {
    use clap::error::ErrorKind::{
        DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion,
    };
    match error.kind() {
        DisplayHelp | DisplayVersion => Outcome::success(page(error)),
        DisplayHelpOnMissingArgumentOrSubcommand => Outcome::usage(page(error)),
        _ => {
            let json = std::env::args_os()
                .take_while(|word| word != OsStr::new("--"))
                .any(|word| word == OsStr::new("--json"));
            Outcome::failure(&Failure::usage(&first_line(error)), json)
        }
    }
}

fn page(error: &clap::Error) -> String {
    if crate::terminal::has_colour() {
        error.render().ansi().to_string()
    } else {
        error.render().to_string()
    }
}

/// The first paragraph of clap's message. The lists and the usage after it are also in `--help`.
fn first_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let line = text.split("\n\n").next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    let words: Vec<&str> = line.split_whitespace().collect();
    words.join(" ")
}
