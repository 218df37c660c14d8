//! The commands that use the Hub, and paths on the Hub. Without the feature `hub` they exist, and
//! say what they need.

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

#[cfg(feature = "hub")]
pub(crate) use nnx::hub::remove_abandoned;

pub(crate) use self::uri::{folder, is_remote, local};
use crate::arguments::hub::{Card, Pull, Push, Whoami};
use crate::commands::commands;

commands! {
    "hub", "the Hub":
    push(Push),
    pull(Pull),
    card(Card),
    whoami(Whoami),
}

/// Without the Hub, no push leaves temporary files.
#[cfg(not(feature = "hub"))]
pub(crate) fn remove_abandoned() {}
