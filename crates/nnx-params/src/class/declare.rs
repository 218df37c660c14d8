//! The macro that makes a class of its declaration.

/// Declares a class of Python: its type, its fields, and its builder where it has one.
///
/// ```text
/// python_class! {
///     class {
///         /// What it is.
///         #[derive(Clone, Debug, PartialEq, Eq)]
///         NNMoEParams { base: NNParams } in "nnx.nn.params.nn_moe_params";
///         required: nn_params::REQUIRED, &["num_experts"];
///         check: Self::check;
///     }
///     fields {
///         /// The number of experts of each hidden layer, at least 2.
///         num_experts: usize => usize = required(count::<2>);
///         /// The number of experts that each sample goes to.
///         top_k: usize => usize = defaulted(count::<1>, 2), set usize, "Default: 2.";
///     }
///     builder {
///         /// Starts from the number of experts.
///         NNMoEParamsBuilder for NNMoEParams(num_experts: usize);
///     }
/// }
/// ```
///
/// `class` has, in this order:
///
/// - the type, and in braces its head: the class that it extends, `unknown: State`, or
///   `closed: Closed` for a class that refuses unknown keys;
/// - `pickled as`: the [`PickleForm`](super::PickleForm), unless it is `Slots`;
/// - `errors`: what `from_fields` refuses beside single fields, for its documentation;
/// - `pickle order` and `state order`: the fields that come first, where these orders are not that
///   of the declaration, which is the order in which Python checks the fields;
/// - `required`: the lists of keys that a state must have;
/// - `further keys`: state keys that are not fields, or that `amend state` writes;
/// - `check head`, `check`: functions that check the head, and the whole, beside the arguments;
/// - `read state`: a function that turns the keys of a state into arguments;
/// - `amend state`: a function that completes a state;
/// - `cached`: members that the check computes.
///
/// A field has its type, `=>` and the type of its getter, its
/// [`FieldSpec`](super::FieldSpec), and its setter in the builder with the words on the default:
/// `set` takes one value, `each` several.
macro_rules! python_class {
    (
        class { $($class:tt)* }
        fields $fields:tt
        $( builder { $($builder:tt)* } )?
    ) => {
        $crate::class::class_struct! { $($class)* fields $fields }
        $( $crate::class::class_builder! { $($builder)* fields $fields } )?
    };
}

