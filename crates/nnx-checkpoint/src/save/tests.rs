use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::{Error, ErrorKind};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_failed_save_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("last.pt");
    fs::write(&path, b"old").unwrap();

    let error = save_atomic(&path, |w| {
        w.write_all(&[0; 1 << 20])?;
        Err(Error::malformed("no more"))
    })
    .unwrap_err();
    assert_eq!(error.path(), Some(path.as_path()));
    assert!(error.to_string().starts_with("no more"));
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["last.pt"]);

    let outcome = catch_unwind(AssertUnwindSafe(|| {
        save_atomic(&path, |w| {
            w.write_all(&[0; 1 << 20])?;
            panic!("on purpose");
        })
    }));
    assert!(outcome.is_err());
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["last.pt"]);
}

#[test]
fn the_temporary_is_beside_the_target_and_named_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("last.pt");
    save_atomic(&path, |w| {
        w.write_all(b"new")?;
        let [name] = <[String; 1]>::try_from(names(folder.path())).unwrap();
        assert!(name.starts_with(".last.pt."), "{name}");
        Ok(())
    })
    .unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(names(folder.path()), ["last.pt"]);
}

#[test]
fn a_new_file_has_the_mode_of_any_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, saved) = (folder.path().join("plain"), folder.path().join("saved"));
    fs::write(&plain, b"").unwrap();
    save_atomic(&saved, |_| Ok(())).unwrap();
    assert_eq!(mode(&saved), mode(&plain));
}

#[test]
fn a_replaced_file_hands_its_mode_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("last.pt");
    for kept in [0o600, 0o640, 0o666, 0o444] {
        fs::write(&path, b"old").unwrap();
        set_mode(&path, kept);
        save_atomic(&path, |w| Ok(w.write_all(b"new")?)).unwrap();
        assert_eq!(
            (mode(&path), fs::read(&path).unwrap()),
            (kept, b"new".to_vec())
        );
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_link_stays_and_its_target_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("real");
    fs::create_dir(&real).unwrap();
    let link = folder.path().join("best.pt");
    symlink("real/last.pt", &link).unwrap();
    // At first it leads to nothing.
    for content in ["new", "newer"] {
        save_atomic(&link, |w| Ok(w.write_all(content.as_bytes())?)).unwrap();
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("real/last.pt"));
        assert_eq!(fs::read(real.join("last.pt")).unwrap(), content.as_bytes());
        assert_eq!(names(&real), ["last.pt"]);
        assert_eq!(names(folder.path()), ["best.pt", "real"]);
    }

    let circle = folder.path().join("circle");
    symlink("circle", &circle).unwrap();
    assert!(save_atomic(&circle, |_| Ok(())).is_err());
}

#[test]
fn missing_folders_are_created() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs/a/checkpoints/last.pt");
    save_atomic(&path, |w| Ok(w.write_all(b"new")?)).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn a_name_of_any_length_has_room() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["x".repeat(255), "网".repeat(85)] {
        let path = folder.path().join(name);
        save_atomic(&path, |w| Ok(w.write_all(b"new")?)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }
}

#[test]
fn what_is_no_file_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path(), Path::new("/"), &folder.path().join("..")] {
        let error = save_atomic(path, |_| Ok(())).unwrap_err();
        assert_eq!(error.path(), Some(path));
    }
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let error = save_atomic(&socket, |_| Ok(())).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unsupported { .. }));
    assert_eq!(names(folder.path()), ["socket"]);

    let below_a_file = tempfile::NamedTempFile::new().unwrap();
    assert!(save_atomic(below_a_file.path().join("last.pt"), |_| Ok(())).is_err());
}
