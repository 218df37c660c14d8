//! The parameters that both ways of training have.

use crate::class::{Arguments, FieldType, object, text_enum};
use crate::error::{Error, Result};
use crate::record::MonitorSpec;
use crate::registry::{MetricSpec, RECORD_METRICS, check_unique, metrics_of};
use crate::value::{State, Value};

text_enum! {
    /// How a resumed training restores its state.
    ResumeMode {
        /// All parts that the checkpoint has, the default.
        Auto => "auto",
        /// Everything, or not at all.
        Stateful => "stateful",
        /// The weights alone.
        WeightsOnly => "weights_only",
    }
}

/// Declares a [`python_class!`](crate::class::python_class) of the parameters of a training: its
/// own fields come before and after those that every training has.
macro_rules! training_class {
    (
        class $class:tt
        fields { $($first:tt)* }
        more fields { $($last:tt)* }
        builder $builder:tt
    ) => {
        $crate::class::python_class! {
            class $class
            fields {
                $($first)*
                train_loader: $crate::training::training_class::RuntimeOnly =
                    $crate::class::by($crate::training::training_class::runtime_only).never();
                val_loader: $crate::training::training_class::RuntimeOnly =
                    $crate::class::by($crate::training::training_class::runtime_only).never();
                extra_metrics: $crate::training::training_class::RuntimeOnly =
                    $crate::class::by($crate::training::training_class::runtime_only).never();
                /// The number of epochs, at least 1.
                n_epochs: usize => usize = $crate::class::required($crate::class::count::<1>);
                /// The caller's name of the data.
                data_id: Option<String> => Option<&str> =
                    $crate::class::by($crate::training::training_class::data_id).or(None),
                    set impl Into<String> as String, "Default: none.";
                /// The run that this one goes on from.
                parent_run_id: Option<String> => Option<&str> =
                    $crate::class::optional($crate::class::text).never(),
                    set impl Into<String> as String, "Default: none.";
                /// The run to resume; a state has it as the parent.
                resume_from_run_id: Option<String> => Option<&str> =
                    $crate::class::by($crate::training::training_class::resume_from_run_id)
                        .never(),
                    set impl Into<String> as String, "Default: none.";
                /// How a resumed training restores its state; no state has it.
                resume_mode: $crate::training::training_class::ResumeMode => $crate::training::training_class::ResumeMode =
                    $crate::class::defaulted(
                        $crate::training::training_class::ResumeMode::from_value,
                        $crate::training::training_class::ResumeMode::Auto,
                    ).never(),
                    set $crate::training::training_class::ResumeMode,
                    "Default: whatever the checkpoint has.";
                /// The metrics declared beside those of every record.
                metrics: Vec<$crate::registry::MetricSpec> => &[$crate::registry::MetricSpec] =
                    $crate::class::defaulted(
                        $crate::training::training_class::metrics, Vec::new(),
                    ),
                    each $crate::registry::MetricSpec, "Default: none.";
                /// The metric that decides which epoch is the best.
                monitor: Option<$crate::record::MonitorSpec>
                    => Option<&$crate::record::MonitorSpec> =
                    $crate::class::by($crate::training::training_class::monitor).or(None),
                    set &$crate::record::MonitorSpec, "Default: none.";
                /// The seed of every random number.
                seed: Option<$crate::number::Number> => Option<$crate::number::Number> =
                    $crate::class::optional($crate::class::number),
                    set impl Into<$crate::number::Number> as $crate::number::Number,
                    "Default: none.";
                /// Whether the checkpoints of the first epoch and the quarters are saved.
                save_phase_checkpoints: $crate::number::Number => bool =
                    $crate::class::defaulted($crate::class::number, true.into())
                        .written_if($crate::number::Number::is_not_true),
                    set bool, "Default: true.";
                /// The checkpoint of the resumed or parent run.
                resume_from_checkpoint: Option<String> => Option<&str> =
                    $crate::class::optional($crate::class::text)
                        .or(Some("last".to_owned()))
                        .never(),
                    set impl Into<String> as String, "Default: `last`.";
                /// Whether a run of the same id is replaced; no state has it.
                overwrite_existing: bool => bool =
                    $crate::class::defaulted($crate::class::truth, false).never(),
                    set bool, "Default: false.";
                $($last)*
            }
            builder $builder
        }
    };
}

