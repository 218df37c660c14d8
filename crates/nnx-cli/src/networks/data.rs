//! The inputs and targets of a model.

use std::path::Path;

use nnx::net::candle_core::Tensor;
use nnx::net::{Batch, NNModel};
use nnx::train::{self, DataFile, Dataset, HeaderNote, SampleOptions, Samples};

use crate::arguments::networks::Header;
use crate::failure::Failure;

/// The contents of a file or folder.
#[derive(Debug)]
pub(crate) struct Data(DataFile);

impl Data {
    /// Reads a file or folder. The format of a file is detected from its contents; the first line of
    /// a CSV text is read as `header` says.
    ///
    /// # Errors
    /// When the file cannot be read, has another format, or `header` is given for a file that is
    /// not a CSV text. The error contains the path.
    pub(crate) fn read(path: &Path, header: Header) -> Result<Self, Failure> {
        let of_table = match header {
            Header::Auto => train::Header::Auto,
            Header::Yes => train::Header::Yes,
            Header::No => train::Header::No,
        };
        let file = DataFile::open(path, of_table)?;
        if header != Header::Auto && !matches!(file, DataFile::Table(_)) {
            return Err(Failure::usage("`--header` needs a CSV file").in_path(path));
        }
        Ok(Self(file))
    }

    /// The same contents; the columns of a CSV text in the order of another one, by their names.
    ///
    /// # Errors
    /// When both name their columns, and not the same ones.
    pub(crate) fn aligned(self, like: &Self) -> Result<Self, Failure> {
        match (self.0, &like.0) {
            (DataFile::Table(table), DataFile::Table(like)) => {
                Ok(Self(DataFile::Table(table.aligned(like)?)))
            }
            (file, _) => Ok(Self(file)),
        }
    }

    /// Notes about how the file was read.
    pub(crate) fn notes(&self) -> Vec<String> {
        match &self.0 {
            DataFile::Table(table) => table.note().map(told).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The inputs of a net.
    ///
    /// # Errors
    /// When a name is missing, or a cell is not a number.
    pub(super) fn inputs(&self, model: &NNModel) -> Result<Vec<Tensor>, Failure> {
        let options = SampleOptions::for_net(model.net_params());
        Ok(self.0.inputs(model.net().kind(), &options)?)
    }

    /// Samples with their targets, in batches of that size; a graph is one batch.
    ///
    /// # Errors
    /// When a name or a column is missing, a cell is not a number, or the number of targets is not
    /// that of the samples.
    pub(super) fn batches(
        &self,
        model: &NNModel,
        labels: &[String],
        size: usize,
    ) -> Result<Vec<Batch>, Failure> {
        match self.samples(model, labels, "--label")? {
            Samples::Rows(rows) => in_batches(&*rows, size),
            Samples::Graph { graph, .. } => Ok(vec![graph.all()]),
            _ => Ok(Vec::new()),
        }
    }

    /// Samples with their targets. `option` is the one that names the columns of the targets.
    ///
    /// # Errors
    /// When a name or a column is missing, a cell is not a number, or the number of targets is not
    /// that of the samples.
    pub(crate) fn samples(
        &self,
        model: &NNModel,
        targets: &[String],
        option: &str,
    ) -> Result<Samples, Failure> {
        if !targets.is_empty() && !matches!(self.0, DataFile::Table(_)) {
            return Err(Failure::usage(&format!("`{option}` needs a CSV file")));
        }
        let options = SampleOptions::for_net(model.net_params()).targets(targets);
        Ok(self.0.samples(model.params(), &options)?)
    }
}

/// All samples, in batches of that size.
///
/// # Errors
/// When one cannot be read.
pub(crate) fn in_batches(rows: &dyn Dataset, size: usize) -> Result<Vec<Batch>, Failure> {
    let numbers: Vec<usize> = (0..rows.rows()).collect();
    let batches = numbers.chunks(size).map(|rows_of| Ok(rows.batch(rows_of)?));
    batches.collect()
}

/// A note with the option that decides otherwise.
fn told(note: &HeaderNote) -> String {
    let (option, otherwise) = if note.is_header {
        ("--header no", "a sample")
    } else {
        ("--header yes", "the names of the columns")
    };
    format!("{note}; give `{option}` to read it as {otherwise}")
}
