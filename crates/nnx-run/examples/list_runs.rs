//! Lists the runs of a folder, and verifies the last checkpoint of each.
//!
//! ```sh
//! cargo run -p nnx-run --example list_runs -- tests/fixtures/nnx-0.4.1/run
//! ```
//!
//! The folder is the one that contains `runs`. Without a path the example lists the runs of the test
//! fixtures, which Python's NNx trained.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use std::path::PathBuf;

use nnx_params::Checkpoints;
use nnx_run::{CheckpointStore, NNRun, RunSummary};

const FIXTURES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/fixtures/nnx-0.4.1/run"
);

fn main() -> nnx_run::Result<()> {
    let root = std::env::args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from(FIXTURES), PathBuf::from);

    for (folder, summary) in RunSummary::all(&root)? {
        // One run that cannot be read does not hide the others.
        let summary = match summary {
            Ok(summary) => summary,
            Err(error) => {
                println!("{folder}: cannot be read: {error}");
                continue;
            }
        };
        println!(
            "{folder}: {}, {} of {} epochs, {} records",
            summary.net, summary.epochs, summary.planned_epochs, summary.records
        );
        if let Some(best) = &summary.best {
            println!(
                "  best: {} = {} in epoch {}",
                best.name, best.value, best.epoch
            );
        }
        for warning in &summary.warnings {
            println!("  warning: {warning}");
        }
        let store = CheckpointStore::new(&folder, &root)?;
        match store.verify(&Checkpoints::Last.into()) {
            Ok(Some(manifest)) => {
                println!(
                    "  checkpoint `last`: {} verified files",
                    manifest.files().count()
                );
            }
            Ok(None) => println!("  checkpoint `last`: no manifest to verify it with"),
            Err(error) => println!("  checkpoint `last`: {error}"),
        }
    }
    match NNRun::best(&root)? {
        Some(best) => println!("the best run is {best}"),
        None => println!("there is no best run"),
    }
    Ok(())
}
