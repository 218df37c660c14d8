//! Trainings that are killed.

use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{Desk, losses, object};

/// Trainings that are killed, unless `NNX_TRAIN_KILLS` has another number.
const KILLS: u32 = 5;
/// The epochs of a training that is left alone.
const EPOCHS: usize = 8;

/// At any moment of a kill the run is whole, and goes on with the numbers of a training that was not
/// killed.
#[test]
fn a_killed_training_goes_on_as_if_it_had_not_been() {
    let kills = std::env::var("NNX_TRAIN_KILLS");
    let kills = kills.map_or(KILLS, |kills| kills.parse().unwrap());
    let desk = Desk::new("ff_dropout");
    let config = desk.config_of_epochs(EPOCHS);
    let begin = Instant::now();
    let whole = object(&mut desk.train_as(&config, "whole", &["--quiet"]));
    let usual = begin.elapsed();
    let id = whole["id"].as_str().unwrap();
    let whole = losses(&desk.run("whole", id));

    let (mut killed, mut resumed, mut turn) = (0, 0, 0);
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let folder = desk.path("killed/runs");
    while killed < kills {
        // Some end before the signal.
        turn += 1;
        assert!(
            turn <= 10 * kills,
            "only {killed} of {turn} were killed on the way"
        );
        // Xorshift: the moments differ from turn to turn and not from run to run.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let moment = usual.mul_f64((random >> 11) as f64 / (1_u64 << 53) as f64);
        let mut command = desk.train_as(&config, "killed", &["--quiet", "--overwrite"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        sleep(moment.max(Duration::from_millis(1)));
        child.kill().unwrap();
        killed += u32::from(!child.wait().unwrap().success());

        if !folder.join(id).join("run.yaml").exists() {
            // Nothing was saved; the next training with `--overwrite` takes the place.
            continue;
        }
        desk.check_sound("killed", id);
        let run = desk.run("killed", id);
        let epochs = run.epochs().len();
        let mut parts = losses(&run);
        assert_eq!(parts, whole[..parts.len()], "turn {turn}");
        if epochs == 0 || epochs == EPOCHS {
            continue;
        }
        let left = (EPOCHS - epochs).to_string();
        let with = ["--quiet", "--resume", id, "--epochs", &left, "--overwrite"];
        let second = object(&mut desk.train_as(&config, "killed", &with));
        let second = second["id"].as_str().unwrap();
        parts.extend(losses(&desk.run("killed", second)));
        assert_eq!(parts, whole, "turn {turn}: after {epochs} epochs");
        desk.check_sound("killed", second);
        resumed += 1;
    }
    println!("{turn} trainings, {killed} killed on the way, {resumed} resumed");
    assert!(
        resumed > 0,
        "no training was killed between its first epoch and its last"
    );
}
