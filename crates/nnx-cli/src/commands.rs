//! Commands that depend on a feature of the build.

/// Declares commands. Each is the function `run` in the module of its name. Without the feature,
/// the command exists and says which feature it needs.
macro_rules! commands {
    ($feature:literal, $needs:literal: $($name:ident($arguments:ty),)*) => {
        $(
            #[doc = concat!("`nnx ", stringify!($name), "`")]
            #[cfg(feature = $feature)]
            pub(crate) fn $name(arguments: &$arguments) -> crate::outcome::Outcome {
                $name::run(arguments).unwrap_or_else(|failure| {
                    crate::outcome::Outcome::failure(&failure, arguments.json)
                })
            }

            #[doc = concat!("`nnx ", stringify!($name), "`")]
            #[cfg(not(feature = $feature))]
            pub(crate) fn $name(arguments: &$arguments) -> crate::outcome::Outcome {
                let command = concat!("`nnx ", stringify!($name), "`");
                let failure = crate::failure::Failure::missing_feature(command, $needs, $feature);
                crate::outcome::Outcome::failure(&failure, arguments.json)
            }
        )*
    };
}

pub(crate) use commands;
