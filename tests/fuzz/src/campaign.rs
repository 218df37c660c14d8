//! Running a body on many inputs.

use std::path::Path;

use crate::body::Body;
use crate::mutate::mutant;
use crate::random::Random;
use crate::seeds::seeds;

/// Inputs for one body: its seeds, then mutants of them without end. The input of a round depends
/// on the number given at the start alone, so that a round can be run again.
#[derive(Debug)]
pub struct Campaign {
    body: Body,
    seeds: Vec<Vec<u8>>,
    number: u64,
}

impl Campaign {
    /// A campaign of that number.
    ///
    /// # Panics
    /// When the fixtures cannot be read.
    pub fn new(body: Body, number: u64) -> Self {
        Self {
            body,
            seeds: seeds(body),
            number,
        }
    }

    /// The input of a round.
    pub fn input(&self, round: u64) -> Vec<u8> {
        let seed = usize::try_from(round)
            .ok()
            .and_then(|round| self.seeds.get(round));
        if let Some(seed) = seed {
            return seed.clone();
        }
        // Neighbouring numbers and rounds give unrelated inputs.
        let mut number = Random::new(self.number);
        mutant(
            &self.seeds,
            &mut Random::new(number.next() ^ round.wrapping_mul(0x2545_f491_4f6c_dd1d)),
        )
    }

    /// Runs the body on the input of a round.
    ///
    /// # Panics
    /// When a promise is broken.
    pub fn round(&self, round: u64) {
        (self.body.run)(&self.input(round));
    }

    /// The rounds that run the seeds as they are.
    pub fn seed_rounds(&self) -> u64 {
        self.seeds.len() as u64
    }
}

/// Inputs that broke a promise once, each with its file's name.
///
/// # Panics
/// When they cannot be read or are not there.
pub fn regressions() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/regression"));
    let entries = std::fs::read_dir(folder).expect("the folder of regressions");
    let mut found: Vec<_> = entries
        .map(|entry| {
            let entry = entry.expect("a directory entry");
            let bytes = std::fs::read(entry.path()).expect("a regression file");
            (entry.file_name().to_string_lossy().into_owned(), bytes)
        })
        .collect();
    assert!(!found.is_empty(), "no regression file");
    found.sort();
    found
}
