//! The history of a run as `idps.csv`, in the form in which pandas writes and reads it.

mod cell;
mod flatten;
mod read;
mod write;

pub use read::from_csv;
pub use write::{CsvHistory, to_csv};
