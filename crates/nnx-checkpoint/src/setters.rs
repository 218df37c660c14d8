//! Methods that set one field and give the value back.

/// Makes, within an `impl`, a method for each field: its name, its argument, and the new value of
/// the field.
#[doc(hidden)]
#[macro_export]
macro_rules! __setters {
    ($($field:ident($value:ident: $of:ty) = $becomes:expr;)*) => {$(
        #[doc = concat!("Sets [`", stringify!($field), "`](Self#structfield.", stringify!($field), ").")]
        #[must_use]
        pub fn $field(mut self, $value: $of) -> Self {
            self.$field = $becomes;
            self
        }
    )*};
}

pub(crate) use __setters as setters;
