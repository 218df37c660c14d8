//! Caches on disks that lack something, or where others have made some of the files: the calls that
//! fail there are made to fail here by a library that is loaded before the system's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::{Desk, REPO};

/// Calls fail with the numbers of errors that variables name.
const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
static int fails(const char *name) {
    const char *number = getenv(name);
    if (!number) return 0;
    errno = atoi(number);
    return 1;
}
int symlink(const char *to, const char *at) {
    int (*next)(const char *, const char *) = dlsym(RTLD_NEXT, "symlink");
    return fails("FAIL_SYMLINK") ? -1 : next(to, at);
}
int link(const char *to, const char *at) {
    int (*next)(const char *, const char *) = dlsym(RTLD_NEXT, "link");
    return fails("FAIL_LINK") ? -1 : next(to, at);
}
int linkat(int a, const char *to, int b, const char *at, int flags) {
    int (*next)(int, const char *, int, const char *, int) = dlsym(RTLD_NEXT, "linkat");
    return fails("FAIL_LINK") ? -1 : next(a, to, b, at, flags);
}
int flock(int file, int what) {
    int (*next)(int, int) = dlsym(RTLD_NEXT, "flock");
    return fails("FAIL_FLOCK") ? -1 : next(file, what);
}
static int is_lock(const char *path) {
    size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".lock") == 0;
}
int open64(const char *path, int flags, ...) {
    int (*next)(const char *, int, ...) = dlsym(RTLD_NEXT, "open64");
    va_list rest;
    va_start(rest, flags);
    int mode = va_arg(rest, int);
    va_end(rest);
    if (is_lock(path) && (flags & O_ACCMODE) != O_RDONLY && fails("FAIL_LOCK_FILE")) return -1;
    return next(path, flags, mode);
}
"#;

/// The library, where the command starts: a path in the variable that loads it may have no spaces.
const LIBRARY: &str = "./fail.so";

/// Builds the library by the compiler that links Rust's programs.
fn build_library(folder: &Path) {
    fs::write(folder.join("fail.c"), SOURCE).expect("a new file");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o", LIBRARY, "fail.c", "-ldl"])
        .current_dir(folder)
        .output()
        .expect("a C compiler, which links Rust's programs as well");
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{said}");
}

fn pull(desk: &Desk, failing: &[(&str, i32)], words: &[&str]) -> Output {
    let mut command = desk.command(&[&["pull", REPO, "--json"], words].concat());
    command.env("LD_PRELOAD", LIBRARY);
    for (name, number) in failing {
        command.env(name, number.to_string());
    }
    command.output().expect("the command runs")
}

/// The folder that was pulled, which has the files.
#[track_caller]
fn check_pulled(output: &Output) -> PathBuf {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let folder = PathBuf::from(told["path"].as_str().expect("a path"));
    let read = |name: &str| fs::read(folder.join(name)).expect(name);
    assert_eq!(read("model.safetensors"), vec![b'w'; 1000]);
    assert_eq!(read("config.json"), b"{}");
    folder
}

fn desk() -> Desk {
    let desk = Desk::new();
    let weights = vec![b'w'; 1000];
    desk.hub.seed(
        REPO,
        &[("config.json", b"{}"), ("model.safetensors", &weights)],
    );
    build_library(desk.home.path());
    desk
}

const EPERM: i32 = 1;
const EBADF: i32 = 9;
const EACCES: i32 = 13;
const EROFS: i32 = 30;
const ENOLCK: i32 = 37;
const ENOSYS: i32 = 38;
const EOPNOTSUPP: i32 = 95;

/// exFAT, SMB and some FUSE: no symbolic links, and often no second names of a file either.
#[test]
fn files_arrive_on_disks_without_links() {
    for number in [EPERM, EOPNOTSUPP, ENOSYS, EACCES] {
        for has_hard_links in [true, false] {
            let desk = desk();
            let all = [("FAIL_SYMLINK", number), ("FAIL_LINK", number)];
            let failing = if has_hard_links { &all[..1] } else { &all };
            let folder = check_pulled(&pull(&desk, failing, &[]));
            assert!(!folder.join("model.safetensors").is_symlink(), "{number}");
            // A file is on the disk once.
            let blobs = desk.home.path().join("hf/hub/models--acme--model/blobs");
            let blobs = fs::read_dir(blobs).expect("a folder").count();
            assert_eq!(blobs, if has_hard_links { 3 } else { 0 }, "{number}");
            // It is downloaded once, and found without the network.
            desk.hub.calm();
            check_pulled(&pull(&desk, failing, &[]));
            let mut seen = desk.hub.seen().into_iter();
            assert!(
                seen.all(|seen| !seen.target.contains("/resolve/")),
                "{number}"
            );
            check_pulled(&pull(&desk, failing, &["--offline"]));
            // A new version is one.
            desk.hub.seed(REPO, &[("README.md", b"new")]);
            check_pulled(&pull(
                &desk,
                failing,
                &["--include", "*.json", "*.safetensors"],
            ));
        }
    }
}

/// NFS without its lock daemon, FUSE, read-only and foreign folders.
#[test]
fn files_arrive_on_disks_without_locks() {
    for failing in [
        ("FAIL_FLOCK", ENOLCK),
        ("FAIL_FLOCK", ENOSYS),
        ("FAIL_FLOCK", EOPNOTSUPP),
        ("FAIL_FLOCK", EBADF),
        ("FAIL_LOCK_FILE", EROFS),
        ("FAIL_LOCK_FILE", EACCES),
    ] {
        let desk = desk();
        let output = pull(&desk, &[failing], &[]);
        check_pulled(&output);
        let said = String::from_utf8_lossy(&output.stderr);
        let told = said.matches("cannot be locked").count();
        assert_eq!(told, 1, "{failing:?}: {said}");
    }
}

/// Other errors of a lock are errors.
#[test]
fn a_lock_that_fails_for_another_reason_is_told() {
    const EIO: i32 = 5;
    let desk = desk();
    let output = pull(&desk, &[("FAIL_FLOCK", EIO)], &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(".lock"), "{said}");
}

/// Another user's lock file can be read, not written, and locked all the same.
#[test]
fn a_lock_file_of_another_user_keeps_nobody_out() {
    let desk = desk();
    check_pulled(&pull(&desk, &[], &[]));
    let output = pull(&desk, &[("FAIL_LOCK_FILE", EACCES)], &["--force"]);
    check_pulled(&output);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("cannot be locked"), "{said}");
}
