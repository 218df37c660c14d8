//! The arguments of `nnx predict`, `evaluate`, `generate` and `summary`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(super) const PREDICT_EXAMPLES: &str = "\
Examples:
  nnx predict best.pt inputs.npy
  nnx predict best.pt inputs.csv --proba --json
  nnx predict hub-folder graph.safetensors --output logits.npy
  nnx predict 0123456789abcdef0123456789abcdef inputs.npy --root experiments

Exit status: 0, or 2 when the model could not be run.";

pub(super) const EVALUATE_EXAMPLES: &str = "\
Examples:
  nnx evaluate best.pt test.safetensors
  nnx evaluate best.pt test.csv --label species --average weighted

Exit status: 0, or 2 when the model could not be evaluated.";

pub(super) const GENERATE_EXAMPLES: &str = "\
Examples:
  nnx generate hub-folder 'Once upon a time' --temperature 0
  nnx generate best.pt 'Once upon' --tokenizer tokenizer.json --top-k 40 --seed 1

Exit status: 0, or 2 when no text could be generated.";

pub(super) const SUMMARY_EXAMPLES: &str = "\
Examples:
  nnx summary best.pt
  nnx summary best.pt --shape 32,3,64,64
  nnx summary best.pt --input inputs.npy --json

Exit status: 0, or 2 when the model could not be read or run.";

/// The model, and the device that it runs on.
#[derive(Debug, Args)]
pub(crate) struct Model {
    /// A checkpoint of NNx, a folder that `save_pretrained` wrote, or with `--root` the id of a run
    pub(crate) model: PathBuf,
    /// The folder that contains `runs`; MODEL is then the id of a run
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// The checkpoint of the run [default: `best`, or `last` if there is no `best`]
    #[arg(long, value_name = "TAG", requires = "root")]
    pub(crate) tag: Option<String>,
    /// The device to run on, whatever device the model names
    #[arg(long, value_enum, default_value_t = Device::Cpu)]
    pub(crate) device: Device,
}

/// A device to run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Device {
    Cpu,
    Cuda,
    Mps,
}

#[derive(Debug, Args)]
pub(crate) struct Predict {
    #[command(flatten)]
    pub(crate) model: Model,
    /// A `.npy`, `.npz`, `.csv` or `.safetensors` file
    pub(crate) input: PathBuf,
    /// Whether the first line of a CSV file names the columns
    #[arg(long, value_enum, default_value_t = Header::Auto)]
    pub(crate) header: Header,
    /// Add the probabilities
    #[arg(long)]
    pub(crate) proba: bool,
    /// Write the logits to this `.npy` file, with `--proba` the probabilities
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the output if it exists
    #[arg(long, requires = "output")]
    pub(crate) overwrite: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Whether the first line of a CSV file names the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Header {
    /// By its cells: texts, or numbers of columns such as 0,1,2,3
    Auto,
    /// It does
    Yes,
    /// It is a sample
    No,
}

#[derive(Debug, Args)]
pub(crate) struct Evaluate {
    #[command(flatten)]
    pub(crate) model: Model,
    /// A `.safetensors` or `.npz` file with `x` and `y`, or a `.csv` file with a column of labels
    pub(crate) data: PathBuf,
    /// The column of the labels in a CSV file, by name or by number from 0; may be repeated
    /// [default: the last]
    #[arg(long, value_name = "NAME|INDEX")]
    pub(crate) label: Vec<String>,
    /// Whether the first line of a CSV file names the columns
    #[arg(long, value_enum, default_value_t = Header::Auto)]
    pub(crate) header: Header,
    /// The number of samples in a batch; a graph is always one batch
    #[arg(long, value_name = "N", default_value = "256", value_parser = at_least_one)]
    pub(crate) batch_size: usize,
    /// How the scores of the classes are averaged
    #[arg(long, value_enum, default_value_t = Average::Macro)]
    pub(crate) average: Average,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// How the scores of the classes are averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Average {
    /// Every class has the same weight
    Macro,
    /// Every sample has the same weight
    Micro,
    /// Every class is weighted by its number of samples
    Weighted,
}

#[derive(Debug, Args)]
pub(crate) struct Generate {
    #[command(flatten)]
    pub(crate) model: Model,
    /// The text to continue
    pub(crate) prompt: String,
    /// The tokenizer [default: `tokenizer.json` beside the model]
    #[arg(long, value_name = "FILE")]
    pub(crate) tokenizer: Option<PathBuf>,
    /// The divisor of the logits; with 0, the most likely token is always taken
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub(crate) temperature: f64,
    /// Sample only from the N most likely tokens
    #[arg(long, value_name = "N")]
    pub(crate) top_k: Option<usize>,
    /// Sample only from the most likely tokens whose probabilities add up to P
    #[arg(long, value_name = "P")]
    pub(crate) top_p: Option<f64>,
    /// A penalty above 1 makes tokens that have occurred less likely
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub(crate) repetition_penalty: f64,
    /// The largest number of tokens to add
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) max_tokens: usize,
    /// The seed of the random numbers [default: a new one each time]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Stop when the added text contains this text; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub(crate) stop: Vec<String>,
    /// Print one JSON object at the end
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Summary {
    #[command(flatten)]
    pub(crate) model: Model,
    /// Run the model on this input
    #[arg(long, value_name = "FILE", conflicts_with = "shape")]
    pub(crate) input: Option<PathBuf>,
    /// Run the model on zeros of this shape [default: one sample]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub(crate) shape: Vec<usize>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// A whole number from 1.
pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("expected a whole number of at least 1".to_owned()),
    }
}
