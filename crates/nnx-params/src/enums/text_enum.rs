//! The macro behind every field that holds one of a few texts.

/// Defines an enum whose members are texts.
macro_rules! text_enum {
    (
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

            /// The text that stands for the member in files.
            pub fn value(self) -> &'static str {
                match self {
                    $( Self::$variant => $value, )*
                }
            }

            /// The member that `value` names, for a field of a class.
            pub(crate) fn from_value(
                class: &'static str,
                field: &str,
                value: &$crate::Value,
            ) -> $crate::Result<Self> {
                Self::all()
                    .iter()
                    .copied()
                    .find(|member| value.as_str() == Some(member.value()))
                    .ok_or_else(|| {
                        let domain = concat!("one of ", $( "`", $value, "`, ", )*);
                        let domain = domain.trim_end_matches(", ");
                        $crate::Error::invalid(class, field, domain, value)
                    })
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.value())
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::Error;

            /// The member of a text, which must match to the letter.
            ///
            /// # Errors
            ///
            /// No member has this text.
            fn from_str(text: &str) -> $crate::Result<Self> {
                Self::from_value(Self::CLASS, "value", &$crate::Value::from(text))
            }
        }

        impl From<$name> for $crate::Value {
            fn from(member: $name) -> Self {
                Self::from(member.value())
            }
        }
    };
}

pub(crate) use text_enum;
