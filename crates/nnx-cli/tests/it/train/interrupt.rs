//! Trainings that are asked to stop.

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{Desk, losses, object};

/// Sends a signal.
fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let status = Command::new("kill").args([name, &pid]).status().unwrap();
    assert!(status.success());
}

/// Waits until so many runs have saved an epoch.
fn wait_for_runs(desk: &Desk, root: &str, count: usize) {
    let runs = desk.path(root).join("runs");
    let begin = Instant::now();
    let saved = || {
        let runs = std::fs::read_dir(&runs).into_iter().flatten();
        runs.map(|run| run.unwrap())
            .filter(|run| run.file_type().unwrap().is_dir())
            .filter(|run| {
                run.path()
                    .join("checkpoints/last.pt.manifest.json")
                    .exists()
            })
            .count()
    };
    while saved() < count {
        assert!(
            begin.elapsed() < Duration::from_secs(120),
            "no epoch was saved"
        );
        sleep(Duration::from_millis(2));
    }
}

/// Interrupts a training when so many runs have saved an epoch, and gives the words to go on with.
fn interrupted_words(desk: &Desk, command: &mut Command, runs: usize) -> String {
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    wait_for_runs(desk, "plan", runs);
    signal(&child, "-INT");
    let done = child.wait_with_output().unwrap();
    let told = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(130), "{told}");
    let (_, words) = told.trim_end().split_once("go on with: nnx ").expect(&told);
    words.to_owned()
}

/// The sessions of a plan have one number of epochs, so that the command has none of its own.
#[test]
fn a_plan_goes_on_with_its_own_number_of_epochs() {
    let desk = Desk::new("ff_adam_default");
    let config = desk.config_of_epochs(100_000);
    let text = std::fs::read_to_string(&config).unwrap();
    let id = nnx::NNRun::from_yaml(&text).unwrap().id().to_owned();
    interrupted_words(&desk, &mut desk.train_as(&config, "plan", &["--quiet"]), 1);
    let epochs = "  n_epochs: 100000\n";
    let planned = text.replace(epochs, &format!("{epochs}  resume_epochs: planned\n"));
    assert_ne!(planned, text);
    let config = desk.path("planned.yaml");
    std::fs::write(&config, planned).unwrap();
    let words = ["--quiet", "--resume", &id];
    let words = interrupted_words(&desk, &mut desk.train_as(&config, "plan", &words), 2);
    assert!(!words.contains("--epochs"), "{words}");
    // The printed command is not refused.
    let mut command = desk.in_shell(&words);
    interrupted_words(&desk, &mut command, 3);
}

#[test]
fn an_interrupted_training_goes_on_as_if_it_had_not_been() {
    for (name, root) in [("-INT", "int"), ("-TERM", "term")] {
        let desk = Desk::new("ff_dropout");
        let config = desk.config_of_epochs(100_000);
        let id = {
            let text = std::fs::read_to_string(&config).unwrap();
            nnx::NNRun::from_yaml(&text).unwrap().id().to_owned()
        };
        let mut command = desk.train_as(&config, root, &["--quiet"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        wait_for_runs(&desk, root, 1);
        sleep(Duration::from_millis(50));
        signal(&child, name);
        let done = child.wait_with_output().unwrap();
        let told = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(130), "{told}");
        let printed = String::from_utf8(done.stdout).unwrap();
        assert!(
            printed.contains(&format!("files in {root}/runs/{id}")),
            "{printed}"
        );
        desk.check_sound(root, &id);

        // The message names a command to go on with; the test runs it for fewer epochs.
        let run = desk.run(root, &id);
        let epochs = run.epochs().len();
        let (_, words) = told.trim_end().split_once("go on with: nnx ").expect(&told);
        assert!(
            words.ends_with(&format!("--resume {id} --epochs {}", 100_000 - epochs)),
            "{words}"
        );
        let (words, _) = words.rsplit_once(' ').unwrap();
        // A shell reads it, as a person's does: the folder's name may have a space.
        let done = desk.nnx_in_shell(&format!("{words} 3 --json"));
        assert!(done.status.success(), "{words:?}: {done:?}");
        let said: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        let mut parts = losses(&run);
        parts.extend(losses(&desk.run(root, said["id"].as_str().unwrap())));

        let epochs = (epochs + 3).to_string();
        let whole = object(&mut desk.train("whole", &["--quiet", "--epochs", &epochs]));
        let whole = desk.run("whole", whole["id"].as_str().unwrap());
        assert_eq!(parts, losses(&whole));
    }
}

#[test]
fn json_says_that_a_training_was_interrupted() {
    let desk = Desk::new("ff_adam_default");
    let config = desk.config_of_epochs(100_000);
    let text = std::fs::read_to_string(&config).unwrap();
    let id = nnx::NNRun::from_yaml(&text).unwrap().id().to_owned();
    let mut command = desk.train_as(&config, "json", &["--quiet", "--json"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    wait_for_runs(&desk, "json", 1);
    signal(&child, "-INT");
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(130));
    let said: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(said["interrupted"], true);
    assert_eq!(said["stopped"], false);
    assert_eq!(said["epochs"], desk.run("json", &id).epochs().len());
}

/// Early stopping ends a training before its last epoch.
#[test]
fn a_training_without_improvement_is_stopped() {
    let desk = Desk::new("ff_early_stopping");
    let patience = ["--early-stopping", "2", "--quiet"];
    let said = object(&mut desk.train("early", &patience));
    assert_eq!(said["id"], desk.about["run_id"]);
    assert_eq!(said["stopped"], true);
    let epochs = desk.about["epochs"].as_array().unwrap().len();
    assert_eq!(said["epochs"], epochs);
}
