//! `ModelHubMixin` for NNx's `GenerativeNNModel`.

use nnx_net::{GenerativeNNModel, NNModel, Tokenizer};
use nnx_params::{State, Value};

use crate::error::BoxError;
use crate::folder::Folder;
use crate::folder_writer::FolderWriter;
use crate::mixin::ModelHubMixin;
use crate::nn_model;
use crate::options::LoadOptions;

/// The name of the tokenizer's file in NNx.
const TOKENIZER: &str = "tokenizer.json";

/// As for [`NNModel`], with the file `tokenizer.json` and the entry of `config.json` that names it.
impl ModelHubMixin for GenerativeNNModel {
    const OPTIONS: &'static [&'static str] = NNModel::OPTIONS;

    fn write_pretrained(&self, folder: &mut FolderWriter) -> Result<(), BoxError> {
        folder.file(TOKENIZER, self.tokenizer().to_json()?.as_bytes())?;
        let named = State::from_iter([("filename", TOKENIZER)]);
        let more = State::from_iter([("tokenizer", Value::Map(named))]);
        nn_model::write(self.model(), more, folder)
    }

    fn read_pretrained(folder: &Folder, options: &LoadOptions) -> Result<Self, BoxError> {
        let config = folder.config_state()?;
        let name = config
            .get("tokenizer")
            .and_then(Value::as_map)
            .and_then(|tokenizer| tokenizer.get("filename")?.as_str())
            .ok_or_else(|| {
                folder.config_error("`tokenizer` should name its file; load the model as `NNModel`")
            })?;
        let tokenizer = Tokenizer::from_bytes(folder.read(name)?)?;
        let model = NNModel::read_pretrained(folder, options)?;
        Ok(Self::new(model, tokenizer)?)
    }
}
