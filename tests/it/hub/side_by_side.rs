//! Transfers of several files at the same time: events and results do not depend on which of them
//! is faster.

use std::collections::HashSet;
use std::fs;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::thread;

use nnx_hub::{ErrorKind, Event, Hub, SnapshotOptions, UploadOptions};
use nnx_hub_server::{Action, Fault};

use super::desk::{Desk, REPO, repo};

const FILES: usize = 12;

fn names() -> Vec<String> {
    (0..FILES)
        .map(|number| format!("{number:02}.bin"))
        .collect()
}

fn seed(desk: &Desk) {
    let names = names();
    let files: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), name.as_bytes()))
        .collect();
    desk.state().seed(REPO, &files);
}

/// A client of so many workers, and the notes and complete files that it tells of.
fn listening(desk: &Desk, workers: usize) -> (Hub, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&lines);
    let progress = move |event: &Event<'_>| match event {
        Event::Note(line) => told.lock().unwrap().push((*line).to_owned()),
        Event::Finished { file, .. } => told.lock().unwrap().push((*file).to_owned()),
        _ => {}
    };
    let workers = NonZeroUsize::new(workers).unwrap();
    let hub = desk.hub.clone().max_workers(workers);
    (hub.progress(Arc::new(progress)), lines)
}

/// The hash of a file in its address.
fn address(desk: &Desk, name: &str) -> String {
    let tree = desk.hub.tree(&repo(), "main").unwrap();
    let entry = tree.into_iter().find(|entry| entry.path == name).unwrap();
    format!("/blob/{}", entry.digest.hex())
}

#[test]
fn downloads_are_told_in_the_order_of_the_files() {
    let mut expected = None;
    for workers in [1, 2, 8, 64] {
        let desk = Desk::on_loopback();
        seed(&desk);
        // The first files are the slowest, and the second one has to be tried again.
        for (name, milliseconds) in [("00.bin", 120), ("01.bin", 60), ("05.bin", 40)] {
            let slow = Action::Slow(milliseconds);
            desk.state().fault(Fault::new(address(&desk, name), slow));
        }
        let cut = Fault::new(address(&desk, "01.bin"), Action::Drop);
        desk.state().fault(cut);
        let (hub, lines) = listening(&desk, workers);
        let folder = hub.snapshot(&repo(), &SnapshotOptions::default()).unwrap();
        for name in names() {
            assert_eq!(fs::read_to_string(folder.join(&name)).unwrap(), name);
        }
        // The ports differ.
        let lines: Vec<String> = lines
            .lock()
            .unwrap()
            .iter()
            .map(|line| line.split("trying").last().unwrap().to_owned())
            .collect();
        assert_eq!(lines.len(), 1 + FILES + 1, "{lines:?}");
        assert_eq!(
            *expected.get_or_insert_with(|| lines.clone()),
            lines,
            "{workers}"
        );
    }
}

#[test]
fn the_number_of_threads_is_bounded() {
    let desk = Desk::in_memory();
    let names: Vec<String> = (0..400).map(|number| format!("{number}.bin")).collect();
    let files = names.iter().map(|name| (name.as_str(), name.as_bytes()));
    desk.state().seed(REPO, &files.collect::<Vec<_>>());
    let threads = Arc::new(Mutex::new(HashSet::new()));
    let seen = Arc::clone(&threads);
    let progress = move |event: &Event<'_>| {
        if let Event::Advanced { .. } = event {
            seen.lock().unwrap().insert(thread::current().id());
        }
    };
    let hub = desk.hub.clone().max_workers(NonZeroUsize::MAX);
    let hub = hub.progress(Arc::new(progress));
    hub.snapshot(&repo(), &SnapshotOptions::default()).unwrap();
    let threads = threads.lock().unwrap().len();
    assert!((1..=64).contains(&threads), "{threads}");
}

#[test]
fn the_first_file_that_fails_is_the_error() {
    for workers in [1, 3, 8] {
        let desk = Desk::on_loopback();
        seed(&desk);
        let status = |code| Action::Status(code, Vec::new(), String::new());
        // The later one fails earlier, and otherwise.
        let first = address(&desk, "04.bin");
        desk.state().fault(Fault::new(&first, Action::Slow(80)));
        desk.state().fault(Fault::new(&first, status(403)));
        desk.state()
            .fault(Fault::new(address(&desk, "06.bin"), status(400)));
        let (hub, lines) = listening(&desk, workers);
        let error = hub
            .snapshot(&repo(), &SnapshotOptions::default())
            .unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Forbidden { .. }),
            "{error}"
        );
        let mut complete = names();
        complete.truncate(4);
        complete.insert(0, ".gitattributes".to_owned());
        assert_eq!(*lines.lock().unwrap(), complete, "{workers}");
        // Nothing was started that comes long after it.
        let seen = desk.state().seen();
        let last = address(&desk, "11.bin");
        assert!(workers > 3 || seen.iter().all(|seen| !seen.target.starts_with(&last)));
        desk.state().calm();
        hub.snapshot(&repo(), &SnapshotOptions::default()).unwrap();
    }
}

#[test]
fn uploads_are_told_in_the_order_of_the_files() {
    for workers in [1, 4] {
        let desk = Desk::on_loopback();
        desk.state().seed(REPO, &[("a", b"1")]);
        desk.state().set_part_bytes(3);
        let folder = tempfile::tempdir().unwrap();
        for name in names() {
            fs::write(folder.path().join(&name), &name).unwrap();
        }
        desk.state().fault(Fault::new("/part/", Action::Slow(100)));
        let (hub, lines) = listening(&desk, workers);
        let options = UploadOptions::default();
        let upload = hub.upload_folder(folder.path(), &repo(), &options).unwrap();
        assert_eq!(upload.uploaded, names());
        assert_eq!(*lines.lock().unwrap(), names());
        let files = desk.state().files(REPO, "main");
        assert!(names().iter().all(|name| files[name] == name.as_bytes()));
        assert_eq!(desk.state().commits(REPO).len(), 3);
    }
}
