//! The history of a run: the file `idps.csv`, as pandas writes and reads it.

mod cell;
mod flatten;
mod read;
mod write;

pub use read::from_csv;
pub use write::to_csv;
