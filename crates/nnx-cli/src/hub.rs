//! The commands that speak to the Hub, and paths that lie there. Without the feature `hub` they
//! exist, and say what they need.

#[cfg(feature = "hub")]
mod card;
#[cfg(any(feature = "hub", feature = "net"))]
mod failures;
#[cfg(feature = "hub")]
mod pull;
#[cfg(feature = "hub")]
mod push;
#[cfg(feature = "hub")]
mod transfer;
mod uri;
#[cfg(feature = "hub")]
mod whoami;

pub(crate) use self::uri::{is_remote, local, local_header};
use crate::arguments::hub::{Card, Pull, Push, Whoami};
use crate::outcome::Outcome;

#[cfg(feature = "hub")]
pub(crate) fn push(arguments: &Push) -> Outcome {
    push::run(arguments).unwrap_or_else(|failure| Outcome::failure(&failure, arguments.json))
}

#[cfg(feature = "hub")]
pub(crate) fn pull(arguments: &Pull) -> Outcome {
    pull::run(arguments).unwrap_or_else(|failure| Outcome::failure(&failure, arguments.json))
}

#[cfg(feature = "hub")]
pub(crate) fn card(arguments: &Card) -> Outcome {
    card::run(arguments).unwrap_or_else(|failure| Outcome::failure(&failure, arguments.json))
}

#[cfg(feature = "hub")]
pub(crate) fn whoami(arguments: &Whoami) -> Outcome {
    whoami::run(arguments).unwrap_or_else(|failure| Outcome::failure(&failure, arguments.json))
}

#[cfg(not(feature = "hub"))]
pub(crate) fn push(arguments: &Push) -> Outcome {
    missing("`nnx push`", arguments.json)
}

#[cfg(not(feature = "hub"))]
pub(crate) fn pull(arguments: &Pull) -> Outcome {
    missing("`nnx pull`", arguments.json)
}

#[cfg(not(feature = "hub"))]
pub(crate) fn card(arguments: &Card) -> Outcome {
    missing("`nnx card`", arguments.json)
}

#[cfg(not(feature = "hub"))]
pub(crate) fn whoami(arguments: &Whoami) -> Outcome {
    missing("`nnx whoami`", arguments.json)
}

#[cfg(not(feature = "hub"))]
fn missing(what: &str, json: bool) -> Outcome {
    Outcome::failure(&needs_hub(what), json)
}

/// What stands in for the Hub where the command was built without it.
#[cfg(not(feature = "hub"))]
fn needs_hub(what: &str) -> crate::failure::Failure {
    crate::failure::Failure::new(
        "unsupported",
        format!(
            "{what} needs the Hub: install the command with its default features, or with the \
             feature `hub`"
        ),
    )
}
