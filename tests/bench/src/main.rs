//! Times beside a floor and beside other libraries: `cargo xtask bench checkpoint`, networks
//! beside PyTorch: `cargo xtask bench net`, training beside NNx: `cargo xtask bench train`, and
//! transfers beside the official client of the Hub: `cargo xtask bench hub`.
//!
//! Each row measures our way and the others in turns, in one process, over files that are made here
//! and are in the system's cache. The fastest of the turns counts, as the others were disturbed; a
//! ratio is our time by the other one.

#![expect(
    clippy::print_stdout,
    reason = "a benchmark's result is what it prints"
)]

mod converting;
mod file;
mod hub;
mod many;
mod net;
mod owned;
mod peer;
#[cfg(feature = "peers")]
mod peers;
mod python;
mod resident;
mod row;
mod saving;
mod scanning;
mod sum;
mod touching;
mod train;

use std::env;
use std::error::Error;
use std::path::PathBuf;

use crate::python::Python;

type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

/// The paths of the files, and the other programs.
struct Bench {
    /// A folder on the disk.
    disk: tempfile::TempDir,
    /// A folder on a memory file system, where there is one.
    memory: Option<tempfile::TempDir>,
    /// The reference, where it is installed.
    python: Option<Python>,
    /// The command `nnx`.
    nnx: PathBuf,
}

/// Measures one part of the table of checkpoints and prints its rows.
type Part = fn(&Bench) -> Result<()>;

/// The parts of the table of checkpoints, which can be run one by one.
const PARTS: [(&str, Part); 6] = [
    ("touching", touching::run),
    ("owned", owned::run),
    ("many", many::run),
    ("converting", converting::run),
    ("saving", saving::run),
    ("scanning", scanning::run),
];

fn main() -> Result<()> {
    let mut arguments = env::args_os().skip(1);
    let first = arguments
        .next()
        .ok_or("expected the path of `nnx`, `hub`, `net` or `train`")?;
    if first == "net" {
        let python = arguments
            .next()
            .ok_or("expected the path of a Python with NNx")?;
        let words: Vec<String> = arguments
            .map(|word| word.to_string_lossy().into())
            .collect();
        return net::run(python.as_ref(), &words);
    }
    if first == "net-memory" {
        let (Some(folder), Some(row)) = (arguments.next(), arguments.next()) else {
            return Err("expected a folder and the name of a row".into());
        };
        return net::memory(folder.as_ref(), &row.to_string_lossy());
    }
    if first == "hub" {
        let [nnx, python] = [arguments.next(), arguments.next()]
            .map(|path| path.ok_or("expected the paths of `nnx` and of a Python with the client"));
        return hub::run(nnx?.as_ref(), python?.as_ref());
    }
    if first == "train" {
        let python = arguments
            .next()
            .ok_or("expected the path of a Python with NNx")?;
        let threads = env::var("RAYON_NUM_THREADS")?.parse()?;
        return train::run(python.as_ref(), threads);
    }
    let nnx = PathBuf::from(first);
    let only = arguments.next().filter(|only| only != "all");
    let python = arguments.next().map(PathBuf::from);
    let bench = Bench {
        disk: tempfile::tempdir_in(nnx.parent().unwrap_or(&nnx))?,
        memory: tempfile::tempdir_in("/dev/shm").ok(),
        python: python.map(Python::new),
        nnx,
    };
    println!("| what | nnx-checkpoint | compared with | ratio | target |");
    println!("|---|---|---|---|---|");
    let mut ran = false;
    for (name, run) in PARTS {
        if only.as_ref().is_none_or(|only| only == name) {
            run(&bench)?;
            ran = true;
        }
    }
    if ran {
        Ok(())
    } else {
        let names = PARTS.map(|(name, _)| name);
        Err(format!("expected `all` or one of {names:?} as the part").into())
    }
}