/// The type of a [`python_class!`].
macro_rules! class_struct {
    (
        $(#[$meta:meta])*
        $class:ident { $head:ident: $Head:ty } in $module:literal;
        $(pickled as: $form:expr;)?
        $(errors: $errors:literal;)?
        $(pickle order: $($pickle_order:literal),*;)?
        $(state order: $($state_order:literal),*;)?
        $(required: $($required:expr),*;)?
        $(further keys: $($further:literal),*;)?
        $(check head: $check_head:expr;)?
        $(check: $check:expr;)?
        $(read state: $read_state:expr;)?
        $(amend state: $amend_state:expr;)?
        $(cached: $($cached:ident: $cached_type:ty),*;)?
        fields { $(
            $(#[$doc:meta])*
            $name:ident $(as $key:literal)?: $type:ty $(=> $get:ty)? = $spec:expr
                $(, set $arg:ty $(as $via:ty)?, $default:literal)?
                $(, each $item:ty $(as $item_via:ty)?, $each_default:literal)?;
        )* }
    ) => {
        $(#[$meta])*
        pub struct $class {
            $head: $Head,
            $( $name: $type, )*
            $($( $cached: $cached_type, )*)?
        }

        impl $class {
            /// The Python module that defines the class.
            pub const MODULE: &'static str = $module;

            /// The Python name of the class.
            pub const CLASS: &'static str = stringify!($class);

            /// The fields in the order of declaration in Python, in which a pickle lists them.
            pub const FIELDS: &'static [&'static str] = {
                const HEAD: &[&str] = <$Head as $crate::class::Head>::FIELDS;
                const OWN: &[&str] = &[$( $crate::class::field_key!($name $($key)?) ),*];
                &$crate::class::ordered::<{ HEAD.len() + OWN.len() }>(
                    HEAD,
                    OWN,
                    &[$($( $pickle_order ),*)?],
                )
            };

            #[doc = "Builds from the constructor's arguments: an enum is its text, a nested object"]
            #[doc = "its state."]
            #[doc = ""]
            #[doc = "# Errors"]
            #[doc = ""]
            #[doc = concat!(
                "A field is missing, unexpected, of a wrong type or outside its domain"
                $(, "; or ", $errors)?, "."
            )]
            pub fn from_fields(fields: &$crate::value::State) -> $crate::error::Result<Self> {
                let arguments = $crate::class::Arguments::new(Self::CLASS, fields, Self::FIELDS)?;
                <Self as $crate::class::Declared>::read(&arguments)
            }

            $( $crate::class::getter! { [$(#[$doc])*] $name $($get)? } )*
        }

        impl $crate::class::Declared for $class {
            type Head = $Head;
            const CLASS: &'static str = $class::CLASS;
            const FIELDS: &'static [&'static str] = $class::FIELDS;

            fn read(arguments: &$crate::class::Arguments<'_>) -> $crate::error::Result<Self> {
                let $head = <$Head as $crate::class::Head>::read(arguments)?;
                $( $check_head(&$head, arguments)?; )?
                let object = Self {
                    $head,
                    $( $name: $spec.read(arguments, $crate::class::field_key!($name $($key)?))?, )*
                    $($( $cached: Default::default(), )*)?
                };
                $( let object = $check(object, arguments)?; )?
                Ok(object)
            }

            fn write(&self, full: bool) -> $crate::value::State {
                let mut state = $crate::value::State::new();
                $( $spec.write(
                    $crate::class::field_key!($name $($key)?), &self.$name, full, &mut state,
                ); )*
                $( $amend_state(self, &mut state); )?
                $( state.sort_by_order(&[$( $state_order ),*]); )?
                let mut whole = $crate::class::Head::write(&self.$head, full);
                whole.extend(state);
                whole
            }

            fn pickled_values(&self) -> Vec<(&'static str, $crate::class::PickledValue)> {
                let mut values = $crate::class::Head::pickled_values(&self.$head);
                $( values.push((
                    $crate::class::field_key!($name $($key)?), $spec.to_pickled(&self.$name),
                )); )*
                values
            }

            fn required_keys() -> Vec<&'static str> {
                let lists: &[&[&'static str]] = &[$($( $required ),*)?];
                lists.concat()
            }

            fn is_state_key(key: &str) -> bool {
                let further: &[&str] = &[$($( $further ),*)?];
                if further.contains(&key) {
                    return true;
                }
                $( if key == $crate::class::field_key!($name $($key)?) {
                    let spec: $crate::class::FieldSpec<$type, _> = $spec;
                    return spec.is_state_key();
                } )*
                <$Head as $crate::class::Head>::is_state_key(key)
            }

            fn read_state(known: &mut $crate::value::State) -> $crate::error::Result<()> {
                let _ = &known;
                $( $read_state(known)?; )?
                Ok(())
            }

            fn head(&self) -> &$Head {
                &self.$head
            }

            fn head_mut(&mut self) -> &mut $Head {
                &mut self.$head
            }
        }

        impl $crate::class::PythonClass for $class {
            const TABLE: &'static $crate::class::ClassTable = &$crate::class::ClassTable {
                module: $class::MODULE,
                class: $class::CLASS,
                form: $crate::class::pickle_form!($($form)?),
                fields: $class::FIELDS,
                nested: &[$( (
                    $crate::class::field_key!($name $($key)?),
                    <$type as $crate::class::FieldType>::CLASSES,
                ), )*],
                to_state: |fields| {
                    $class::from_fields(fields).map(|object| $crate::class::state_of(&object, false))
                },
            };

            fn from_fields(fields: &$crate::value::State) -> $crate::error::Result<Self> {
                $class::from_fields(fields)
            }

            fn from_state(state: &$crate::value::State) -> $crate::error::Result<Self> {
                $class::from_state(state)
            }

            fn pickled(&self) -> $crate::class::PickledInstance {
                $crate::class::PickledInstance::new(
                    <Self as $crate::class::PythonClass>::TABLE,
                    $crate::class::Declared::pickled_values(self),
                )
            }
        }

        impl $crate::class::FieldType for $class {
            const CLASSES: &'static [&'static $crate::class::ClassTable] =
                &[<$class as $crate::class::PythonClass>::TABLE];

            fn to_value(&self, full: bool) -> $crate::value::Value {
                $crate::class::state_of(self, full).into()
            }

            fn to_pickled(&self) -> $crate::class::PickledValue {
                $crate::class::PickledValue::Instance($crate::class::PythonClass::pickled(self))
            }
        }
    };
}

/// The builder of a [`python_class!`].
macro_rules! class_builder {
    (
        $(#[$builder_doc:meta])*
        $builder:ident for $class:ident(
            $( $start:ident: $start_type:ty $(as $start_via:ty)? ),*
            $(; each $list:ident: $list_item:ty)?
        );
        $(completes: $complete:expr;)?
        fields { $(
            $(#[$doc:meta])*
            $name:ident $(as $key:literal)?: $type:ty $(=> $get:ty)? = $spec:expr
                $(, set $arg:ty $(as $via:ty)?, $default:literal)?
                $(, each $item:ty $(as $item_via:ty)?, $each_default:literal)?;
        )* }
    ) => {
        impl $class {
            $(#[$builder_doc])*
            pub fn builder(
                $( $start: $start_type, )*
                $( $list: impl IntoIterator<Item = $list_item> )?
            ) -> $builder {
                let builder = $builder {
                    fields: $crate::value::State::new(),
                };
                $( let builder = {
                    $( let $start: $start_via = $start.into(); )?
                    builder.with(stringify!($start), &$start)
                }; )*
                $( let builder = {
                    let values: Vec<$list_item> = $list.into_iter().collect();
                    builder.with(stringify!($list), &values)
                }; )?
                builder
            }
        }

        #[doc = concat!(
            "Collects the fields of [`", stringify!($class), "`]; see [`",
            stringify!($class), "::builder`]."
        )]
        #[derive(Clone, Debug)]
        #[must_use]
        pub struct $builder {
            fields: $crate::value::State,
        }

        impl $builder {
            $( $crate::class::setters! {
                [$(#[$doc])*] $name [$crate::class::field_key!($name $($key)?)]
                $( set $arg $(as $via)?, $default )?
                $( each $item $(as $item_via)?, $each_default )?
            } )*

            fn with<T: $crate::class::FieldType + ?Sized>(mut self, field: &str, value: &T) -> Self {
                self.fields.insert(field, value.to_value(true));
                self
            }

            /// Builds the object.
            ///
            /// # Errors
            ///
            #[doc = concat!("As [`", stringify!($class), "::from_fields`].")]
            pub fn build(self) -> $crate::error::Result<$class> {
                let fields = self.fields;
                $( let fields = $complete(fields); )?
                $class::from_fields(&fields)
            }
        }
    };
}

/// The pickle form of a class: `Slots`, unless it is given.
macro_rules! pickle_form {
    () => {
        $crate::class::PickleForm::Slots
    };
    ($form:expr) => {
        $form
    };
}

/// The key of a field in states and pickles: its name, unless it is given.
macro_rules! field_key {
    ($name:ident) => {
        stringify!($name)
    };
    ($name:ident $key:literal) => {
        $key
    };
}

/// The getter of a field, where it has one.
macro_rules! getter {
    ([$($doc:tt)*] $name:ident) => {};
    ([$($doc:tt)*] $name:ident $get:ty) => {
        $($doc)*
        pub fn $name(&self) -> $get {
            $crate::class::Get::get(&self.$name)
        }
    };
}

/// The setter of a field in a builder, where it has one.
macro_rules! setters {
    ([$($doc:tt)*] $name:ident [$key:expr]) => {};
    ([$($doc:tt)*] $name:ident [$key:expr] set $arg:ty, $default:literal) => {
        $($doc)*
        #[doc = $default]
        pub fn $name(self, $name: $arg) -> Self {
            self.with($key, &$name)
        }
    };
    ([$($doc:tt)*] $name:ident [$key:expr] set $arg:ty as $via:ty, $default:literal) => {
        $($doc)*
        #[doc = $default]
        pub fn $name(self, $name: $arg) -> Self {
            let value: $via = $name.into();
            self.with($key, &value)
        }
    };
    ([$($doc:tt)*] $name:ident [$key:expr] each $item:ty, $default:literal) => {
        $($doc)*
        #[doc = $default]
        pub fn $name(self, $name: impl IntoIterator<Item = $item>) -> Self {
            let values: Vec<$item> = $name.into_iter().collect();
            self.with($key, &values)
        }
    };
    ([$($doc:tt)*] $name:ident [$key:expr] each $item:ty as $via:ty, $default:literal) => {
        $($doc)*
        #[doc = $default]
        pub fn $name(self, $name: impl IntoIterator<Item = $item>) -> Self {
            let values: Vec<$via> = $name.into_iter().map(Into::into).collect();
            self.with($key, &values)
        }
    };
}

pub(crate) use {
    class_builder, class_struct, field_key, getter, pickle_form, python_class, setters,
};

/// The names of a head, then those of the class itself, the ones in `first` before the others.
///
/// # Panics
///
/// At compile time, if `first` has a name that is not a field of the class.
pub(crate) const fn ordered<const N: usize>(
    head: &[&'static str],
    own: &[&'static str],
    first: &[&'static str],
) -> [&'static str; N] {
    let mut names = [""; N];
    let mut len = 0;
    while len < head.len() {
        names[len] = head[len];
        len += 1;
    }
    while len < head.len() + first.len() {
        let name = first[len - head.len()];
        assert!(position(own, name) < own.len());
        names[len] = name;
        len += 1;
    }
    let mut index = 0;
    while index < own.len() {
        if position(first, own[index]) == first.len() {
            names[len] = own[index];
            len += 1;
        }
        index += 1;
    }
    names
}

/// Where a name is among others; their number where it is not.
const fn position(names: &[&str], name: &str) -> usize {
    let mut index = 0;
    while index < names.len() {
        if is_same(names[index].as_bytes(), name.as_bytes()) {
            return index;
        }
        index += 1;
    }
    names.len()
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() {
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    true
}
