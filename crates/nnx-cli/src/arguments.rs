//! What can be typed behind `nnx`.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::outcome::Outcome;

const EXAMPLES: &str = "\
Examples:
  nnx inspect model.pt                  what a checkpoint holds
  nnx scan ~/downloads                  is it safe to unpickle these files?
  nnx diff model.pt model.safetensors   do two checkpoints hold the same tensors?";

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

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  nnx completions bash > ~/.local/share/bash-completion/completions/nnx
  nnx completions zsh > \"${fpath[1]}/_nnx\"
  nnx completions fish > ~/.config/fish/completions/nnx.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  nnx man | man -l -
  nnx man inspect > nnx-inspect.1";

/// Shows, scans and compares model checkpoints: PyTorch and safetensors files of every kind
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
