//! Runs that are looked at while they are trained.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Desk;

#[test]
fn a_run_is_shown_and_drawn_while_it_is_trained() {
    let desk = Desk::new("ff_adam_default");
    let config = desk.config_of_epochs(100_000);
    let text = std::fs::read_to_string(&config).unwrap();
    let id = nnx::NNRun::from_yaml(&text).unwrap().id().to_owned();
    let mut command = desk.train_as(&config, "watched", &["--quiet"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let last = desk
        .path("watched/runs")
        .join(&id)
        .join("checkpoints/last.pt.manifest.json");
    let begin = Instant::now();
    while !last.exists() {
        assert!(
            begin.elapsed() < Duration::from_secs(120),
            "no epoch was saved"
        );
        sleep(Duration::from_millis(2));
    }
    // The environment limits the threads of candle.
    #[cfg(target_os = "linux")]
    {
        let environment = std::fs::read(format!("/proc/{}/environ", child.id())).unwrap();
        let mut variables = environment.split(|byte| *byte == 0);
        assert!(variables.any(|variable| variable == b"RAYON_NUM_THREADS=1"));
    }
    let mut seen = Vec::new();
    for turn in 0..10 {
        let shown = desk.nnx(&["runs", "show", &id, "--root", "watched", "--json"]);
        let told = String::from_utf8_lossy(&shown.stderr);
        assert!(shown.status.success(), "turn {turn}: {told}");
        let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
        seen.push(shown["epochs"].as_array().unwrap().len());
        let plot = [
            "runs",
            "plot",
            &id,
            "--root",
            "watched",
            "-o",
            "chart.svg",
            "--overwrite",
        ];
        let plot = desk.nnx(&plot);
        let told = String::from_utf8_lossy(&plot.stderr);
        assert!(plot.status.success(), "turn {turn}: {told}");
        assert!(child.try_wait().unwrap().is_none(), "the training ended");
    }
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(seen.is_sorted() && seen.first() < seen.last(), "{seen:?}");
}
