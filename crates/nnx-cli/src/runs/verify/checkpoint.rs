//! Checks that a checkpoint and the files beside it are complete and from one save.

use nnx::run::{CheckpointStore, CheckpointTag, TrainingStateFile, TrainingStateRole};
use serde::Serialize;

use super::{Part, Verdict, judged};
use crate::failure::Failure;

/// A checkpoint with the files that belong to it.
#[derive(Debug, Serialize)]
pub(super) struct Checked {
    pub(super) tag: String,
    #[serde(flatten)]
    pub(super) part: Part,
    /// Whether the file of the checkpoint exists.
    pub(super) present: bool,
    /// Whether there is a manifest with the digests of the files.
    manifest: bool,
    pub(super) generation: Option<i64>,
    /// The files whose digests were compared.
    pub(super) files: Vec<String>,
    pub(super) training_states: Vec<State>,
}

/// A file of a training state; its errors count as errors of its checkpoint.
#[derive(Debug, Serialize)]
pub(super) struct State {
    pub(super) name: String,
    pub(super) role: &'static str,
    pub(super) error: Option<Failure>,
    #[serde(skip)]
    pub(super) verdict: Verdict,
    #[serde(skip)]
    pub(super) is_leftover: bool,
}

impl State {
    fn new(file: TrainingStateFile) -> Self {
        let Part { verdict, error } =
            Part::from_result(file.error.map_or(Ok(()), |it| Err(judged(it))));
        Self {
            name: file.name,
            role: file.role.name(),
            error,
            verdict,
            is_leftover: file.role == TrainingStateRole::Leftover,
        }
    }
}

impl Checked {
    pub(super) fn new(store: &CheckpointStore, tag: &CheckpointTag) -> Self {
        let manifest = store.verify(tag);
        // A manifest that exists is listed even if it is wrong.
        let has_manifest = matches!(store.resume_point(tag), Ok(Some(_)) | Err(_));
        let (manifest, wrong) = match manifest {
            Ok(manifest) => (manifest, None),
            Err(error) => (None, Some(judged(error))),
        };
        // If the checkpoint cannot be read, the check above or the one below reports it.
        let states = store.training_state_files(tag).unwrap_or_default();
        let states: Vec<State> = states.into_iter().map(State::new).collect();
        let wrong = wrong.or_else(|| match store.load(tag) {
            Ok(Some(_)) => None,
            Ok(None) => missing(has_manifest, &states),
            Err(error) => Some(judged(error)),
        });
        let mut part = Part::from_result(wrong.map_or(Ok(()), Err));
        let verdicts = states.iter().map(|state| state.verdict);
        part.verdict = verdicts.fold(part.verdict, Ord::max);
        let files = manifest.iter().flat_map(|manifest| manifest.files());
        let files = files.map(|(name, _)| name.to_owned()).collect();
        let generation = manifest.as_ref().and_then(|manifest| manifest.generation());
        Self {
            tag: tag.to_string(),
            part,
            present: store.path(tag).is_file(),
            manifest: has_manifest,
            generation: generation.and_then(|generation| generation.try_into().ok()),
            files,
            training_states: states,
        }
    }

    /// The training state from which a training is resumed.
    fn own(&self) -> Option<&State> {
        let own = TrainingStateRole::Own.name();
        self.training_states.iter().find(|state| state.role == own)
    }

    /// The checks that a sound checkpoint has passed.
    pub(super) fn checked(&self) -> String {
        match (self.files.len(), self.own()) {
            _ if !self.present => {
                "no checkpoint; an interrupted save left a training state".to_owned()
            }
            (0, Some(_)) => {
                "read with its training state; no manifest to compare their bytes with".to_owned()
            }
            (0, None) => "read; no manifest to compare its bytes with".to_owned(),
            (1, _) => "digest of 1 file".to_owned(),
            (more, _) => format!("digests of {more} files"),
        }
    }
}

/// The reason why a missing checkpoint is an error. Only the first step of a save, writing the
/// training state under its own name, comes before the checkpoint.
fn missing(has_manifest: bool, states: &[State]) -> Option<(Verdict, Failure)> {
    let is_copy = |state: &State| state.name.ends_with(".pt.opt.pt");
    (has_manifest || states.iter().any(is_copy)).then(|| {
        let failure = Failure::new("not_found", "the checkpoint does not exist");
        (Verdict::Wrong, failure)
    })
}
