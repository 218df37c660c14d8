//! What can be typed behind `nnx`.

pub(crate) mod hub;
pub(crate) mod networks;
pub(crate) mod runs;

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use nnx::checkpoint::{ConvertOptions, Dtype, TargetFormat};

use crate::failure::Failure;
use crate::outcome::Outcome;

const EXAMPLES: &str = "\
Examples:
  nnx inspect model.pt                  what a checkpoint holds
  nnx scan ~/downloads                  is it safe to unpickle these files?
  nnx diff model.pt model.safetensors   do two checkpoints hold the same tensors?
  nnx convert model.pt model.safetensors
  nnx predict model.pt inputs.npy       what does a model of NNx say?
  nnx generate hub-folder 'Once upon'
  nnx push best.pt owner/model

Wherever a checkpoint is read, `hf://owner/name[@revision][/file]` names one on the Hub.";

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

Exit status: 0 when every file is clean, 1 when one is flagged, 2 when one could not be judged; the \
highest counts.";

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

Exit status: 0, 2 when something could not be converted, 130 when it was interrupted; the target is
then as it was.";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  nnx completions bash > ~/.local/share/bash-completion/completions/nnx
  nnx completions zsh > \"${fpath[1]}/_nnx\"
  nnx completions fish > ~/.config/fish/completions/nnx.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  nnx man | man -l -
  nnx man inspect > nnx-inspect.1";

