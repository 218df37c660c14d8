use std::io::Write;

use super::*;
use crate::ErrorKind;

type Opener = fn(&Path) -> Result<Source>;

const OPENERS: [Opener; 2] = [|path| Source::open(path), |path| Source::read(path)];

#[test]
fn both_ways_give_the_bytes() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for open in OPENERS {
        assert_eq!(open(file.path()).unwrap().bytes().len(), 0);
    }
    let content: Vec<u8> = (0..100_000u32).map(|i| i as u8).collect();
    file.write_all(&content).unwrap();
    for open in OPENERS {
        let bytes = open(file.path()).unwrap().into_bytes();
        assert!(bytes == content);
        // A slice outlives its source.
        let slice = bytes.slice(300..302);
        drop(bytes);
        assert_eq!(slice, [44, 45].as_slice());
    }
}

#[test]
fn a_map_outlives_the_name_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.pt");
    std::fs::write(&path, b"old").unwrap();
    let source = Source::open(&path).unwrap();
    crate::save_atomic(&path, |w| Ok(w.write_all(b"new and longer")?)).unwrap();
    assert_eq!(source.bytes(), "old");
}

#[test]
fn what_is_no_file_is_refused_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.pt");
    for open in OPENERS {
        let error = open(&missing).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotFound));
        assert_eq!(error.path(), Some(missing.as_path()));

        let error = open(folder.path()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Io(error)
                if error.kind() == io::ErrorKind::IsADirectory));
        assert_eq!(error.path(), Some(folder.path()));
    }
}

#[cfg(unix)]
#[test]
fn what_would_block_or_never_end_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for path in [Path::new("/dev/zero"), &socket] {
        for open in OPENERS {
            let error = open(path).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Unsupported { .. }));
        }
    }
}
