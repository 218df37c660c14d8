//! Files that change between the moment they are hashed and the moment they are sent.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nnx_hub::{Request, Response, Transport, TransportError, UploadOptions};

use super::super::desk::{Desk, REPO, Server, direct, repo};
use super::Outcome::Error;
use super::{check_told, name};

/// A transport that does something once it is asked where large files go.
struct Meddling {
    inner: Arc<dyn Transport>,
    meddle: Box<dyn Fn() + Send + Sync>,
}

impl Transport for Meddling {
    fn send(&self, request: Request<'_>) -> Result<Response, TransportError> {
        if request.url.ends_with("/objects/batch") {
            (self.meddle)();
        }
        self.inner.send(request)
    }
}

/// Pushes a large file that changes on the way: nothing is committed.
#[track_caller]
fn check(parts: Option<usize>, meddle: fn(&Path)) -> &'static str {
    let mut kinds = Vec::new();
    for desk in [Desk::in_memory(), Desk::on_loopback()] {
        desk.state().seed(REPO, &[("a", b"1")]);
        if let Some(bytes) = parts {
            desk.state().set_part_bytes(bytes);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.bin");
        fs::write(&path, vec![1; 300_000]).unwrap();
        let inner: Arc<dyn Transport> = match &desk.server {
            Server::Memory(transport) => Arc::new(transport.clone()),
            Server::Loopback(_) => Arc::new(direct(Duration::from_secs(5))),
        };
        let changed = path.clone();
        let meddling = Meddling {
            inner,
            meddle: Box::new(move || meddle(&changed)),
        };
        let hub = desk.over(Arc::new(meddling));
        let options = UploadOptions::default();
        let error = hub
            .upload_folder(folder.path(), &repo(), &options)
            .unwrap_err();
        assert!(error.to_string().contains("w.bin"), "{error}");
        kinds.push(name(error.kind()));
        assert_eq!(desk.state().commits(REPO).len(), 2);
    }
    assert_eq!(kinds[0], kinds[1]);
    kinds[0]
}

#[test]
fn a_file_that_changes_is_not_committed() {
    let rewrite = |path: &Path| {
        let mut bytes = fs::read(path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(path, bytes).unwrap();
    };
    for parts in [None, Some(100_000), Some(99_999)] {
        let kind = check(parts, |path| fs::write(path, [1; 100]).unwrap());
        assert_eq!(kind, "changed", "it shrank");
        let kind = check(parts, |path| fs::write(path, vec![2; 300_001]).unwrap());
        assert_eq!(kind, "changed", "it grew");
        let kind = check(parts, rewrite);
        assert_eq!(kind, "changed", "it has other bytes");
    }
    check_told("a file changes while it is sent", Error("changed"));
}
