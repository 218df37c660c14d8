//! `cargo xtask ci`: runs every check that a submission must pass, on a laptop and on a build
//! machine.

mod deny;
mod examples;
mod features;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::fresh_clone::{self, FreshRun};
use crate::workspace::{self, Package, cargo, line_of};
use crate::{
    Arguments, Result, boundary, convert, distributed, fuzz, python_env, roundtrip, runs, store,
    train,
};

/// The counts so far.
#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: usize,
}

/// A step: its title and its work. Each of its tests counts; a step without tests counts once.
struct Step {
    title: String,
    work: Work,
}

type Work = Box<dyn FnOnce(&mut Tally) -> Result<()>>;

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    let allow_dirty = arguments.flag("--allow-dirty");
    arguments.finish()?;
    if allow_dirty && std::env::var_os("CI").is_some() {
        return Err("`--allow-dirty` is for local runs; unset CI to use it".into());
    }
    let steps = steps(&workspace::packages()?, allow_dirty);
    let count = steps.len();
    let started = Instant::now();
    let mut tally = Tally::default();
    let mut times = Vec::new();
    let mut failure = None;
    for (number, Step { title, work }) in steps.into_iter().enumerate() {
        println!("\n=== {}/{count} {title}", number + 1);
        let began = Instant::now();
        let outcome = work(&mut tally);
        times.push(format!("{} {title}", clock(began.elapsed())));
        println!("=== {} {title}", clock(began.elapsed()));
        if let Err(error) = outcome {
            failure = Some(format!("`{title}` failed: {error}"));
            break;
        }
    }
    println!("\n{}", times.join("\n"));
    let took = clock(started.elapsed());
    match &failure {
        None => println!("ci passed: {count} steps in {took}; tests and other steps:"),
        Some(why) => println!("ci FAILED after {took}: {why}; tests and other steps:"),
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    failure.map_or(Ok(()), |why| Err(why.into()))
}

fn steps(packages: &[Package], allow_dirty: bool) -> Vec<Step> {
    let features: Vec<_> = packages
        .iter()
        .flat_map(Package::portable_features)
        .collect();
    let features = format!("--features={}", features.join(","));
    let clippy = ["clippy", "--workspace", "--all-targets"];
    let deny = ["--", "--deny=warnings"];
    let doc = ["doc", "--workspace", "--no-deps"];
    let mut steps = vec![
        cargo_step("format", &["fmt", "--all", "--check"]),
        cargo_step("clippy, default features", &[&clippy[..], &deny].concat()),
        cargo_step(
            "clippy, all features that need no hardware",
            &[&clippy[..], &[&features], &deny].concat(),
        ),
        doc_step("docs, default features", &doc),
        doc_step(
            "docs, all features that need no hardware",
            &[&doc[..], &[&features]].concat(),
        ),
        step(
            "tests of the workspace, with an empty home and a temporary folder of an unusual name",
            |tally| fresh_tests(&workspace::root(), fresh_clone::ODD, tally),
        ),
        step("tests in a fresh clone, with an empty home", |tally| {
            fresh_tests(&fresh_clone::make()?, fresh_clone::DEEP, tally)
        }),
    ];
    let published = || packages.iter().filter(|package| package.is_published());
    // Each crate is tested alone, because features are unified in a build of the whole workspace.
    for Package { name, .. } in published() {
        for (title, without) in [("", &[][..]), (", no features", &["--no-default-features"])] {
            let clippy = ["clippy", "--package", name, "--all-targets"];
            let test = ["test", "--package", name];
            steps.push(cargo_step(
                &format!("clippy of {name} alone{title}"),
                &[&clippy[..], without, &deny].concat(),
            ));
            steps.push(test_step(
                &format!("tests of {name} alone{title}"),
                &[&test[..], without].concat(),
            ));
        }
    }
    for package in published().cloned() {
        let title = format!("each feature of {} alone", package.name);
        steps.push(step(&title, move |tally| {
            tally.count(features::check(&package))
        }));
    }
    for package in published().cloned() {
        let title = format!("examples of {}", package.name);
        steps.push(step(&title, move |tally| {
            for path in examples::paths(&package)? {
                tally.count(examples::run(&path))?;
            }
            Ok(())
        }));
    }
    steps.push(task_step("boundary", boundary::run, &[]));
    steps.push(step("licences, bans and sources", |tally| {
        tally.count(deny::run())
    }));
    // The same inputs each time, so that a finding belongs to the change at hand. A campaign by hand
    // takes inputs that no earlier one had.
    steps.push(task_step(
        "fuzz bodies, ten seconds each",
        fuzz::run,
        &["--seconds", "10", "--seed", "1"],
    ));
    let names = published().flat_map(|package| ["--package", &package.name]);
    let dirty = allow_dirty.then_some("--allow-dirty");
    let package: Vec<_> = ["package"].into_iter().chain(names).chain(dirty).collect();
    steps.push(package_step("packages build on their own", &package));
    steps.push(task_step("round trip", roundtrip::run, &[]));
    steps.push(task_step("round trip by a Hub", roundtrip::run, &["--hub"]));
    steps.push(test_step(
        "files by way of Xet, with its storage server",
        &[
            "test",
            "--package",
            "nnx-xet-tests",
            "--features",
            "simulation",
        ],
    ));
    steps.push(task_step("killed writers", runs::run, &["--kills", "100"]));
    steps.push(task_step("python-env", python_env::run, &[]));
    steps.push(task_step(
        "a server of S3, uploads killed",
        store::run,
        &["--kills", "20"],
    ));
    steps.push(step("round trip with the real NNx", |tally| {
        tally.count(roundtrip_with_python())
    }));
    steps.push(task_step(
        "converted files, judged by Python",
        convert::run,
        &[],
    ));
    steps.push(task_step(
        "checkpoints of several processes, joined as by PyTorch",
        distributed::run,
        &["--seed", "1", "--rounds", "2", "--kills", "20"],
    ));
    // The same configurations each time, for the same reason as the inputs of the fuzz bodies.
    steps.push(task_step(
        "trainings shared with the real NNx",
        train::run,
        &["--seed", "1"],
    ));
    steps
}

