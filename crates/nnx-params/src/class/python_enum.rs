//! Fields that hold one of a few texts.

/// Defines an enum whose members are texts.
macro_rules! text_enum {
    (
        $(#[$meta:meta])*
        $name:ident { $($members:tt)* }
    ) => {
        $crate::class::text_enum! { @type $(#[$meta])* $name { $($members)* } }

        impl $crate::class::FieldType for $name {
            fn to_value(&self, _: bool) -> $crate::value::Value {
                (*self).into()
            }
        }
    };
    (
        @type
        $(#[$meta:meta])*
        $name:ident { $( $(#[$variant_meta:meta])* $variant:ident => $value:literal, )* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $( $(#[$variant_meta])* $variant, )*
        }

        impl $name {
            /// The Python name of the type.
            pub const CLASS: &'static str = stringify!($name);

            /// Every member, in the order of definition.
            pub fn all() -> &'static [Self] {
                &[$( Self::$variant, )*]
            }

            /// The text of the member in files.
            pub fn value(self) -> &'static str {
                match self {
                    $( Self::$variant => $value, )*
                }
            }

            /// The member that `value` names, for a field of a class.
            pub(crate) fn from_value(
                class: &'static str,
                field: &str,
                value: &$crate::value::Value,
            ) -> $crate::error::Result<Self> {
                Self::all()
                    .iter()
                    .copied()
                    .find(|member| value.as_str() == Some(member.value()))
                    .ok_or_else(|| {
                        let domain = concat!("one of ", $( "`", $value, "`, ", )*);
                        let domain = domain.trim_end_matches(", ");
                        $crate::error::Error::invalid(class, field, domain, value)
                    })
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.value())
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::error::Error;

            /// The member of a text, which must match to the letter.
            ///
            /// # Errors
            ///
            /// No member has this text.
            fn from_str(text: &str) -> $crate::error::Result<Self> {
                Self::from_value(Self::CLASS, "value", &$crate::value::Value::from(text))
            }
        }

        impl From<$name> for $crate::value::Value {
            fn from(member: $name) -> Self {
                Self::from(member.value())
            }
        }
    };
}

/// A [`text_enum!`] that is a Python enum: it also knows the module that defines it and Python's
/// names of its members.
macro_rules! python_enum {
    (
        $(#[$meta:meta])*
        $name:ident in $module:literal {
            $( $(#[$variant_meta:meta])* $variant:ident = $python:literal => $value:literal, )*
        }
    ) => {
        $crate::class::text_enum! {
            @type
            $(#[$meta])*
            $name { $( $(#[$variant_meta])* $variant => $value, )* }
        }

        impl $name {
            /// The Python module that defines the enum.
            pub const MODULE: &'static str = $module;

            /// The Python name of the member.
            pub fn name(self) -> &'static str {
                match self {
                    $( Self::$variant => $python, )*
                }
            }
        }

        impl $crate::class::FieldType for $name {
            fn to_value(&self, _: bool) -> $crate::value::Value {
                (*self).into()
            }

            fn to_pickled(&self) -> $crate::class::PickledValue {
                $crate::class::PickledValue::Member {
                    module: Self::MODULE,
                    class: Self::CLASS,
                    value: self.value(),
                }
            }
        }
    };
}

pub(crate) use {python_enum, text_enum};
