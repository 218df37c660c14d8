//! `nnx train`: trains what a configuration describes.

use nnx::NNModel;
use nnx::params::{NNTrainParams, ResumeEpochs};
use nnx::train::{EarlyStopping, ErrorKind, Training};

use super::bar::Display;
use super::config::Config;
use super::loaders::Loaders;
use super::report::End;
use super::threads;
use crate::arguments::networks::{Device, Model};
use crate::arguments::training::Train;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::networks::model;
use crate::outcome::Outcome;

/// The seed of PyTorch's default generator in a program that sets none.
const PYTORCH_SEED: u64 = 67_280_421_310_721;

pub(super) fn run(arguments: &Train) -> Result<Outcome, Failure> {
    match arguments.threads {
        Some(threads) if !threads::are_limited_to(threads) => threads::restart(threads),
        _ => train(arguments),
    }
}

fn train(arguments: &Train) -> Result<Outcome, Failure> {
    let interrupt = Interrupt::listen();
    let config = Config::read(&arguments.config)?;
    let source = config.source(arguments)?;
    let params = config.train(arguments, source.as_ref())?;
    let mut model = fresh(&config, arguments)?;
    let mut loaders = Loaders::read(arguments, &model)?;
    let mut notes = config.notes(source.as_ref());
    notes.append(&mut loaders.notes);
    let mut training = Training::new(&mut model, &params)
        .train_loader(&mut *loaders.train)
        .root(&arguments.root)
        .progress(Display::new(arguments.quiet))
        .interrupt(interrupt.flag());
    if let Some(val) = &mut loaders.val {
        training = training.val_loader(&mut **val);
    }
    if let Some(salt) = config.salt() {
        training = training.salt(salt);
    }
    if let Some(patience) = arguments.early_stopping {
        training = training.callback(stopper(&params, patience));
    }
    let trained = training.run().map_err(|error| {
        // An error of the net is about its input, which comes from the data.
        let path = match error.kind() {
            ErrorKind::Net(_) => Some(&arguments.data),
            ErrorKind::Validation(_) => Some(arguments.val.as_ref().unwrap_or(&arguments.data)),
            _ => None,
        };
        let failure = Failure::from(error);
        match path {
            Some(path) => failure.in_path(path),
            None => failure,
        }
    })?;
    let test = match loaders.test {
        Some(batches) if !trained.interrupted => Some(model.evaluate(batches)?),
        _ => None,
    };
    let end = End {
        trained: &trained,
        test,
        notes: &notes,
        planned: params.n_epochs(),
        is_plan: params.resume_epochs() == ResumeEpochs::Planned,
    };
    end.outcome(arguments)
}

/// The model before its training.
fn fresh(config: &Config, arguments: &Train) -> Result<NNModel, Failure> {
    let seed = arguments.init_seed.unwrap_or(PYTORCH_SEED);
    let (net, params) = (config.net.clone(), config.model().clone());
    let model = NNModel::with_transforms(net, params, config.transforms(), seed);
    let mut model = model.map_err(|error| Failure::from(error).in_path(&arguments.config))?;
    let Some(from) = &arguments.from else {
        return Ok(model);
    };
    let loaded = model::load(&Model {
        model: from.clone(),
        root: None,
        tag: None,
        device: Device::Cpu,
    })?;
    let weights = loaded.model.state_dict()?;
    match model.load_state_dict(&weights, true) {
        Ok(_) => Ok(model),
        Err(error) => Err(Failure::from(error).in_path(from)),
    }
}

/// Stops by the monitor of the configuration, or else by the error of the validation.
fn stopper(params: &NNTrainParams, patience: usize) -> EarlyStopping {
    let stopper = EarlyStopping::new().patience(patience);
    match params.monitor() {
        Some(monitor) => stopper.monitor(monitor.clone()),
        None => stopper,
    }
}
