//! The arguments of `nnx runs`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const LIST_EXAMPLES: &str = "\
Examples:
  nnx runs list
  nnx runs list --root ~/experiments --json | jq -r '.runs[].id'

Exit status: 0, or 2 when a run could not be read.";

const SHOW_EXAMPLES: &str = "\
Examples:
  nnx runs show 499c
  nnx runs show 499c --json | jq '.epochs[].val_loss'

Exit status: 0, or 2 when the run could not be read.";

const PLOT_EXAMPLES: &str = "\
Examples:
  nnx runs plot 499c -o chart.html
  nnx runs plot 499c 8821 -o chart.svg --log

Exit status: 0, or 2 when a run could not be read or the chart could not be written.";

const COMPARE_EXAMPLES: &str = "\
Examples:
  nnx runs compare 499c 8821

Exit status: 0, or 2 when a run could not be read.";

const VERIFY_EXAMPLES: &str = "\
Examples:
  nnx runs verify 499c
  nnx runs verify 499c && python resume.py

Exit status: 0 when the run is sound, 1 when something is wrong, 2 when something could not be \
judged and nothing is wrong.";

const BEST_EXAMPLES: &str = "\
Examples:
  nnx runs show \"$(nnx runs best)\"

Exit status: 0, or 2 when there is no best run.";

#[derive(Debug, Args)]
pub(crate) struct Runs {
    #[command(subcommand)]
    pub(crate) command: RunsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List the runs
    ///
    /// Shows the net of each run, its epochs, the metric of its checkpoint `best`, and when it was last
    /// written. A star marks the best run.
    #[command(after_help = LIST_EXAMPLES)]
    List(Whole),
    /// Show a run
    ///
    /// Shows its configuration, the metrics of its epochs, and its checkpoints with the SHA-256 of
    /// their files.
    #[command(after_help = SHOW_EXAMPLES)]
    Show(One),
    /// Draw the loss and the error of runs over their epochs
    ///
    /// The extension of FILE selects the form: `.svg`, `.png`, or `.html`, a page that needs no other
    /// file. Values that are missing or not finite are gaps in the lines, with a note.
    #[command(after_help = PLOT_EXAMPLES)]
    Plot(Plot),
    /// Compare two runs
    ///
    /// Shows the differences between their configurations, and their metrics side by side.
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(Compare),
    /// Check the files of a run
    ///
    /// Reads its configuration, its history and every checkpoint with its training state, and compares
    /// the digests of the files with the manifests.
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(One),
    /// Print the id of the best run
    ///
    /// It is the run that the pointer `runs/best` names. Each save of a run updates the pointer.
    #[command(after_help = BEST_EXAMPLES)]
    Best(Whole),
}

/// All runs.
#[derive(Debug, Args)]
pub(crate) struct Whole {
    #[command(flatten)]
    pub(crate) runs_dir: RunsDir,
}

/// One run.
#[derive(Debug, Args)]
pub(crate) struct One {
    /// The id of the run, or a beginning of it that no other run has
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) runs_dir: RunsDir,
}

#[derive(Debug, Args)]
pub(crate) struct Plot {
    /// The ids of the runs, or beginnings of them that no other run has
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// The file to write: `.svg`, `.png` or `.html`
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Draw the values on a logarithmic scale
    #[arg(long)]
    pub(crate) log: bool,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) runs_dir: RunsDir,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The id of a run, or a beginning of it that no other run has
    pub(crate) a: String,
    /// The other run
    pub(crate) b: String,
    #[command(flatten)]
    pub(crate) runs_dir: RunsDir,
}

/// The folder of the runs, and the form of the output.
#[derive(Debug, Args)]
pub(crate) struct RunsDir {
    /// The folder that contains `runs`
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl RunsCommand {
    /// The folder of the runs, and the form of the output.
    pub(crate) fn runs_dir(&self) -> &RunsDir {
        match self {
            Self::List(arguments) | Self::Best(arguments) => &arguments.runs_dir,
            Self::Show(arguments) | Self::Verify(arguments) => &arguments.runs_dir,
            Self::Plot(arguments) => &arguments.runs_dir,
            Self::Compare(arguments) => &arguments.runs_dir,
        }
    }
}