pub(crate) use training_class;

/// A field that exists in a running Python program only, and is `None` everywhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RuntimeOnly;

impl FieldType for RuntimeOnly {
    fn to_value(&self, _: bool) -> Value {
        Value::None
    }
}

pub(super) fn runtime_only(arguments: &Arguments<'_>, field: &str) -> Result<RuntimeOnly> {
    match arguments.get(field) {
        value @ (Value::Bool(_) | Value::Map(_) | Value::List(_)) => {
            let expected = "None, as it exists in a running Python program only";
            Err(Error::wrong_type(arguments.class, field, expected, value))
        }
        _ => Ok(RuntimeOnly),
    }
}

pub(super) fn data_id(arguments: &Arguments<'_>, field: &str) -> Result<Option<String>> {
    let data_id = arguments.optional(field, crate::class::text)?;
    if data_id.as_deref().is_some_and(is_blank) {
        return Err(arguments.invalid(field, "a text that is not blank"));
    }
    Ok(data_id)
}

pub(super) fn resume_from_run_id(arguments: &Arguments<'_>, field: &str) -> Result<Option<String>> {
    let run_id = arguments.optional(field, crate::class::text)?;
    if run_id.is_some() && !arguments.get("parent_run_id").is_none() {
        return Err(arguments.invalid("parent_run_id", "None beside a `resume_from_run_id`"));
    }
    Ok(run_id)
}

pub(super) fn metrics(class: &'static str, _: &str, value: &Value) -> Result<Vec<MetricSpec>> {
    let metrics = metrics_of(class, value)?;
    check_unique(class, &metrics)?;
    Ok(metrics)
}

pub(super) fn monitor(arguments: &Arguments<'_>, field: &str) -> Result<Option<MonitorSpec>> {
    let Some(monitor) = arguments.optional(field, object::<MonitorSpec>)? else {
        return Ok(None);
    };
    let metrics = match arguments.given("metrics") {
        None => Vec::new(),
        Some(value) => metrics_of(arguments.class, value)?,
    };
    check_declared(arguments.class, &monitor, &metrics)?;
    Ok(Some(monitor))
}

/// Turns the keys of a state into the arguments that they mean.
pub(super) fn read_state(known: &mut State) -> Result<()> {
    if let Some(checkpoint) = known.remove("parent_checkpoint") {
        known.insert("resume_from_checkpoint", checkpoint);
    }
    known.remove_empty("metrics");
    Ok(())
}

/// Adds the run that a training goes on from, and the checkpoint of that run.
pub(super) fn add_parent(
    state: &mut State,
    parent_run_id: Option<&str>,
    resume_from_run_id: Option<&str>,
    checkpoint: Option<&str>,
) {
    let parent = parent_run_id.filter(|id| !id.is_empty());
    if let Some(parent) = parent.or(resume_from_run_id) {
        state.insert("parent_run_id", parent);
        state.insert("parent_checkpoint", checkpoint);
    }
}

fn check_declared(
    class: &'static str,
    monitor: &MonitorSpec,
    metrics: &[MetricSpec],
) -> Result<()> {
    let metric = monitor.metric();
    let declared = metrics.iter().any(|declared| declared.label() == metric);
    if declared || RECORD_METRICS.contains(&metric) {
        return Ok(());
    }
    let domain = "of `loss`, `error` or a metric among `metrics`";
    Err(Error::inconsistent(
        class,
        "monitor",
        domain,
        format!("`{metric}`"),
    ))
}

/// Whether a text is empty or holds nothing but characters that Python's `str.isspace` accepts.
pub(crate) fn is_blank(text: &str) -> bool {
    // Python also counts the four separators of ASCII as space.
    text.chars()
        .all(|c| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c))
}
