//! The data of a training.

use std::sync::Arc;

use nnx::NNModel;
use nnx::net::{Batch, Generator};
use nnx::train::{DataLoader, Dataset, GraphDataset, Loader, Samples, Split, Subset};

use crate::arguments::training::Train;
use crate::failure::Failure;
use crate::networks::data::{Data, in_batches};

/// The loaders of a training.
pub(super) struct Loaders {
    pub(super) train: Box<dyn Loader>,
    pub(super) val: Option<Box<dyn Loader>>,
    /// The part of the data that a split kept for a test.
    pub(super) test: Option<Vec<Batch>>,
    /// Notes for the user on how the files were read.
    pub(super) notes: Vec<String>,
}

impl Loaders {
    /// Reads the data.
    ///
    /// # Errors
    /// When a file cannot be read or does not fit the model; the file is named.
    pub(super) fn read(arguments: &Train, model: &NNModel) -> Result<Self, Failure> {
        let path = &arguments.data;
        let data = Data::read(path, arguments.header)?;
        let mut loaders = data
            .samples(model, &arguments.target, "--target")
            .and_then(|samples| Self::from_samples(samples, arguments))
            .map_err(|failure| failure.in_path(path))?;
        loaders.notes = data.notes();
        if let Some(path) = &arguments.val {
            let val = Data::read(path, arguments.header)?;
            loaders.notes.extend(val.notes());
            let samples = val
                .aligned(&data)
                .and_then(|val| val.samples(model, &arguments.target, "--target"));
            let val = samples.and_then(|samples| whole(samples, arguments));
            loaders.val = Some(val.map_err(|failure| failure.in_path(path))?);
        }
        Ok(loaders)
    }

    /// The data that is trained on, split where the arguments say so or a graph has masks.
    fn from_samples(samples: Samples, arguments: &Train) -> Result<Self, Failure> {
        let parts = |rows: usize| -> Result<Option<Split>, Failure> {
            let Some(shares) = arguments.split else {
                return Ok(None);
            };
            let mut generator = Generator::new(arguments.split_seed);
            Ok(Some(Split::new(
                rows,
                shares.val,
                shares.test,
                &mut generator,
            )?))
        };
        let mut loaders = Self {
            train: Box::new(Vec::new()),
            val: None,
            test: None,
            notes: Vec::new(),
        };
        match samples {
            Samples::Rows(rows) => match parts(rows.rows())? {
                None => loaders.train = shuffled(rows, arguments)?,
                Some(split) => {
                    let part = |part| Ok::<_, Failure>(Arc::new(Subset::new(rows.clone(), part)?));
                    loaders.train = shuffled(part(split.train)?, arguments)?;
                    if !split.val.is_empty() {
                        loaders.val = Some(in_order(part(split.val)?, arguments)?);
                    }
                    if !split.test.is_empty() {
                        let test = part(split.test)?;
                        loaders.test = Some(in_batches(&*test, arguments.batch_size)?);
                    }
                }
            },
            Samples::Graph {
                graph,
                parts: mut masks,
            } => {
                let split = parts(graph.nodes())?;
                let [train, val, test] = match split {
                    Some(split) => [split.train, split.val, split.test].map(Some),
                    None => {
                        ["train_mask", "val_mask", "test_mask"].map(|mask| masks.shift_remove(mask))
                    }
                };
                let part = |nodes: Option<Vec<usize>>| part_of(&graph, nodes);
                loaders.train = Box::new(part(train)?.unwrap_or_else(|| vec![graph.all()]));
                loaders.val = part(val)?.map(|val| Box::new(val) as Box<dyn Loader>);
                loaders.test = part(test)?;
            }
            _ => {}
        }
        Ok(loaders)
    }
}

/// All samples of a file, in their order.
fn whole(samples: Samples, arguments: &Train) -> Result<Box<dyn Loader>, Failure> {
    match samples {
        Samples::Rows(rows) => in_order(rows, arguments),
        Samples::Graph { graph, .. } => Ok(Box::new(vec![graph.all()])),
        _ => Ok(Box::new(Vec::<Batch>::new())),
    }
}

/// A graph of which these nodes count; nothing if there are no such nodes.
fn part_of(graph: &GraphDataset, nodes: Option<Vec<usize>>) -> Result<Option<Vec<Batch>>, Failure> {
    match nodes.filter(|nodes| !nodes.is_empty()) {
        Some(nodes) => Ok(Some(graph.part(&nodes)?)),
        None => Ok(None),
    }
}

fn shuffled(rows: Arc<dyn Dataset>, arguments: &Train) -> Result<Box<dyn Loader>, Failure> {
    let loader = DataLoader::shared(rows)
        .batch_size(arguments.batch_size)
        .shuffle(!arguments.no_shuffle)
        .drop_last(arguments.drop_last)
        .generator(arguments.loader_seed.map(Generator::new));
    Ok(Box::new(loader.build()?))
}

fn in_order(rows: Arc<dyn Dataset>, arguments: &Train) -> Result<Box<dyn Loader>, Failure> {
    let loader = DataLoader::shared(rows).batch_size(arguments.batch_size);
    Ok(Box::new(loader.build()?))
}
