//! `nnx runs best`: prints the id of the best run.

use nnx::run::{NNRun, RunSummary};
use serde::Serialize;

use super::monitor::BestPart;
use super::resolve_run;
use crate::arguments::runs::RunsDir;
use crate::failure::Failure;
use crate::json;
use crate::outcome::Outcome;

#[derive(Debug, Serialize)]
struct Best {
    root: String,
    id: String,
    net: String,
    best: Option<BestPart>,
}

pub(super) fn run(runs_dir: &RunsDir) -> Result<Outcome, Failure> {
    let root = &runs_dir.root;
    let ids = resolve_run::ids(root)?;
    let pointer = root.join("runs").join("best");
    let Some(id) = NNRun::best_id(root)? else {
        let what = if pointer.symlink_metadata().is_ok() {
            "the pointer to the best run does not contain the id of a run; the next save of a run \
                 with a checkpoint `best` replaces it"
        } else {
            "the folder of runs has no pointer to the best run; a save of a run with a checkpoint \
                 `best` creates it"
        };
        return Err(Failure::new("no_best_run", what).in_path(&pointer));
    };
    if !ids.contains(&id) {
        let what = format!("the pointer to the best run names `{id}`, which does not exist");
        return Err(Failure::new("no_best_run", what).in_path(&pointer));
    }
    let summary = RunSummary::new(&NNRun::load(&id, root)?, &id, root)?;
    let text = if runs_dir.json {
        json::object(&Best {
            root: resolve_run::root_text(root),
            id,
            net: summary.net,
            best: summary.best.as_ref().map(BestPart::new),
        })
    } else {
        format!("{id}\n")
    };
    Ok(Outcome::success(text))
}
