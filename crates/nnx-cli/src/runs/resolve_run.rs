//! Finds the run that the user named.

use std::path::Path;

use nnx::run::NNRun;

use crate::failure::Failure;
use crate::path::PathText;

/// The largest number of candidates in a message.
const SHOWN_CANDIDATES: usize = 10;

/// The names of the folders that contain a run.
pub(super) fn ids(root: &Path) -> Result<Vec<String>, Failure> {
    if !root.is_dir() {
        let what = "expected a folder that contains the folder `runs`, found none";
        return Err(Failure::new("not_found", what).in_path(root));
    }
    Ok(NNRun::ids(root)?)
}

/// The word for the run that the pointer `best` names.
const BEST: &str = "best";

/// The name of the folder of the only run whose id begins with the text. A complete id is never
/// ambiguous. `best` is the run that the pointer `best` names.
pub(crate) fn folder(typed: &str, root: &Path) -> Result<String, Failure> {
    let mut ids = ids(root)?;
    let best = match typed {
        BEST => NNRun::best_id(root)?,
        _ => None,
    };
    let typed = best.as_deref().unwrap_or(typed);
    if let Some(whole) = ids.iter().position(|id| id == typed) {
        return Ok(ids.swap_remove(whole));
    }
    ids.retain(|id| !typed.is_empty() && id.starts_with(typed));
    match ids.as_slice() {
        [id] => Ok(id.clone()),
        [] => Err(
            Failure::new("no_such_run", format!("there is no run `{typed}`"))
                .in_path(&root.join("runs")),
        ),
        several => {
            let shown = several.iter().take(SHOWN_CANDIDATES);
            let mut shown: Vec<String> = shown.map(|id| format!("`{id}`")).collect();
            if let Some(more @ 1..) = several.len().checked_sub(SHOWN_CANDIDATES) {
                shown.push(format!("{more} more"));
            }
            Err(Failure::new(
                "ambiguous_id",
                format!(
                    "expected the beginning of one run's id, found that of {}: {}",
                    several.len(),
                    shown.join(", ")
                ),
            ))
        }
    }
}

/// A root for JSON.
pub(super) fn root_text(root: &Path) -> String {
    PathText::new(root).text
}
