//! The parts that all references to registered code have: a name, a version and options.

/// Declares a [`python_class!`](crate::class::python_class) of references to registered code. Its
/// own fields follow `id`, `version` and `config`.
macro_rules! registered_class {
    (
        class $class:tt
        version: $version:expr;
        config: $config:expr;
        fields { $($own:tt)* }
    ) => {
        $crate::class::python_class! {
            class $class
            fields {
                /// The name under which the code is registered.
                id: String => &str = $crate::class::required($crate::class::slug)
                    .pickled(|id| $crate::class::PickledValue::Text(id.clone()));
                /// The version of the code.
                version: usize => usize = $version;
                /// The options of the call, keys sorted.
                config: $crate::value::State => &$crate::value::State = $config;
                $($own)*
            }
        }
    };
}

pub(crate) use registered_class;
