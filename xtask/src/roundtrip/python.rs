//! The other half of a round trip: the real NNx in a separate Python.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nnx_params::{State, Value, python_text};

use super::facts::{Facts, Input};
use super::json;
use crate::Result;
use crate::workspace::line_of;

/// The script that runs there; it judges nothing.
const SCRIPT: &str = include_str!("../../python/roundtrip.py");

/// An interpreter with NNx, and a folder for the exchanged files.
#[derive(Debug)]
pub(super) struct Python<'a> {
    interpreter: &'a Path,
    folder: &'a Path,
}

/// A file that NNx opens.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) input: Input,
}

/// The contents of a file as NNx reads them, or the reason why it cannot.
pub(super) type Described = Result<Facts, String>;

impl<'a> Python<'a> {
    /// # Errors
    /// When the folder cannot be written to.
    pub(super) fn new(interpreter: &'a Path, folder: &'a Path) -> Result<Self> {
        std::fs::write(folder.join("roundtrip.py"), SCRIPT)?;
        Ok(Self {
            interpreter,
            folder,
        })
    }

    /// The result of NNx for each file, in the order of the files.
    ///
    /// # Errors
    /// When Python fails, or answers for another number of files.
    pub(super) fn describe(&self, questions: &[Question]) -> Result<Vec<Described>> {
        let manifest = self.folder.join("manifest.json");
        let all = questions.iter().map(Question::to_value).collect();
        std::fs::write(&manifest, python_text::json_dumps(&Value::List(all)))?;
        let report = self.run(&["describe".as_ref(), &manifest])?;
        let found: Vec<Described> = report
            .iter()
            .map(Facts::from_report)
            .collect::<Result<_>>()?;
        if found.len() == questions.len() {
            Ok(found)
        } else {
            Err(format!("asked for {} files, got {}", questions.len(), found.len()).into())
        }
    }

    /// Lets NNx write random models, and returns its description of them.
    ///
    /// # Errors
    /// When Python fails.
    pub(super) fn write(&self, seed: u32) -> Result<Vec<(Question, Described)>> {
        let folder = self.folder.join("python");
        std::fs::create_dir_all(&folder)?;
        let report = self.run(&["write".as_ref(), &folder, seed.to_string().as_ref()])?;
        let written = |entry: &Value| {
            let found = Facts::from_report(entry)?;
            let input = Input::from_forward(json::field(entry, "asked")?)?;
            let path = PathBuf::from(json::text(entry, "file")?);
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            Ok((Question { name, path, input }, found))
        };
        report.iter().map(written).collect()
    }

    /// Runs the script and reads its report.
    fn run(&self, words: &[&Path]) -> Result<Vec<Value>> {
        let report = self.folder.join("report.json");
        let mut command = Command::new(self.interpreter);
        // Isolated: neither the user's variables nor other folders affect the imports.
        command
            .arg("-I")
            .arg(self.folder.join("roundtrip.py"))
            .args(words)
            .arg(&report);
        let status = command
            .stdin(Stdio::null())
            .status()
            .map_err(|error| format!("cannot run `{}`: {error}", line_of(&command)))?;
        if !status.success() {
            return Err(format!("`{}` failed: {status}", line_of(&command)).into());
        }
        match python_text::json_loads(&std::fs::read_to_string(report)?)? {
            Value::List(entries) => Ok(entries),
            _ => Err("the report is no list".into()),
        }
    }
}

impl Question {
    fn to_value(&self) -> Value {
        let question: State = [
            ("name", Value::Str(self.name.clone())),
            ("file", Value::Str(self.path.to_string_lossy().into_owned())),
            ("inputs", self.input.to_value()),
        ]
        .into_iter()
        .collect();
        Value::Map(question)
    }
}
