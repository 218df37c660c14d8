//! Golden files: the first line is a command for the shell, then follow its exit status, its
//! standard output and its standard error. `NNX_BLESS=1` writes them anew.
//!
//! The command runs among the fixtures of the workspace, with `nnx` on its path; `$DIR` is an
//! empty folder of its own.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Fewer would mean that files were lost.
const LEAST_FILES: usize = 80;

#[test]
fn the_command_prints_what_the_golden_files_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the golden files")
        .map(|entry| entry.expect("a golden file").path())
        .collect();
    files.retain(|file| is_of_this_build(file));
    files.sort();
    assert!(files.len() >= LEAST_FILES, "{} golden files", files.len());
    let failed: Vec<String> = files.iter().filter_map(|file| judge(file)).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Whether the build has the feature that a file's command needs.
fn is_of_this_build(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let begins = |commands: &[&str]| commands.iter().any(|command| name.starts_with(command));
    let is_missing = [
        (
            cfg!(feature = "net"),
            begins(&["predict", "evaluate", "generate", "summary", "run_", "card"]),
        ),
        (cfg!(feature = "run"), begins(&["run_"])),
        (cfg!(feature = "train"), begins(&["train_"])),
        // `runs_` begins the names of the files of `nnx runs`, charts included.
        (cfg!(feature = "png"), begins(&["runs_"])),
        (
            cfg!(feature = "hub"),
            begins(&["push", "pull", "card", "inspect_hub"]),
        ),
    ];
    is_missing
        .iter()
        .all(|(is_built, is_needed)| *is_built || !is_needed)
}

/// The difference between a golden file and the output of its command.
fn judge(file: &Path) -> Option<String> {
    let expected = fs::read_to_string(file).expect("a golden file is UTF-8");
    let command = expected.lines().next().expect("a golden file has a line");
    let found = run(command);
    if found == expected {
        return None;
    }
    if env::var_os("NNX_BLESS").is_some() {
        fs::write(file, found).expect("a golden file can be written");
        return None;
    }
    let name = file.display();
    Some(format!(
        "{name}\n--- expected\n{expected}\n--- found\n{found}"
    ))
}

fn run(command: &str) -> String {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let binary = Path::new(env!("CARGO_BIN_EXE_nnx"));
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut path = binary.parent().expect("a folder").as_os_str().to_owned();
    if let Some(rest) = env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    let mut shell = Command::new("sh");
    // The path in `$DIR` may have spaces; a shell does not take them for ends of words then.
    shell.args(["-c", &format!("IFS=; {command}")]);
    shell.current_dir(manifest.join("../../tests/fixtures"));
    for name in ["CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "NO_COLOR"] {
        shell.env_remove(name);
    }
    shell.env("PATH", path).env("DIR", dir.path());
    shell.env("TERM", "xterm-256color").env("LC_ALL", "C");
    let done = shell.stdin(Stdio::null()).output().expect("a shell");
    let dir = dir.path().to_string_lossy();
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).replace(&*dir, "$DIR");
        if text.is_empty() || text.ends_with('\n') {
            text
        } else {
            text + "\n(no newline)\n"
        }
    };
    let status = done.status.code().expect("an exit status");
    let (stdout, stderr) = (text(&done.stdout), text(&done.stderr));
    format!("{command}\nexit status: {status}\n--- stdout\n{stdout}--- stderr\n{stderr}")
}
