//! The samples of a file: inputs with their targets.

use std::sync::Arc;

use candle_core::{DType, Device, Tensor};
use indexmap::IndexMap;
use nnx_params::{Losses, NNModelParams, NetDescriptor, Nets, TaskKind};

use super::array::{integers, numbers};
use super::csv_table::CsvTable;
use super::data_file::{DataFile, missing, rows};
use super::dataset::Dataset;
use super::graph::GraphDataset;
use super::pixels::{PixelDataset, with_channels};
use super::sample_options::SampleOptions;
use super::tensors::TensorDataset;
use super::tokens::{TokenWindows, shifted};
use crate::error::{Error, Result};

/// The names of the targets.
const TARGETS: [&str; 2] = ["y", "targets"];

/// The samples of a file.
#[derive(Clone)]
#[non_exhaustive]
pub enum Samples {
    /// Rows that a [`DataLoader`](crate::DataLoader) cuts batches from.
    Rows(Arc<dyn Dataset>),
    /// The nodes of a graph.
    Graph {
        /// The graph.
        graph: GraphDataset,
        /// The nodes of each part that the file has a mask of, by its name: `train_mask`, `val_mask`,
        /// `test_mask`.
        parts: IndexMap<String, Vec<usize>>,
    },
}

/// The form of targets that a model's loss and task need.
struct TargetRule<'a> {
    net: Nets,
    /// Whether targets are classes, the numbers of which may be written as the labels.
    has_classes: bool,
    /// Whether each output has a number of its own as target.
    is_regression: bool,
    labels: &'a [String],
}

impl<'a> TargetRule<'a> {
    fn new(params: &'a NNModelParams) -> Result<Self> {
        let net = match params.net() {
            Some(NetDescriptor::Net(net)) => *net,
            _ => {
                return Err(Error::configuration(
                    "samples of a file are for a net of NNx, the model parameters name another one",
                ));
            }
        };
        let task = params.task();
        let classes = [Losses::CrossEntropy, Losses::NegativeLogLikelihood];
        let kind = task.map(|task| task.kind());
        Ok(Self {
            net,
            has_classes: match kind {
                Some(kind) => kind == TaskKind::Categorical,
                None => classes.contains(&params.loss()),
            },
            is_regression: params.loss() == Losses::MeanSquaredError,
            labels: task.and_then(|task| task.labels()).unwrap_or_default(),
        })
    }

    /// Targets of a regression `[N]` as `[N, 1]`: against outputs of that shape they would otherwise be
    /// broadcast to `[N, N]`.
    fn shaped(&self, targets: Tensor) -> Result<Tensor> {
        if self.is_regression && targets.rank() == 1 {
            return Ok(targets.unsqueeze(1)?);
        }
        Ok(targets)
    }
}

impl DataFile {
    /// The inputs and targets of a model, as its net, its loss and its task need them.
    ///
    /// A transformer without targets gets the next token of each token as target.
    ///
    /// # Errors
    /// When a name or a column is missing, a cell is not a number, the number of targets is not that of
    /// the samples, or the model's net is not one of NNx.
    pub fn samples(&self, params: &NNModelParams, options: &SampleOptions) -> Result<Samples> {
        let rule = TargetRule::new(params)?;
        let has_columns = !options.targets.is_empty() || !options.inputs.is_empty();
        if has_columns && !matches!(self, Self::Table(_)) {
            return Err(Error::configuration("names of columns need a CSV file"));
        }
        let (inputs, targets) = match self {
            Self::Table(table) => of_table(table, &rule, options)?,
            Self::Images {
                pixels, classes, ..
            } => return of_images(pixels, classes.as_ref(), &rule, options),
            Self::Named(named) => {
                let inputs = self.inputs(rule.net, options)?;
                match TARGETS.iter().find_map(|name| named.get(*name)) {
                    Some(targets) => (inputs, rule.shaped(numbers(targets)?)?),
                    None if rule.net == Nets::Transformer => return of_tokens(&inputs, options),
                    None => return Err(missing(TARGETS[0], named)),
                }
            }
            Self::Array(_) if rule.net == Nets::Transformer => {
                return of_tokens(&self.inputs(rule.net, options)?, options);
            }
            Self::Array(_) => {
                return Err(Error::unsupported(
                    "samples need targets: give a safetensors or npz file with `x` and `y`, or a CSV \
                     file",
                ));
            }
        };
        // The cells of a table were checked as they were read.
        if options.finite && !matches!(self, Self::Table(_)) {
            inputs.iter().try_for_each(check_finite)?;
        }
        match (self, rule.net.is_graph(), inputs.as_slice()) {
            (Self::Named(named), true, [nodes, edges]) => {
                let graph = GraphDataset::new(nodes.clone(), edges.clone(), targets)?;
                let parts = parts(named, graph.nodes())?;
                Ok(Samples::Graph { graph, parts })
            }
            _ => Ok(Samples::Rows(Arc::new(TensorDataset::new(
                inputs, targets,
            )?))),
        }
    }
}

