//! The inputs and targets of a model.

use std::path::Path;

use indexmap::IndexMap;
use nnx::checkpoint::safetensors::SafeTensors;
use nnx::checkpoint::zip::ZipArchive;
use nnx::checkpoint::{Format, Limits, Source, sniff};
use nnx::net::candle_core::{DType, Tensor};
use nnx::net::{Batch, NNModel};
use nnx::params::{Losses, Nets, TaskKind};

use super::array::{computing, integers, numbers, tensor};
use super::csv_file::CsvFile;
use super::failures::{malformed, unsupported};
use super::npy;
use crate::arguments::networks::Header;
use crate::failure::Failure;

/// The names of a graph's edges, of a mask of patches, and of the targets.
const EDGES: &str = "edge_index";
const MASK: &str = "mask";
const TARGETS: &str = "y";

/// The contents of a file.
#[derive(Debug)]
pub(super) enum Data {
    /// One array without a name.
    Array(Tensor),
    /// Arrays with names.
    Named(IndexMap<String, Tensor>),
    /// Lines of numbers.
    Csv(CsvFile),
}

impl Data {
    /// Reads a file. Its format is detected from its contents: a NumPy array, an archive of arrays,
    /// a safetensors file, or else a CSV text, whose first line is read as `header` says.
    ///
    /// # Errors
    /// When the file cannot be read, has another format, or `header` is given for a file that is
    /// not a CSV text. The error contains the path.
    pub(super) fn read(path: &Path, header: Header) -> Result<Self, Failure> {
        let data = Self::open(path, header).map_err(|failure| failure.in_path(path))?;
        if header != Header::Auto && !matches!(data, Self::Csv(_)) {
            return Err(Failure::usage("`--header` needs a CSV file").in_path(path));
        }
        Ok(data)
    }

    fn open(path: &Path, header: Header) -> Result<Self, Failure> {
        let source = Source::open(path)?;
        let (bytes, limits) = (source.bytes(), Limits::default());
        if bytes.starts_with(npy::MAGIC) {
            return Ok(Self::Array(npy::read(bytes)?));
        }
        match sniff(bytes) {
            Some(Format::SafeTensors) => {
                let file = SafeTensors::parse(bytes, &limits)?;
                let named = file.tensors().map(|(name, stored)| {
                    let read = tensor(stored).map_err(|failure| failure.in_tensor(name))?;
                    Ok((name.to_owned(), read))
                });
                Ok(Self::Named(named.collect::<Result<_, Failure>>()?))
            }
            Some(Format::TorchZip) => {
                let archive = ZipArchive::parse(bytes, &limits)?;
                let arrays = archive.entries().iter().map(|entry| {
                    let name = entry.name();
                    let Some(short) = name.strip_suffix(".npy") else {
                        return Err(unknown("an archive that holds more than NumPy arrays"));
                    };
                    let array = npy::read(&archive.data(entry)?);
                    Ok((
                        short.to_owned(),
                        array.map_err(|failure| failure.in_entry(name))?,
                    ))
                });
                Ok(Self::Named(arrays.collect::<Result<_, Failure>>()?))
            }
            Some(other) => Err(unknown(&other.to_string())),
            None if bytes.contains(&0) => Err(unknown("other bytes")),
            None => Ok(Self::Csv(CsvFile::read(bytes, header)?)),
        }
    }

