//! The training state that belongs to a checkpoint.

use nnx_params::{Checkpoints, Value};
use nnx_run::{CheckpointStore, ErrorKind};
use nnx_tests::{Json, LIBRARY_VERSIONS};

use super::support::{folder, read};

#[test]
fn every_case_is_decided_as_in_python() {
    let new = read("0.4.1", "sidecars.json").items();
    for version in LIBRARY_VERSIONS {
        let (mut judged, mut by_new) = (0, 0);
        for own in read(version, "sidecars.json").items() {
            let name = own.get("name");
            // The files are those of 0.4.1, which also decides where a version is too new for 0.2.3.
            let case = new.iter().find(|case| case.get("name") == name).unwrap();
            by_new += usize::from(outcome(case) != outcome(&own));
            let root = folder("0.4.1").join("sidecars").join(name.text());
            let store = CheckpointStore::new("x", &root).unwrap();
            let state = store.load_training_state(&Checkpoints::Last.into());
            let at = format!("{version} {}", name.text());
            match (state, case.find("error"), case.find("result")) {
                (Err(error), Some(expected), _) => {
                    assert_eq!(expected.text(), "ValueError", "{at}");
                    let kind = error.kind();
                    assert!(
                        matches!(kind, ErrorKind::TrainingState { .. }),
                        "{at}: {error}"
                    );
                }
                (Ok(None), None, None) => {}
                (Ok(Some(state)), None, Some(expected)) => {
                    let keys: Vec<_> = state.keys().collect();
                    assert_eq!(keys, expected.get("keys").texts(), "{at}");
                    assert_eq!(state.version(), expected.get("version").0.as_int(), "{at}");
                    let epoch = expected.get("completed_epoch").0.as_int();
                    assert_eq!(state.completed_epoch(), epoch, "{at}");
                    assert!(state.has_optimizer(), "{at}");
                }
                (state, ..) => panic!("{at}: {state:?}"),
            }
            judged += 1;
        }
        assert_eq!(judged, 15);
        println!(
            "{version} sidecars.json: {judged} cases judged, {by_new} of them by the outcome of \
             0.4.1, which differs"
        );
    }
}

fn outcome(case: &Json) -> (Option<Value>, Option<Value>) {
    let part = |key| case.find(key).map(|part: Json| part.0);
    let version = part("result").and_then(|it| it.as_map()?.get("version").cloned());
    (part("error"), version)
}
