//! The table of a round trip: one line for each case, with its differences below it.

use std::fmt::Display;

use super::compare::{Form, Outputs, compare, distance};
use super::facts::{Facts, Forward};

/// Prints the lines and counts them.
#[derive(Debug, Default)]
pub(super) struct Table {
    cases: usize,
    differing: usize,
    refused: usize,
}

/// The result of one case.
#[derive(Debug, Default)]
pub(super) struct Case {
    tensors: usize,
    output: Output,
    pub(super) differences: Vec<String>,
}

/// The result of a forward pass, or of a write.
#[derive(Debug, Default)]
enum Output {
    /// There was no forward pass.
    #[default]
    None,
    /// There was no other result to compare with.
    Alone,
    /// The same bits.
    Exact,
    /// The largest difference.
    Within(f64),
    /// Refused for this reason, as the real NNx does.
    Refused(String),
}

impl Case {
    /// The comparison of the expected and the found facts.
    pub(super) fn new(expected: &Facts, found: &Facts, form: Form, outputs: Outputs) -> Self {
        let output = match (&expected.forward, &found.forward) {
            (_, Some(Forward::Refused(why))) => Output::Refused(why.clone()),
            (Some(expected), Some(found)) => match (outputs, distance(expected, found)) {
                (Outputs::Exact, Some(0.0)) => Output::Exact,
                (_, Some(distance)) => Output::Within(distance),
                (_, None) => Output::None,
            },
            (None, Some(_)) => Output::Alone,
            (_, None) => Output::None,
        };
        Self {
            tensors: found.tensors().count(),
            output,
            differences: compare(expected, found, form, outputs),
        }
    }

    /// A file that could not be read or written.
    pub(super) fn failed(error: impl Display) -> Self {
        Self {
            differences: vec![error.to_string()],
            ..Self::default()
        }
    }

    /// A case that the real NNx refuses as well.
    pub(super) fn refused(error: impl Display) -> Self {
        Self {
            output: Output::Refused(error.to_string()),
            ..Self::default()
        }
    }
}

impl Table {
    /// The table's head.
    pub(super) fn new() -> Self {
        println!("{:<64} {:>7}  {:<9} result", "case", "tensors", "output");
        Self::default()
    }

    /// A heading between the lines.
    pub(super) fn section(&self, title: &str) {
        println!("-- {title}");
    }

    pub(super) fn line(&mut self, name: &str, case: Case) {
        self.cases += 1;
        let mut remark = String::new();
        let output = match case.output {
            Output::None => "-".into(),
            Output::Alone => "ran".into(),
            Output::Exact => "same bits".into(),
            Output::Within(distance) => format!("{distance:.1e}"),
            Output::Refused(why) => {
                self.refused += 1;
                // The reason may have several lines.
                remark = format!(
                    " ({})",
                    why.split_whitespace().collect::<Vec<_>>().join(" ")
                );
                "refused".into()
            }
        };
        let result = if case.differences.is_empty() {
            "ok"
        } else {
            "DIFFERS"
        };
        println!(
            "{name:<64} {:>7}  {output:<9} {result}{remark}",
            case.tensors
        );
        for difference in &case.differences {
            println!("    {difference}");
        }
        self.differing += usize::from(!case.differences.is_empty());
    }

    /// Prints the verdict and returns whether all cases agree.
    pub(super) fn verdict(&self) -> crate::Result<()> {
        let Self {
            cases,
            differing,
            refused,
        } = *self;
        let mut remark = String::new();
        if refused > 0 {
            remark += &format!("; {refused} refused, as NNx refuses them");
        }
        if differing == 0 && cases > 0 {
            println!("roundtrip passed: {cases} cases agree{remark}");
            return Ok(());
        }
        println!("roundtrip FAILED: {differing} of {cases} cases differ{remark}");
        Err(format!("{differing} of {cases} cases differ").into())
    }
}
