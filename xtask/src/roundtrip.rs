//! `cargo xtask roundtrip`: opens, runs and writes real checkpoints, and opens them again.
//!
//! Without an argument it needs neither a network nor Python: the fixtures contain the results of
//! the real NNx. With `--python PATH` the real NNx opens the files of this workspace, and the other
//! way round.

mod compare;
mod facts;
mod fixtures;
mod json;
mod ours;
mod python;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use nnx_checkpoint::NNCheckpoint;

use compare::{Form, Outputs};
use facts::{Content, Entry, Facts, Forward, Input};
use fixtures::Fixture;
use python::{Python, Question};
use table::{Case, Table};

use crate::python_env::{self, Library};
use crate::{Arguments, Result, roundtrip_hub, workspace};

/// The state of a round trip.
#[derive(Debug)]
struct Trip<'a> {
    folder: &'a Path,
    table: Table,
    written: Vec<Written>,
}

/// A file that this workspace wrote, and its expected contents.
#[derive(Debug)]
struct Written {
    question: Question,
    form: Form,
    facts: Facts,
    /// The names in `cross_read.json` of real files with that content, the closest one first.
    kin: Vec<String>,
}

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    if arguments.flag("--hub") {
        return roundtrip_hub::run(arguments);
    }
    let python = arguments.value("--python")?.map(PathBuf::from);
    let library = python_env::library(arguments.value("--library")?.as_deref())?;
    let seed = arguments.value("--seed")?;
    let seed = seed.map_or_else(seed_of_now, |seed| Ok(seed.parse()?))?;
    arguments.finish()?;

    let fixtures = workspace::root().join("tests").join("fixtures");
    let folder = tempfile::tempdir()?;
    let mut trip = Trip {
        folder: folder.path(),
        table: Table::new(),
        written: Vec::new(),
    };
    trip.table
        .section("checkpoints of the real NNx: opened and run; written, opened and run again");
    for fixture in fixtures::built_in(&fixtures)? {
        trip.fixture(&fixture)?;
    }
    trip.table
        .section("the documented example: built; written, opened and run again");
    trip.example()?;
    if let Some(interpreter) = python {
        python_env::has(&interpreter, library)?;
        let python = Python::new(&interpreter, folder.path())?;
        let outcomes = fixtures::cross_read(&fixtures, library.version)?;
        trip.table.section(&format!(
            "random models of NNx {}, `--seed {seed}`: opened and run; written, opened and run again",
            library.version
        ));
        trip.written_by(&python, seed)?;
        trip.table.section(&format!(
            "all that was written above: opened and run by NNx {}",
            library.version
        ));
        trip.read_by(&python, library, &outcomes)?;
    }
    trip.table.verdict()
}

