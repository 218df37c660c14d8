//! The arguments of `nnx push`, `pull`, `card` and `whoami`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

pub(super) const PUSH_EXAMPLES: &str = "\
Examples:
  nnx push runs/3f…/checkpoints/best.pt owner/model --private
  nnx push exported/ owner/model --create-pr
  nnx push runs/3f… owner/runs --path-in-repo 3f…

The token is that of the `hf` tools: HF_TOKEN, or the file that `hf auth login` wrote.
Exit status: 0, also when the repository already has everything, or 2 when publishing failed.";

pub(super) const PULL_EXAMPLES: &str = "\
Examples:
  nnx pull owner/model
  nnx pull owner/model --to model/ --include '*.safetensors' config.json
  nnx pull owner/model --offline --verify
  nnx inspect \"$(nnx pull owner/model)\"

Exit status: 0, or 2 when a file could not be downloaded.";

pub(super) const CARD_EXAMPLES: &str = "\
Examples:
  nnx card best.pt > README.md
  nnx card best.pt --license mit --tag robotics";

#[derive(Debug, Args)]
pub(crate) struct Push {
    /// A folder, or a checkpoint of NNx, which is published as `save_pretrained` writes it
    pub(crate) path: PathBuf,
    /// The repository: `owner/name`
    pub(crate) repo: String,
    /// Make the repository private if it is created
    #[arg(long)]
    pub(crate) private: bool,
    /// The branch to commit to [default: main]
    #[arg(long, value_name = "NAME")]
    pub(crate) branch: Option<String>,
    /// Open a pull request instead of committing to the branch
    #[arg(long)]
    pub(crate) create_pr: bool,
    /// The commit message
    #[arg(long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// The folder in the repository that the files go to
    #[arg(long, value_name = "PATH")]
    pub(crate) path_in_repo: Option<String>,
    /// Only files that match these patterns: `*.safetensors`
    #[arg(long, value_name = "PATTERN", num_args = 1..)]
    pub(crate) include: Vec<String>,
    /// No files that match these patterns
    #[arg(long, value_name = "PATTERN", num_args = 1..)]
    pub(crate) exclude: Vec<String>,
    /// Delete files that match these patterns from the repository, in the same commit
    #[arg(long, value_name = "PATTERN", num_args = 1..)]
    pub(crate) delete: Vec<String>,
    /// Go on where `.gitignore` keeps weights out of the repository
    #[arg(long)]
    pub(crate) allow_ignored: bool,
    /// How many files are transferred at the same time [default: one for each core, up to 8]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_workers: Option<NonZeroUsize>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Pull {
    /// The repository: `owner/name`
    pub(crate) repo: String,
    /// A branch, a tag or a commit [default: main]
    #[arg(long, value_name = "REVISION")]
    pub(crate) revision: Option<String>,
    /// Copy the files into this folder instead of leaving them in the cache
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,
    /// Only files that match these patterns
    #[arg(long, value_name = "PATTERN", num_args = 1..)]
    pub(crate) include: Vec<String>,
    /// No files that match these patterns
    #[arg(long, value_name = "PATTERN", num_args = 1..)]
    pub(crate) exclude: Vec<String>,
    /// Download files again that are in the cache
    #[arg(long)]
    pub(crate) force: bool,
    /// Use only the cache, not the network
    #[arg(long, conflicts_with = "force")]
    pub(crate) offline: bool,
    /// Hash all files that are in the cache, also those that have not changed since they were hashed
    #[arg(long)]
    pub(crate) verify: bool,
    /// How many files are transferred at the same time [default: one for each core, up to 8]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_workers: Option<NonZeroUsize>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Card {
    /// A checkpoint of NNx, or a folder that `save_pretrained` wrote
    pub(crate) model: PathBuf,
    /// The licence, as the Hub abbreviates it: `mit`, `apache-2.0`
    #[arg(long)]
    pub(crate) license: Option<String>,
    /// A tag; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// The code of a language; may be repeated
    #[arg(long = "language", value_name = "CODE")]
    pub(crate) languages: Vec<String>,
    /// The address of the source code
    #[arg(long, value_name = "URL")]
    pub(crate) repo_url: Option<String>,
    /// The address of the paper
    #[arg(long, value_name = "URL")]
    pub(crate) paper_url: Option<String>,
    /// The address of the documentation
    #[arg(long, value_name = "URL")]
    pub(crate) docs_url: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Whoami {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