/// Shows, scans, compares and converts model checkpoints, and runs the models of NNx
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
    /// Lists format, tensors, other values, metadata, and the classes that its pickles name.
    /// PATH may be a file or a folder with a model's weights.
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(Inspect),
    /// Tell whether files are safe to unpickle
    ///
    /// Gives each file a verdict: `clean`, `unknown` (it names classes that are not on the list of
    /// known ones) or `dangerous` (it names what runs code).
    /// Folders and archives are searched; contents decide, not names.
    #[command(after_help = SCAN_EXAMPLES)]
    Scan(Scan),
    /// Compare the tensors of two checkpoints
    ///
    /// Compares names, shapes, dtypes and bytes, and tells the largest difference of floats.
    /// The formats may differ; values that are no tensors are not compared.
    #[command(after_help = DIFF_EXAMPLES)]
    Diff(Diff),
    /// Convert a checkpoint into another format
    ///
    /// Writes a safetensors file or what `torch.save` writes. SOURCE may be a file of any format, a
    /// folder with a model's weights, or with `--out` a folder of many checkpoints.
    /// What the target has no place for is an error that lists it.
    #[command(after_help = CONVERT_EXAMPLES)]
    Convert(Convert),
    /// Run a model on inputs
    ///
    /// INPUT is a NumPy array of the numbers that the model takes, or of token ids, a CSV file of
    /// such rows, or a safetensors file, in which a graph is `x` and `edge_index`.
    #[command(after_help = networks::PREDICT_EXAMPLES)]
    Predict(networks::Predict),
    /// Tell how well a model does
    ///
    /// Gives loss, error, accuracy, precision, recall and F1 over all samples, or the record of the
    /// model's task.
    #[command(after_help = networks::EVALUATE_EXAMPLES)]
    Evaluate(networks::Evaluate),
    /// Let a language model go on from a prompt
    ///
    /// Prints the prompt and each token as it comes.
    #[command(after_help = networks::GENERATE_EXAMPLES)]
    Generate(networks::Generate),
    /// Show the layers of a model
    ///
    /// Lists each layer with the shape of its output and the number of its parameters.
    #[command(after_help = networks::SUMMARY_EXAMPLES)]
    Summary(networks::Summary),
    /// Publish a folder or a model on the Hub
    ///
    /// One commit has all files; those that the repository has already are not sent again.
    /// A checkpoint of NNx becomes the folder that `save_pretrained` writes.
    #[command(after_help = hub::PUSH_EXAMPLES)]
    Push(hub::Push),
    /// Fetch a repository of the Hub
    ///
    /// Prints the folder that has its files at one commit, each checked for size and hash. It lies
    /// in the cache of the `hf` tools, unless `--to` says where copies go.
    #[command(after_help = hub::PULL_EXAMPLES)]
    Pull(hub::Pull),
    /// Print the model card that publishing would write
    #[command(after_help = hub::CARD_EXAMPLES)]
    Card(hub::Card),
    /// Tell whose token is used
    Whoami(hub::Whoami),
    /// Look into the runs of a training
    ///
    /// Lists, shows, draws, compares and checks the runs in the folder `runs`, whether Python or Rust
    /// trained them.
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
        /// The command whose page to print, instead of that of `nnx`
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
    /// Only the tensors and values whose names begin so
    #[arg(long, value_name = "PREFIX")]
    pub(crate) select: Option<String>,
    /// Show the names as a tree, with the size of each branch
    #[arg(long)]
    pub(crate) tree: bool,
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
    /// The other one
    pub(crate) b: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Let floats differ by as much, in absolute terms [default: every bit counts]
    #[arg(long, value_name = "X", value_parser = tolerance)]
    pub(crate) tolerance: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// The checkpoint: a file or a folder
    pub(crate) source: PathBuf,
    /// The file to write, or the folder for a file of the standard name
    #[arg(required_unless_present = "out")]
    pub(crate) target: Option<PathBuf>,
    /// Convert every checkpoint below SOURCE into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "target")]
    pub(crate) out: Option<PathBuf>,
    /// What to write [default: what the target's extension says]
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) to: Option<TargetFormat>,
    /// Take only what lies under this name; names stay whole
    #[arg(long, value_name = "PATH")]
    pub(crate) select: Option<String>,
    /// Remove this text from the front of the names
    #[arg(long, value_name = "TEXT")]
    pub(crate) strip_prefix: Option<String>,
    /// Give a name, or all names below it, another one; may be repeated
    #[arg(long, value_name = "FROM=TO", value_parser = pair)]
    pub(crate) rename: Vec<(String, String)>,
    /// Cast floating-point tensors, as PyTorch's `tensor.to(dtype)` does
    #[arg(long, value_name = "DTYPE", value_parser = crate::convert::dtype)]
    pub(crate) dtype: Option<Dtype>,
    /// Write several files with an index, each with as many bytes at most: `5GB`, `200MB`
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_shard_size: Option<u64>,
    /// Add a text to the metadata of a safetensors file; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) metadata: Vec<(String, String)>,
    /// Leave values out that the target has no place for
    #[arg(long)]
    pub(crate) drop_non_tensors: bool,
    /// Write a target without tensors, or with empty ones alone
    #[arg(long)]
    pub(crate) allow_empty: bool,
    /// Write tied tensors to a safetensors file once, their other names to its metadata
    #[arg(long)]
    pub(crate) alias: bool,
    /// Write tensors to a PyTorch file without the rest of the storage that they view
    #[arg(long)]
    pub(crate) compact: bool,
    /// Replace a file that is there
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Do not compare with checksums, and do not read again what was written
    #[arg(long)]
    pub(crate) no_verify: bool,
    /// Say what would be done and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

fn format(text: &str) -> Result<TargetFormat, String> {
    TargetFormat::from_name(text).ok_or_else(|| "expected `safetensors` or `torch`".to_owned())
}

fn size(text: &str) -> Result<u64, String> {
    ConvertOptions::parse_size(text).map_err(|error| error.to_string())
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
        _ => Err("expected a number from 0".to_owned()),
    }
}

/// What comes of arguments that clap does not take: a page that was asked for, or an error.
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

/// What clap says first; behind it come lists and the usage, which `--help` has as well.
fn first_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let line = text.split("\n\n").next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    let words: Vec<&str> = line.split_whitespace().collect();
    words.join(" ")
}
