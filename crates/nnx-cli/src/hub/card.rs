//! `nnx card`: prints the model card that `nnx push` would publish.

use nnx::hub::ModelCard;
use serde::Serialize;

use crate::arguments::hub::Card;
use crate::failure::Failure;
use crate::json;
use crate::outcome::Outcome;

#[derive(Serialize)]
struct CardReport {
    card: String,
}

#[cfg(feature = "net")]
pub(super) fn run(arguments: &Card) -> Result<Outcome, Failure> {
    use nnx::NNModel;
    use nnx::hub::ModelHubMixin;

    let path = super::local(&arguments.model)?;
    let model = if path.is_dir() {
        NNModel::from_pretrained(path.display().to_string())?
    } else {
        let checkpoint = nnx::NNCheckpoint::from_file(&path)?;
        NNModel::from_checkpoint(&checkpoint)
            .map_err(|error| Failure::from(error).in_path(&path))?
    };
    Ok(printed(model.model_card(), arguments))
}

#[cfg(not(feature = "net"))]
pub(super) fn run(arguments: &Card) -> Result<Outcome, Failure> {
    Ok(printed(ModelCard::default(), arguments))
}

/// The card with the values of the options.
fn printed(mut card: ModelCard, arguments: &Card) -> Outcome {
    for (field, given) in [
        (&mut card.license, &arguments.license),
        (&mut card.repo_url, &arguments.repo_url),
        (&mut card.paper_url, &arguments.paper_url),
        (&mut card.docs_url, &arguments.docs_url),
    ] {
        if given.is_some() {
            field.clone_from(given);
        }
    }
    card.tags.extend(arguments.tags.iter().cloned());
    card.language.extend(arguments.languages.iter().cloned());
    let card = card.to_string();
    Outcome::success(if arguments.json {
        json::object(&CardReport { card })
    } else {
        card
    })
}
