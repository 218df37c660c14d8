//! Training, judged against what the real library did.

mod adapter;
mod clip;
mod data;
mod decisions;
mod errors;
mod files;
mod first_update;
mod fixture;
mod interrupt;
mod judge;
mod loss_mask;
mod losses;
mod metrics;
mod optimizers;
mod recorded;
mod recorder;
mod rng;
mod runs;
mod saved_states;
mod schedulers;
mod setup;
mod spy;