impl Trip<'_> {
    /// Compares all forms of a fixture with its side-car, and writes each back in both formats.
    fn fixture(&mut self, fixture: &Fixture) -> Result<()> {
        let mut expected = fixture.expected.clone();
        let opened: Vec<_> = fixture
            .files
            .iter()
            .map(|file| (file, ours::open(&file.path, &fixture.input)))
            .collect();
        let read = opened.iter().filter_map(|(_, opened)| opened.as_ref().ok());
        learn_bytes(&mut expected, read.map(|(_, facts)| facts));
        for (file, opened) in opened {
            let (checkpoint, facts) = match opened {
                Ok(opened) => opened,
                Err(error) => {
                    self.table.line(&file.name, Case::failed(&*error));
                    continue;
                }
            };
            let mut case = Case::new(&expected, &facts, file.form(), Outputs::Close);
            case.differences.extend(rebuilding(fixture, &facts));
            self.table.line(&file.name, case);
            // Without an output in the side-car, all forms must still give the same output.
            expected.forward = expected.forward.or_else(|| facts.forward.clone());
            self.write(&file.name, &checkpoint, &facts, &fixture.input)?;
        }
        Ok(())
    }

    /// Writes a checkpoint in both formats, and opens and runs the results.
    fn write(
        &mut self,
        name: &str,
        checkpoint: &NNCheckpoint,
        facts: &Facts,
        input: &Input,
    ) -> Result<()> {
        for form in [Form::Pickle, Form::SafeTensors] {
            let (format, suffix) = ours::format(form);
            let title = format!("{name} written as {suffix}");
            let path = self
                .folder
                .join(format!("{}.{suffix}", name.replace('/', "_")));
            if let Err(error) = checkpoint.to_file(&path, format) {
                // NNx raises a TypeError that names the entries.
                let is_refused = form == Form::SafeTensors && facts.has_objects();
                let case = if is_refused && !path.exists() {
                    Case::refused(&error)
                } else {
                    Case::failed(&error)
                };
                self.table.line(&title, case);
                continue;
            }
            let case = match ours::open(&path, input) {
                Ok((_, found)) => Case::new(facts, &found, form, Outputs::Exact),
                Err(error) => Case::failed(&*error),
            };
            self.table.line(&title, case);
            self.written.push(Written {
                question: Question {
                    name: title,
                    path,
                    input: input.clone(),
                },
                form,
                facts: facts.clone(),
                kin: kin(name, suffix),
            });
        }
        Ok(())
    }

    /// Builds the model of the library's own documentation.
    fn example(&mut self) -> Result<()> {
        let (model, checkpoint) = ours::example()?;
        let input = Input::plain(4);
        let facts = ours::facts(&checkpoint, &input)?;
        let built = Facts {
            forward: Some(ours::answer(&model, &input)?),
            ..facts.clone()
        };
        let case = Case::new(&built, &facts, Form::Pickle, Outputs::Exact);
        self.table.line("example", case);
        self.write("example", &checkpoint, &facts, &input)
    }

    /// Lets the real NNx write random models.
    fn written_by(&mut self, python: &Python<'_>, seed: u32) -> Result<()> {
        for (question, expected) in python.write(seed)? {
            let form = fixtures::form(&question.path);
            let opened = ours::open(&question.path, &question.input);
            let failure = match (expected, opened) {
                (Ok(expected), Ok((checkpoint, found))) => {
                    let case = Case::new(&expected, &found, form, Outputs::Close);
                    self.table.line(&question.name, case);
                    self.write(&question.name, &checkpoint, &found, &question.input)?;
                    continue;
                }
                (Err(error), _) => error,
                (_, Err(error)) => error.to_string(),
            };
            self.table.line(&question.name, Case::failed(failure));
        }
        Ok(())
    }

    /// Lets the real NNx open and run the written files.
    fn read_by(
        &mut self,
        python: &Python<'_>,
        library: &Library,
        outcomes: &BTreeMap<String, String>,
    ) -> Result<()> {
        let opens = |written: &&Written| {
            let outcome = written.kin.iter().find_map(|name| outcomes.get(name));
            outcome.is_none_or(|outcome| outcome == "NNCheckpoint")
        };
        let readable: Vec<&Written> = self.written.iter().filter(opens).collect();
        let questions: Vec<_> = readable.iter().map(|one| one.question.clone()).collect();
        for (written, found) in readable.into_iter().zip(python.describe(&questions)?) {
            let case = match found {
                Ok(found) => {
                    let mut expected = written.facts.without_keys(library.drops)?;
                    if !library.replays && expected.has_transforms() {
                        expected.forward = None;
                    }
                    Case::new(&expected, &found, written.form, Outputs::Close)
                }
                Err(error) => Case::failed(&error),
            };
            self.table.line(&written.question.name, case);
        }
        Ok(())
    }
}

/// The result of NNx for the models of side-cars without an output: it rebuilds all of them except
/// those with transforms that it does not know and those with entries that are not tensors.
fn rebuilding(fixture: &Fixture, found: &Facts) -> Option<String> {
    let expected = &fixture.expected;
    let rebuilds =
        expected.forward.is_some() || !(expected.has_transforms() || expected.has_objects());
    match (&found.forward, rebuilds) {
        (Some(Forward::Refused(why)), true) if expected.forward.is_none() => {
            Some(format!("forward: the model was refused: {why}"))
        }
        (Some(Forward::Output { .. }), false) => {
            Some("forward: NNx does not rebuild this model, yet it was run".into())
        }
        _ => None,
    }
}

/// Side-cars contain only the hashes of tensors. If one form of a fixture has the right hash, its
/// bytes show which value another form has wrong.
fn learn_bytes<'a>(expected: &mut Facts, read: impl Iterator<Item = &'a Facts> + Clone) {
    for Entry { name, content } in &mut expected.entries {
        let Content::Tensor(tensor) = content else {
            continue;
        };
        let mut candidates = read.clone().flat_map(Facts::tensors);
        let right =
            candidates.find(|(other, found)| other == name && found.sha256 == tensor.sha256);
        tensor.bytes = tensor.bytes.take().or_else(|| right?.1.bytes.clone());
    }
}

/// `nnx-0.4.1/ff_relu.legacy.pt` written as safetensors has the content of
/// `nnx-0.4.1/ff_relu.safetensors`, or if that file does not exist, of `nnx-0.4.1/ff_relu.pt`.
fn kin(name: &str, suffix: &str) -> Vec<String> {
    let (release, file) = name.split_once('/').unwrap_or(("", name));
    let stem = file.split_once('.').map_or(file, |(stem, _)| stem);
    [suffix, "pt"]
        .map(|suffix| format!("{release}/{stem}.{suffix}"))
        .into()
}

/// A new seed.
fn seed_of_now() -> Result<u32> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_nanos())
}
