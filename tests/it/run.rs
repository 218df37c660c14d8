//! Runs on disk, judged against those that the real library wrote.

mod best;
mod csv;
mod files;
mod hostile;
mod journal;
mod kill;
mod lock;
mod monitors;
mod sidecars;
mod states;
mod store;
mod support;
mod training_state;
mod warnings;
mod yaml;
