//! Runs the fuzz bodies: `cargo xtask fuzz` calls this.
//!
//! A round that breaks a promise ends the process, whatever the way: a panic, a stack that
//! overflows, memory that runs out. The number of the round is in the progress file by then.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command's result is what it prints"
)]

use std::error::Error;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nnx_fuzz::{BODIES, Body, Campaign, fixtures, regressions, seeds};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const HELP: &str = "nnx-fuzz <command>

  bodies                             print the names of the bodies
  run BODY NUMBER SECONDS PROGRESS   run rounds; the file PROGRESS holds the round's number
  input BODY NUMBER ROUND FILE       write the input of a round to a file
  replay BODY FILE…                  run a body on files
  seeds BODY DIR                     write the body's seeds into a folder
  once                               run every body on all regressions and on fixtures cut short
";

/// Lengths at which `once` cuts a fixture.
const CUTS: usize = 16;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match command(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nnx-fuzz: {error}");
            ExitCode::FAILURE
        }
    }
}

fn command(words: &[&str]) -> Result<()> {
    match words {
        ["bodies"] => BODIES.iter().for_each(|body| println!("{}", body.name)),
        ["run", body, number, seconds, progress] => {
            let campaign = Campaign::new(named(body)?, number.parse()?);
            run(
                &campaign,
                Duration::from_secs(seconds.parse()?),
                Path::new(progress),
            )?;
        }
        ["input", body, number, round, file] => {
            let campaign = Campaign::new(named(body)?, number.parse()?);
            fs::write(file, campaign.input(round.parse()?))?;
        }
        ["replay", body, files @ ..] => {
            let body = named(body)?;
            for file in files {
                (body.run)(&fs::read(file)?);
            }
        }
        ["seeds", body, folder] => {
            fs::create_dir_all(folder)?;
            for (index, seed) in seeds(named(body)?).into_iter().enumerate() {
                fs::write(Path::new(folder).join(format!("seed-{index:04}")), seed)?;
            }
        }
        ["once"] => once(),
        _ => print!("{HELP}"),
    }
    Ok(())
}

fn named(name: &str) -> Result<Body> {
    Body::named(name).ok_or_else(|| format!("there is no body `{name}`").into())
}

fn run(campaign: &Campaign, time: Duration, progress: &Path) -> Result<()> {
    let mut progress = File::create(progress)?;
    let started = Instant::now();
    let mut round = 0u64;
    while started.elapsed() < time {
        progress.seek(SeekFrom::Start(0))?;
        progress.write_all(&round.to_le_bytes())?;
        campaign.round(round);
        round += 1;
    }
    progress.seek(SeekFrom::Start(0))?;
    progress.write_all(&round.to_le_bytes())?;
    Ok(())
}

fn once() {
    let mut judged = 0u64;
    let mut judge = |input: &[u8]| {
        for body in BODIES {
            (body.run)(input);
            judged += 1;
        }
    };
    for (_, input) in regressions() {
        judge(&input);
    }
    for file in fixtures() {
        for cut in 0..CUTS {
            judge(&file[..file.len() * cut / CUTS]);
        }
    }
    println!("{judged} runs");
}
