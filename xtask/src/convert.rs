//! `cargo xtask convert`: lets other libraries judge converted files.

mod large;
mod ways;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use nnx_checkpoint::{CheckpointReader, ConvertOptions, NNCheckpoint, SharedTensors, convert};
use serde_json::{Value, json};

use crate::workspace::{line_of, root};
use crate::{Arguments, Result, python_env};

/// The script that runs in Python.
const SCRIPT: &str = include_str!("../python/convert.py");
/// The sizes of shards, as options; small enough that fixtures have several shards.
const SHARD_SIZES: [u64; 3] = [100, 1_000, 1_000_000];

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    let python = match arguments.value("--python")? {
        Some(path) => PathBuf::from(path),
        None => python_env::ensure(python_env::library(None)?, None)?,
    };
    let is_large = arguments.flag("--large");
    let folder = arguments.word().map(PathBuf::from);
    arguments.finish()?;
    let scratch = match folder {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    let questions = if is_large {
        large::questions(scratch.path())?
    } else {
        questions(scratch.path())?
    };
    let answers = ask(&python, scratch.path(), &questions)?;
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut unjudged: BTreeMap<String, usize> = BTreeMap::new();
    for (question, answer) in questions.iter().zip(&answers) {
        let kind = question["kind"].as_str().unwrap_or_default().to_owned();
        let (agree, all) = counts.entry(kind.clone()).or_default();
        if let Some(reason) = answer["unjudged"].as_str() {
            *unjudged.entry(format!("{kind}: {reason}")).or_default() += 1;
            continue;
        }
        *all += 1;
        match answer.as_str() {
            None => *agree += 1,
            Some(wrong) => println!("FAIL {question}: {wrong}"),
        }
    }
    for (reason, count) in &unjudged {
        println!("{count} not judged or not in every way: {reason}");
    }
    for (kind, (agree, all)) in &counts {
        println!("{kind}: {agree} of {all} agree");
    }
    // If nothing of a kind was judged, the kind has not been checked.
    let all_agree = counts.values().all(|(agree, all)| agree == all && *all > 0);
    if all_agree && !counts.is_empty() && answers.len() == questions.len() {
        Ok(())
    } else {
        Err("not all converted files are right".into())
    }
}

/// Converts the fixtures and lists what is to be judged of each.
fn questions(folder: &Path) -> Result<Vec<Value>> {
    let fixtures = root().join("tests/fixtures");
    let mut questions = Vec::new();
    let corpus = files_below(&fixtures.join("torch"), &["pt"])?;
    if corpus.len() < 140 {
        return Err(format!("only {} files in the corpus", corpus.len()).into());
    }
    for (number, source) in corpus.iter().enumerate() {
        let place = folder.join(format!("t{number}"));
        torch_file(source, &place, &fixtures, &mut questions)?;
        ways::questions(source, &place, &fixtures, &mut questions)?;
    }
    let checkpoints = fixtures.join("nnx-0.4.1/checkpoints");
    for (number, source) in files_below(&checkpoints, &["pt", "safetensors"])?
        .iter()
        .enumerate()
    {
        let place = folder.join(format!("n{number}"));
        nnx_file(source, &place, &mut questions)?;
        ways::questions(source, &place, &fixtures, &mut questions)?;
    }
    Ok(questions)
}

/// Options with which no file is refused because of its contents: fixtures without tensors are
/// judged too, and those that name `functools.partial`.
fn of_any_contents() -> ConvertOptions {
    ConvertOptions::default()
        .allow_empty(true)
        .allow_dangerous_globals(true)
}

fn torch_file(
    source: &Path,
    place: &Path,
    fixtures: &Path,
    questions: &mut Vec<Value>,
) -> Result<()> {
    let Ok(reader) = CheckpointReader::open(source) else {
        return Ok(());
    };
    let drop = of_any_contents().drop_non_tensors(true);
    let safe = place.join("flat.safetensors");
    if convert(source, &safe, &drop).is_ok() {
        questions.push(json!({"kind": "safetensors_file", "target": safe}));
        let torch = place.join("flat.pt");
        convert(&safe, &torch, &drop)?;
        questions.push(json!({"kind": "torch_file", "source": safe, "target": torch}));
        for size in SHARD_SIZES
            .into_iter()
            .filter(|_| !reader.tensors().is_empty())
        {
            for is_safe in [true, false] {
                let target = place.join(format!("shards-{size}-{is_safe}"));
                std::fs::create_dir_all(&target)?;
                let mut options = drop.clone().max_shard_size(size);
                options.to = Some(if is_safe {
                    nnx_checkpoint::TargetFormat::SafeTensors
                } else {
                    nnx_checkpoint::TargetFormat::Torch
                });
                convert(&safe, &target, &options)?;
                questions.push(json!({
                    "kind": "shards", "source": safe, "target": target,
                    "max_shard_size": size, "safe": is_safe,
                }));
            }
        }
    }
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    if name.contains("tied") || name.contains("shared") {
        let target = place.join("alias.safetensors");
        let options = drop.clone().tied(SharedTensors::Aliased);
        let is_aliased = |note: &String| note.contains(" is an alias of ");
        if convert(source, &target, &options).is_ok_and(|done| done.notes.iter().any(is_aliased)) {
            questions.push(json!({"kind": "aliases", "source": source, "target": target}));
        }
    }
    // If torch cannot load the source, it cannot judge the target.
    let sidecar = std::fs::read_to_string(source.with_extension("json"))?;
    if sidecar.contains("\"value\"") {
        let whole = place.join("whole.pt");
        convert(source, &whole, &of_any_contents())?;
        questions.push(json!({
            "kind": "whole_file", "source": source, "target": whole, "types": fixtures,
        }));
    }
    Ok(())
}

fn nnx_file(source: &Path, place: &Path, questions: &mut Vec<Value>) -> Result<()> {
    let is_safe = source
        .extension()
        .is_some_and(|extension| extension == "safetensors");
    let target = place.join(if is_safe {
        "other.pt"
    } else {
        "other.safetensors"
    });
    let is_checkpoint = NNCheckpoint::from_file(source).is_ok();
    if is_checkpoint && convert(source, &target, &of_any_contents()).is_ok() {
        questions.push(json!({"kind": "nnx_file", "source": source, "target": target}));
    }
    Ok(())
}

fn files_below(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if extension.is_some_and(|extension| extensions.contains(&extension)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The errors that Python finds in each.
fn ask(python: &Path, folder: &Path, questions: &[Value]) -> Result<Vec<Value>> {
    let manifest = folder.join("manifest.json");
    std::fs::write(&manifest, serde_json::to_vec(questions)?)?;
    let mut command = Command::new(python);
    command.args(["-c", SCRIPT]).arg(&manifest);
    let output = command.output()?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{}` failed: {error}", line_of(&command)).into());
    }
    let last = output
        .stdout
        .trim_ascii()
        .rsplit(|byte| *byte == b'\n')
        .next();
    Ok(serde_json::from_slice(last.unwrap_or_default())?)
}
