//! Making a run from its parts.

use std::path::PathBuf;

use nnx_params::{
    NNCheckpointTransform, NNIterationDataPoint, NNModelParams, NNTrainParams, NNTrainerParams,
    NetParams, State,
};

use super::NNRun;
use crate::error::Result;

/// Makes an [`NNRun`], whose id follows from everything but history and metadata.
///
/// ```
/// use nnx_params::{Activations, NNModelParams, NNParams, NNTrainParams, NetParams, Nets};
/// use nnx_run::NNRun;
///
/// let net = NNParams::builder(4, 3).activation(Activations::Relu).dropout_prob(0.1).build()?;
/// let model = NNModelParams::builder(Nets::FeedFwd).build()?;
/// let train = NNTrainParams::builder(8).build()?;
/// let run = NNRun::builder(model, NetParams::from(net), train).salt("second try").build()?;
/// assert_eq!(run.salt(), Some("second try"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct NNRunBuilder(NNRun);

impl NNRun {
    /// A builder of a run with a net and the parameters of its training. A registered or runtime net
    /// has no parameters.
    pub fn builder(
        model: NNModelParams,
        net: impl Into<Option<NetParams>>,
        train: NNTrainParams,
    ) -> NNRunBuilder {
        NNRunBuilder(Self::without_id(model, net.into(), train))
    }
}

impl NNRunBuilder {
    /// The parameters of several optimizers, in runs of a trainer. Default: none.
    #[must_use]
    pub fn trainer(mut self, trainer: impl Into<Option<NNTrainerParams>>) -> Self {
        self.0.trainer = trainer.into();
        self
    }

    /// A text that distinguishes runs of equal configuration. Default: none.
    #[must_use]
    pub fn salt(mut self, salt: impl Into<String>) -> Self {
        self.0.salt = Some(salt.into());
        self
    }

    /// The transforms that changed the net. Default: none.
    #[must_use]
    pub fn transforms(
        mut self,
        transforms: impl IntoIterator<Item = NNCheckpointTransform>,
    ) -> Self {
        self.0.transforms = transforms.into_iter().collect();
        self
    }

    /// The history: [`NNRun::with_idps`]. Default: no record.
    #[must_use]
    pub fn idps(self, idps: impl IntoIterator<Item = NNIterationDataPoint>) -> Self {
        Self(self.0.with_idps(idps))
    }

    /// The metadata: [`NNRun::with_metadata`]. Default: empty.
    #[must_use]
    pub fn metadata(self, metadata: State) -> Self {
        Self(self.0.with_metadata(metadata))
    }

    /// The folder of the history's journal: [`NNRun::with_history`]. Default: none.
    #[must_use]
    pub fn history(self, folder: impl Into<Option<PathBuf>>) -> Self {
        Self(self.0.with_history(folder))
    }

    /// The run, with its id.
    ///
    /// # Errors
    /// When the model has no net, so that there is no id; when the salt is blank.
    pub fn build(self) -> Result<NNRun> {
        let mut run = self.0;
        run.id = run.identity().run_id()?;
        Ok(run)
    }
}
