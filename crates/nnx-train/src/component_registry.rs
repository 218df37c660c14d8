//! The components of one training under their names, and which of them are restored.

use nnx_run::Data;

use crate::component::{Component, ComponentSpec, ComponentVersion};
use crate::error::{Error, ErrorKind, Result};

/// The names under which the states of components are kept, each with the place where the component
/// is.
#[derive(Debug)]
pub(crate) struct ComponentRegistry<P> {
    entries: Vec<(String, ComponentSpec, P)>,
}

/// The states that a resumed training restores, after every saved state was checked.
#[derive(Debug)]
pub(crate) struct RestorePlan<P> {
    pub(crate) restored: Vec<(String, P, Data, ComponentVersion)>,
    pub(crate) fresh: Vec<String>,
}

impl<P: Copy> ComponentRegistry<P> {
    pub(crate) fn new() -> Self {
        Self {
            entries: Vec::new(),
        }
    }

    /// Adds a component.
    ///
    /// # Errors
    /// When the name is not a valid one, or is taken.
    pub(crate) fn register(&mut self, component: &dyn Component, place: P) -> Result<()> {
        let spec = component.component_spec();
        if !spec.is_valid() {
            return Err(Error::configuration(format!(
                "the name of a component needs letters, digits, `.`, `_`, `:` or `-` and its version \
                 a number from 1, got `{}` and `{}`",
                spec.name, spec.version
            )));
        }
        let is_taken = |name: &str| self.entries.iter().any(|(other, _, _)| other == name);
        let mut name = spec.name.clone();
        if is_taken(&name) {
            if !spec.numbered {
                return Err(Error::configuration(format!(
                    "two components have the name `{name}`, each needs a name of its own"
                )));
            }
            let mut number = 2_usize;
            while is_taken(&name) {
                name = format!("{}.{number}", spec.name);
                number = number.saturating_add(1);
            }
        }
        self.entries.push((name, spec, place));
        Ok(())
    }

    /// The names, in the order in which the components were registered.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = self.entries.iter().map(|(name, _, _)| name.clone());
        names.collect()
    }

    /// The states of all components, as a training state holds them.
    pub(crate) fn collect(&self, mut state: impl FnMut(P) -> Data) -> Data {
        Data::dict(self.entries.iter().map(|(name, spec, place)| {
            let entry = [
                ("version", Data::Int(spec.version.into())),
                ("required", Data::Bool(spec.required)),
                ("state", state(*place)),
            ];
            (name.clone(), Data::dict(entry))
        }))
    }

    /// The plan to restore saved states; `check` gives the reasons why a state does not fit.
    ///
    /// # Errors
    /// [`ErrorKind::ComponentRestore`] with every problem.
    pub(crate) fn plan(
        &self,
        saved: &[(Data, Data)],
        mut check: impl FnMut(P, &Data, ComponentVersion) -> Vec<String>,
    ) -> Result<RestorePlan<P>> {
        let mut problems = Vec::new();
        let mut plan = RestorePlan {
            restored: Vec::new(),
            fresh: Vec::new(),
        };
        for (name, spec, place) in &self.entries {
            let entry = saved.iter().find(|(key, _)| key.as_str() == Some(name));
            let Some((_, entry)) = entry else {
                if spec.required {
                    problems.push(format!(
                        "the checkpoint has no state of the required component `{name}`"
                    ));
                } else {
                    plan.fresh.push(name.clone());
                }
                continue;
            };
            let version = entry.get("version").and_then(Data::as_int);
            let version = version.and_then(|version| ComponentVersion::try_from(version).ok());
            let (Some(version), Some(state)) = (version, entry.get("state")) else {
                problems.push(format!(
                    "the saved entry of the component `{name}` is malformed"
                ));
                continue;
            };
            if version < 1 || version > spec.version {
                problems.push(format!(
                    "the state of the component `{name}` has version {version}, versions up to {} are \
                     supported",
                    spec.version
                ));
                continue;
            }
            let found = check(*place, state, version);
            if found.is_empty() {
                let state = state.clone();
                plan.restored.push((name.clone(), *place, state, version));
            }
            problems.extend(
                found
                    .into_iter()
                    .map(|why| format!("the component `{name}`: {why}")),
            );
        }
        for (key, entry) in saved {
            let name = key.as_str().unwrap_or("?");
            let is_known = self.entries.iter().any(|(known, _, _)| known == name);
            let is_required = entry.get("required").and_then(Data::as_bool) != Some(false);
            if !is_known && is_required {
                problems.push(format!(
                    "the checkpoint has a state of the required component `{name}`, and this training \
                     registers no such component"
                ));
            }
        }
        if problems.is_empty() {
            Ok(plan)
        } else {
            Err(ErrorKind::ComponentRestore { problems }.into())
        }
    }
}

impl<P> RestorePlan<P> {
    /// A plan that restores nothing.
    pub(crate) fn fresh(names: Vec<String>) -> Self {
        Self {
            restored: Vec::new(),
            fresh: names,
        }
    }
}
