//! The commands that run a model. Without the feature `net` they exist, and say what they need.

#[cfg(feature = "net")]
mod array;
#[cfg(feature = "net")]
mod csv_file;
#[cfg(feature = "net")]
mod data;
#[cfg(feature = "net")]
mod evaluate;
#[cfg(feature = "net")]
mod failures;
#[cfg(feature = "net")]
mod generate;
#[cfg(feature = "net")]
mod model;
#[cfg(feature = "net")]
mod nested;
#[cfg(feature = "net")]
mod npy;
#[cfg(feature = "net")]
mod predict;
#[cfg(feature = "net")]
mod summary;

use crate::arguments::networks::{Evaluate, Generate, Predict, Summary};
use crate::outcome::Outcome;

macro_rules! command {
    ($name:ident, $arguments:ty, $page:literal) => {
        #[doc = $page]
        #[cfg(feature = "net")]
        pub(crate) fn $name(arguments: &$arguments) -> Outcome {
            $name::run(arguments)
                .unwrap_or_else(|failure| Outcome::failure(&failure, arguments.json))
        }

        #[doc = $page]
        #[cfg(not(feature = "net"))]
        pub(crate) fn $name(arguments: &$arguments) -> Outcome {
            let what = concat!(
                "`nnx ",
                stringify!($name),
                "` needs networks: install the command with its default features, or with the \
                 feature `net`"
            );
            let failure = crate::failure::Failure::new("unsupported", what);
            Outcome::failure(&failure, arguments.json)
        }
    };
}

command!(predict, Predict, "`nnx predict`");
command!(evaluate, Evaluate, "`nnx evaluate`");
command!(generate, Generate, "`nnx generate`");
command!(summary, Summary, "`nnx summary`");
