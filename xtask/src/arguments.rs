//! The arguments of a task.

use crate::Result;

/// The arguments of a task. Take the options out first, then [`finish`](Self::finish).
#[derive(Debug)]
pub(crate) struct Arguments(Vec<String>);

impl Arguments {
    pub(crate) fn new(words: impl IntoIterator<Item = String>) -> Self {
        Self(words.into_iter().collect())
    }

    /// Takes `--name` out and returns whether it was given.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let position = self.0.iter().position(|word| word == name);
        position.map(|at| self.0.remove(at)).is_some()
    }

    /// Takes `--name VALUE` out and returns the value.
    ///
    /// # Errors
    /// When the value is missing.
    pub(crate) fn value(&mut self, name: &str) -> Result<Option<String>> {
        let Some(at) = self.0.iter().position(|word| word == name) else {
            return Ok(None);
        };
        if self.0.len() <= at + 1 {
            return Err(format!("`{name}` needs a value").into());
        }
        self.0.remove(at);
        Ok(Some(self.0.remove(at)))
    }

    /// Takes the first remaining argument that is not an option.
    pub(crate) fn word(&mut self) -> Option<String> {
        let position = self.0.iter().position(|word| !word.starts_with('-'));
        position.map(|at| self.0.remove(at))
    }

    /// Ends the reading of the arguments.
    ///
    /// # Errors
    /// When an argument is left over.
    pub(crate) fn finish(self) -> Result<()> {
        match self.0.first() {
            Some(word) => Err(format!("unexpected argument `{word}`").into()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Arguments {
        Arguments::new(line.split_whitespace().map(String::from))
    }

    #[test]
    fn options_and_words_come_in_any_order() {
        let mut given = arguments("--python bin/python here --quick");
        assert!(given.flag("--quick"));
        assert!(!given.flag("--quick"));
        assert_eq!(
            given.value("--python").unwrap().as_deref(),
            Some("bin/python")
        );
        assert_eq!(given.word().as_deref(), Some("here"));
        assert!(given.finish().is_ok());
    }

    #[test]
    fn what_no_task_asked_for_is_refused() {
        assert!(arguments("--seed").value("--seed").is_err());
        assert!(arguments("--unknown").finish().is_err());
        assert!(arguments("two words").finish().is_err());
    }
}