    /// A note about how the file was read.
    pub(super) fn notes(&self) -> Vec<String> {
        match self {
            Self::Csv(file) => file.note().map(ToOwned::to_owned).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The inputs of a net.
    ///
    /// # Errors
    /// When a name is missing, or a cell is not a number.
    pub(super) fn inputs(&self, net: Nets) -> Result<Vec<Tensor>, Failure> {
        match self {
            Self::Csv(file) => self.rows(net, file, &file.all()),
            Self::Named(named) => {
                let only = named.first().filter(|_| named.len() == 1);
                let first = named.get("x").or(only.map(|(_, tensor)| tensor));
                let first = first.ok_or_else(|| missing("x", named))?;
                let mut inputs = vec![of_net(net, first)?];
                if is_graph(net) {
                    let edges = named.get(EDGES).ok_or_else(|| missing(EDGES, named))?;
                    inputs.push(integers(edges.clone())?);
                }
                if let (Nets::Vit, Some(mask)) = (net, named.get(MASK)) {
                    inputs.push(mask.to_dtype(DType::U8).map_err(computing)?);
                }
                Ok(inputs)
            }
            Self::Array(_) if is_graph(net) => Err(graph_needs_names(net)),
            Self::Array(array) => Ok(vec![of_net(net, array)?]),
        }
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
        if !labels.is_empty() && !matches!(self, Self::Csv(_)) {
            return Err(Failure::usage("`--label` needs a CSV file"));
        }
        let net = model.net().kind();
        let (inputs, targets) = match self {
            Self::Csv(file) => self.labelled(model, file, labels)?,
            Self::Named(named) => {
                let targets = named.get(TARGETS).ok_or_else(|| missing(TARGETS, named))?;
                (self.inputs(net)?, numbers(targets.clone())?)
            }
            Self::Array(_) => {
                let what = "an evaluation needs targets: give a safetensors or npz file with `x` \
                            and `y`, or a CSV file";
                return Err(unsupported(what));
            }
        };
        if is_graph(net) {
            return Ok(vec![Batch::new(inputs, targets)]);
        }
        let count = |tensor: &Tensor| tensor.dims().first().copied().unwrap_or_default();
        let samples = inputs.first().map(count).unwrap_or_default();
        if let Some(other) = inputs
            .iter()
            .chain([&targets])
            .map(count)
            .find(|n| *n != samples)
        {
            return Err(malformed(format!(
                "expected as many targets as samples, found `{other}` for `{samples}`"
            )));
        }
        let part = |tensor: &Tensor, start: usize| {
            tensor
                .narrow(0, start, size.min(samples - start))
                .map_err(computing)
        };
        (0..samples)
            .step_by(size)
            .map(|start| {
                let inputs: Result<Vec<_>, _> =
                    inputs.iter().map(|input| part(input, start)).collect();
                Ok(Batch::new(inputs?, part(&targets, start)?))
            })
            .collect()
    }

    /// The inputs and targets in a CSV file.
    fn labelled(
        &self,
        model: &NNModel,
        file: &CsvFile,
        labels: &[String],
    ) -> Result<(Vec<Tensor>, Tensor), Failure> {
        let all = file.all();
        let labels = if labels.is_empty() {
            all.last().copied().into_iter().collect()
        } else {
            let columns: Result<Vec<_>, _> = labels.iter().map(|name| file.column(name)).collect();
            columns?
        };
        let others: Vec<usize> = all.into_iter().filter(|at| !labels.contains(at)).collect();
        let inputs = self.rows(model.net().kind(), file, &others)?;
        let task = model.params().task();
        let has_classes = match task.map(|task| task.kind()) {
            Some(kind) => kind == TaskKind::Categorical,
            None => matches!(
                model.params().loss(),
                Losses::CrossEntropy | Losses::NegativeLogLikelihood
            ),
        };
        if !has_classes {
            return Ok((inputs, file.numbers(&labels)?));
        }
        let names = task.and_then(|task| task.labels()).unwrap_or_default();
        let targets = file.integers(&labels, names)?;
        match labels.len() {
            1 => Ok((inputs, targets.squeeze(1).map_err(computing)?)),
            _ => Ok((inputs, targets)),
        }
    }

    fn rows(&self, net: Nets, file: &CsvFile, columns: &[usize]) -> Result<Vec<Tensor>, Failure> {
        match net {
            net if is_graph(net) => Err(graph_needs_names(net)),
            Nets::Transformer => Ok(vec![file.integers(columns, &[])?]),
            _ => Ok(vec![file.numbers(columns)?]),
        }
    }
}

fn is_graph(net: Nets) -> bool {
    matches!(net, Nets::GraphAtt | Nets::GraphConv | Nets::GraphSage)
}

/// An array with the dtype that the net takes, if the conversion changes no value.
fn of_net(net: Nets, array: &Tensor) -> Result<Tensor, Failure> {
    match net {
        Nets::Transformer => integers(array.clone()),
        _ => numbers(array.clone()),
    }
}

fn missing(name: &str, named: &IndexMap<String, Tensor>) -> Failure {
    let names: Vec<&str> = named.keys().map(String::as_str).collect();
    malformed(format!(
        "expected an array `{name}`, found `{}`",
        names.join("`, `")
    ))
}

fn graph_needs_names(net: Nets) -> Failure {
    unsupported(format!(
        "net `{net}` takes nodes `x` and edges `{EDGES}`: give a safetensors or npz file with both"
    ))
}

fn unknown(found: &str) -> Failure {
    unsupported(format!(
        "expected a NumPy array, a safetensors file or a CSV text, found {found}"
    ))
}