fn roundtrip_with_python() -> Result<()> {
    let python = python_env::ensure(python_env::library(None)?, None)?;
    let words = ["--python".into(), python.to_string_lossy().into_owned()];
    roundtrip::run(Arguments::new(words.clone()))?;
    for options in [&["--hub"][..], &["--hub", "--xet"]] {
        let options = options.iter().map(|option| (*option).to_owned());
        roundtrip::run(Arguments::new(options.chain(words.clone())))?;
    }
    Ok(())
}

fn cargo_step(title: &str, words: &[&str]) -> Step {
    let mut command = cargo();
    command.args(words);
    command_step(title, command)
}

/// Packs and builds in a new target folder. Cargo keeps the sources that it unpacked from the local
/// registry of a target folder by version, and would otherwise build against an older state.
fn package_step(title: &str, words: &[&str]) -> Step {
    let mut command = cargo();
    // A package is built by itself, without the profiles of the workspace, and nobody debugs it.
    command.args(words).env("CARGO_PROFILE_DEV_DEBUG", "0");
    step(title, move |tally| {
        let target = tempfile::tempdir()?;
        command.arg("--target-dir").arg(target.path());
        println!("{}", line_of(&command));
        tally.count(succeed(&mut command))
    })
}

fn doc_step(title: &str, words: &[&str]) -> Step {
    let mut command = cargo();
    command.args(words).env("RUSTDOCFLAGS", "-D warnings");
    command_step(title, command)
}

fn command_step(title: &str, mut command: Command) -> Step {
    step(title, move |tally| {
        println!("{}", line_of(&command));
        tally.count(succeed(&mut command))
    })
}

fn task_step(title: &str, task: fn(Arguments) -> Result<()>, words: &[&str]) -> Step {
    let words: Vec<String> = words.iter().map(|word| (*word).into()).collect();
    step(title, move |tally| tally.count(task(Arguments::new(words))))
}

fn test_step(title: &str, words: &[&str]) -> Step {
    let mut command = cargo();
    command.args(words);
    step(title, move |tally| {
        println!("{}", line_of(&command));
        run_tests(&mut command, tally)
    })
}

fn fresh_tests(checkout: &Path, temporary: &str, tally: &mut Tally) -> Result<()> {
    let mut run = FreshRun::new(checkout, temporary)?;
    println!("{} in {}", line_of(&run.command), checkout.display());
    run_tests(&mut run.command, tally)?;
    tally.count(run.check_home())
}

fn step(title: &str, work: impl FnOnce(&mut Tally) -> Result<()> + 'static) -> Step {
    Step {
        title: title.into(),
        work: Box::new(work),
    }
}

/// Prints a test run's output and adds up its summaries.
fn run_tests(command: &mut Command, tally: &mut Tally) -> Result<()> {
    let before = tally.failed;
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().ok_or("no output to read")?;
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        if let Some((passed, failed)) = summary(&line) {
            tally.passed += passed;
            tally.failed += failed;
        }
    }
    let status = child.wait()?;
    if status.success() {
        return Ok(());
    }
    if tally.failed == before {
        // The run ended before a test could fail.
        tally.failed += 1;
    }
    Err(status.to_string().into())
}

/// The numbers of `test result: ok. 5 passed; 0 failed; …`.
fn summary(line: &str) -> Option<(usize, usize)> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let number = |part: &str, word| part.trim().strip_suffix(word)?.trim().parse().ok();
    let mut parts = counts.split(';');
    Some((
        number(parts.next()?, "passed")?,
        number(parts.next()?, "failed")?,
    ))
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status()?;
    if status.success() {
        Ok(())
    } else {
        Err(status.to_string().into())
    }
}

impl Tally {
    fn count(&mut self, outcome: Result<()>) -> Result<()> {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(_) => self.failed += 1,
        }
        outcome
    }
}

fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{:2}m{:02}s", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_of_cargo_test_are_read() {
        let ok = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out";
        assert_eq!(summary(ok), Some((12, 0)));
        let failed =
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(summary(failed), Some((3, 2)));
        assert_eq!(summary("test a ... ok"), None);
    }

    #[test]
    fn a_failing_step_is_counted() {
        let mut tally = Tally::default();
        assert!(tally.count(Err("no".into())).is_err());
        assert!(tally.count(Ok(())).is_ok());
        assert_eq!((tally.passed, tally.failed), (1, 1));
    }

    #[test]
    fn tests_that_do_not_build_are_counted_as_failed() {
        let mut tally = Tally::default();
        let mut command = cargo();
        command.args(["test", "--package", "no-such-package"]);
        assert!(run_tests(command.stderr(Stdio::null()), &mut tally).is_err());
        assert_eq!((tally.passed, tally.failed), (0, 1));
    }
}