/// Inputs and targets of a CSV file.
fn of_table(
    table: &CsvTable,
    rule: &TargetRule<'_>,
    options: &SampleOptions,
) -> Result<(Vec<Tensor>, Tensor)> {
    let all = table.all();
    if rule.net == Nets::Transformer && options.targets.is_empty() {
        let inputs = if options.inputs.is_empty() {
            all
        } else {
            table.columns(&options.inputs)?
        };
        let (inputs, targets) = shifted(&rows(rule.net, table, &inputs, false)?)?;
        return Ok((vec![inputs], targets));
    }
    let targets = if options.targets.is_empty() {
        all.last().copied().into_iter().collect()
    } else {
        table.columns(&options.targets)?
    };
    let inputs = if options.inputs.is_empty() {
        all.into_iter().filter(|at| !targets.contains(at)).collect()
    } else {
        table.columns(&options.inputs)?
    };
    if let Some(both) = inputs.iter().find(|at| targets.contains(at)) {
        return Err(Error::configuration(format!(
            "column `{}` is an input and a target",
            table.name(*both)
        )));
    }
    let rows = rows(rule.net, table, &inputs, options.finite)?;
    if !rule.has_classes {
        return Ok((vec![rows], table.numbers(&targets)?));
    }
    let classes = table.integers(&targets, rule.labels)?;
    Ok(match targets.len() {
        1 => (vec![rows], classes.squeeze(1)?),
        _ => (vec![rows], classes),
    })
}

fn of_images(
    pixels: &Tensor,
    classes: Option<&Tensor>,
    rule: &TargetRule<'_>,
    options: &SampleOptions,
) -> Result<Samples> {
    if rule.net.is_graph() || rule.net == Nets::Transformer {
        return Err(Error::unsupported(format!(
            "net `{}` takes no images",
            rule.net
        )));
    }
    let Some(classes) = classes else {
        return Err(Error::unsupported(
            "samples need targets: there is no IDX file of labels beside that of the images",
        ));
    };
    let pixels = match options.channels {
        None => pixels.clone(),
        Some(channels) => with_channels(pixels, channels)?,
    };
    let dataset = PixelDataset::new(pixels, classes.clone())?;
    Ok(Samples::Rows(Arc::new(dataset)))
}

/// Sequences, or one long text.
fn of_tokens(inputs: &[Tensor], options: &SampleOptions) -> Result<Samples> {
    let Some(tokens) = inputs.first() else {
        return Err(Error::data("expected tokens, found none"));
    };
    if !tokens.dtype().is_int() {
        return Err(Error::data(format!(
            "expected tokens, which are whole numbers, found the dtype `{}`",
            tokens.dtype().as_str()
        )));
    }
    if tokens.rank() != 1 {
        let (inputs, targets) = shifted(tokens)?;
        return Ok(Samples::Rows(Arc::new(TensorDataset::new(
            [inputs],
            targets,
        )?)));
    }
    let Some(window) = options.window else {
        return Err(Error::configuration(
            "one long text of tokens needs the length of a window",
        ));
    };
    let tokens = integers(tokens)?.to_vec1()?;
    Ok(Samples::Rows(Arc::new(TokenWindows::new(tokens, window)?)))
}

/// The nodes of each mask that the file has.
fn parts(named: &IndexMap<String, Tensor>, nodes: usize) -> Result<IndexMap<String, Vec<usize>>> {
    let mut parts = IndexMap::new();
    for name in ["train_mask", "val_mask", "test_mask"] {
        let Some(mask) = named.get(name) else {
            continue;
        };
        if mask.dims() != [nodes] {
            return Err(Error::data(format!(
                "expected a mask `{name}` of `{nodes}` nodes, found the shape `{:?}`",
                mask.dims()
            )));
        }
        let is_in = mask.to_device(&Device::Cpu)?.to_dtype(DType::F64)?;
        let is_in = is_in.to_vec1::<f64>()?.into_iter();
        let nodes = is_in.enumerate().filter(|(_, is_in)| *is_in != 0.0);
        parts.insert(name.to_owned(), nodes.map(|(node, _)| node).collect());
    }
    Ok(parts)
}

/// # Errors
/// When a float is NaN or infinite.
fn check_finite(tensor: &Tensor) -> Result<()> {
    if !tensor.dtype().is_float() {
        return Ok(());
    }
    let values = tensor
        .flatten_all()?
        .to_dtype(DType::F32)?
        .to_vec1::<f32>()?;
    let Some(at) = values.iter().position(|value| !value.is_finite()) else {
        return Ok(());
    };
    let each: usize = tensor.dims().iter().skip(1).product();
    Err(Error::data(format!(
        "expected finite inputs, found `{}` in sample `{}`",
        values.get(at).copied().unwrap_or_default(),
        at / each.max(1)
    )))
}

impl std::fmt::Debug for Samples {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rows(rows) => f.debug_tuple("Rows").field(&rows.rows()).finish(),
            Self::Graph { graph, parts } => f
                .debug_struct("Graph")
                .field("nodes", &graph.nodes())
                .field("parts", &parts.keys().collect::<Vec<_>>())
                .finish(),
        }
    }
}
