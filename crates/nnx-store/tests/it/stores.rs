//! Folders of a store: listed, converted from and to.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use nnx_checkpoint::{
    CheckpointReader, ConvertOptions, ErrorKind, Folder, OpenOptions, Share, TargetFolder, Worker,
    convert_between,
};
use nnx_store::StoreFolder;
use nnx_store::object_store::memory::InMemory;

use crate::faults::torch_file;

fn folder(client: &Arc<InMemory>, prefix: &str) -> StoreFolder {
    StoreFolder::from_client(Arc::clone(client) as _, "memory://", prefix)
}

fn put(folder: &StoreFolder, name: &str, bytes: &[u8]) {
    let mut file = folder.create(name, bytes.len() as u64).unwrap();
    file.write_all(bytes).unwrap();
    file.sync().unwrap();
    file.complete(true).unwrap();
}

/// The objects of a folder.
fn objects(folder: &StoreFolder) -> BTreeMap<String, Vec<u8>> {
    let names = folder.entries().unwrap().files.into_iter();
    names
        .map(|name| {
            let bytes = folder.open(&name).unwrap().bytes().unwrap().to_vec();
            (name, bytes)
        })
        .collect()
}

fn convert(
    source: (&StoreFolder, Option<&str>),
    target: (&StoreFolder, Option<&str>),
    options: &ConvertOptions,
) -> nnx_checkpoint::Result<nnx_checkpoint::Conversion> {
    convert_between(
        (source.0, source.1),
        (target.0, target.1),
        options,
        &mut |_| ControlFlow::Continue(()),
    )
}

/// A store with a PyTorch file in the folder `source`.
fn store() -> (Arc<InMemory>, StoreFolder) {
    let client = Arc::new(InMemory::new());
    let source = folder(&client, "source");
    put(&source, "model.pt", &torch_file());
    (client, source)
}

#[test]
fn a_conversion_from_store_to_store() {
    let (client, source) = store();
    let target = folder(&client, "target/below");
    let options = ConvertOptions::default();
    let done = convert((&source, Some("model.pt")), (&target, None), &options).unwrap();
    assert_eq!(done.tensors, 2);
    assert_eq!(
        done.files[0].0.to_string_lossy(),
        "memory:/target/below/model.safetensors"
    );
    let reader = CheckpointReader::open_in(&target, None, &OpenOptions::default()).unwrap();
    let tensor = reader.tensor("layer.1").unwrap();
    let bytes = tensor.to_bytes().unwrap();
    assert!(bytes.iter().all(|byte| *byte == 2));
    // There is a target now.
    let error = convert((&source, Some("model.pt")), (&target, None), &options).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::TargetExists), "{error}");
    let path = error.path().unwrap().to_string_lossy().into_owned();
    assert!(path.ends_with("target/below/model.safetensors"), "{path}");
    let options = options.overwrite(true);
    convert((&source, Some("model.pt")), (&target, None), &options).unwrap();
}

#[test]
fn workers_share_a_conversion_in_a_store() {
    let (client, source) = store();
    let options = ConvertOptions::default().max_shard_size(1 << 20);
    let alone = folder(&client, "alone");
    convert((&source, Some("model.pt")), (&alone, None), &options).unwrap();
    let expected = objects(&alone);
    assert_eq!(expected.len(), 3);

    let shared = folder(&client, "shared");
    let share = |share: Share| {
        let options = options.clone().share(share);
        convert((&source, Some("model.pt")), (&shared, None), &options)
    };
    let worker = |number| share(Share::Worker(Worker::new(number, 2).unwrap()));
    worker(1).unwrap();
    let error = share(Share::Index).unwrap_err().to_string();
    assert!(
        error.contains("`model-00001-of-00002.safetensors`"),
        "{error}"
    );
    worker(0).unwrap();
    worker(0).unwrap();
    share(Share::Index).unwrap();
    assert!(objects(&shared) == expected);
    // Shards by their index, in a folder of a store.
    let reader = CheckpointReader::open_in(&shared, None, &OpenOptions::default()).unwrap();
    assert_eq!(reader.tensors().len(), 2);
}

#[test]
fn an_upload_that_is_given_up_leaves_nothing() {
    let (client, source) = store();
    let target = folder(&client, "target");
    for len in [100, 20 << 20] {
        let mut file = target.create("a.bin", len).unwrap();
        file.write_all(&vec![1; usize::try_from(len).unwrap()])
            .unwrap();
        drop(file);
        assert!(objects(&target).is_empty());
    }
    // A conversion that is stopped in the middle.
    let stopped = convert_between(
        (&source, Some("model.pt")),
        (&target, Some("m.safetensors")),
        &ConvertOptions::default(),
        &mut |progress| {
            if progress.done > 1 << 20 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        },
    );
    assert!(matches!(
        stopped.unwrap_err().kind(),
        ErrorKind::Interrupted
    ));
    assert!(objects(&target).is_empty());
}

#[test]
fn a_large_object_is_put_together_of_parts() {
    let client = Arc::new(InMemory::new());
    let target = folder(&client, "");
    let bytes: Vec<u8> = (0..(20 << 20) + 5)
        .map(|at: u32| (at % 253) as u8)
        .collect();
    put(&target, "large", &bytes);
    let read = target.open("large").unwrap();
    assert!(read.bytes().unwrap() == bytes);
    assert_eq!(
        read.slice(9 << 20, 3).unwrap().bytes().unwrap(),
        bytes[9 << 20..][..3]
    );
    // Fewer bytes than were announced are no object.
    let mut file = target.create("short", 10).unwrap();
    file.write_all(b"12345").unwrap();
    assert!(file.sync().is_err());
    drop(file);
    assert!(!target.has_file("short").unwrap());
}

#[test]
fn an_object_is_the_new_one_as_soon_as_it_is_complete() {
    let client = Arc::new(InMemory::new());
    let target = folder(&client, "");
    for len in [3, 9 << 20] {
        put(&target, "x", b"old");
        let mut file = target.create("x", len).unwrap();
        file.write_all(&vec![1; usize::try_from(len).unwrap()])
            .unwrap();
        // The folder keeps the object that was opened last.
        assert_eq!(target.open("x").unwrap().bytes().unwrap(), "old");
        file.complete(true).unwrap();
        assert_eq!(target.open("x").unwrap().byte_len(), len);
        let bytes = target.open("x").unwrap().bytes().unwrap();
        assert!(bytes.iter().all(|byte| *byte == 1));
    }
}

#[test]
fn an_object_that_no_store_takes_is_refused() {
    let target = folder(&Arc::new(InMemory::new()), "");
    assert!(target.create("x", 5 << 40).is_ok());
    let error = target.create("x", (5 << 40) + 1).unwrap_err().to_string();
    assert!(error.contains("5497558138880"), "{error}");
}

#[test]
fn an_object_that_is_there_is_not_replaced_unless_it_may_be() {
    let client = Arc::new(InMemory::new());
    let target = folder(&client, "a/b");
    for len in [3, 9 << 20] {
        put(&target, "x", &vec![1; len]);
        let mut file = target.create("x", 3).unwrap();
        file.write_all(b"new").unwrap();
        let error = file.complete(false).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TargetExists));
        assert_eq!(target.open("x").unwrap().byte_len(), len as u64);
    }
    target.remove("x").unwrap();
    target.remove("x").unwrap();
    assert!(!target.has_file("x").unwrap());
    put(&target, "c/d", b"1");
    let entries = target.entries().unwrap();
    assert_eq!(
        (entries.files.len(), entries.folders),
        (0, vec!["c".to_owned()])
    );
}
