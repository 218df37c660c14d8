//! Telling which checkpoint a folder has.

use std::collections::BTreeMap;
use std::path::Path;

use nnx_checkpoint::{
    CheckpointReader, ConvertOptions, Dtype, LocalFolder, OpenOptions, Share, Tensor, convert,
    safetensors,
};

use super::root;

fn write(path: &Path, metadata: Option<&BTreeMap<String, String>>) {
    let tensor = Tensor::from_bytes(Dtype::UInt8, &[2], vec![1, 2]).unwrap();
    let mut file = std::fs::File::create(path).unwrap();
    let metadata = metadata.map(|metadata| metadata.clone().into_iter().collect());
    safetensors::write(&mut file, &[("w", &tensor)], metadata.as_ref()).unwrap();
}

#[test]
fn pieces_that_are_not_on_the_disk_are_refused() {
    for name in ["hf_piece_alone", "hf_pieces_with_index"] {
        let folder = LocalFolder::new(root().join("edges").join(name), true);
        let opened = CheckpointReader::open_in(&folder, None, &OpenOptions::default());
        let error = opened.unwrap_err();
        assert_eq!(error.name(), "unsupported", "{name}: {error}");
        assert!(error.to_string().contains("several processes"), "{error}");
    }
}

#[test]
fn whole_tensors_that_say_where_they_begin_stay_files_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let info = r#"{"w": {"saved_offsets": [0]}}"#.to_owned();
    let metadata = BTreeMap::from([("DCP_SHARDING_INFO".to_owned(), info)]);
    write(&folder.path().join("model.safetensors"), Some(&metadata));
    let local = LocalFolder::new(folder.path(), true);
    let reader = CheckpointReader::open_in(&local, None, &OpenOptions::default()).unwrap();
    assert_eq!(reader.tensors()[0].shape(), [2]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_listed_is_passed_over() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("model.safetensors"), None);
    // Listing fails for whoever asks, while the name is one of a folder.
    let locked = folder.path().join("locked");
    std::fs::create_dir(&locked).unwrap();
    symlink(&locked, folder.path().join("link")).unwrap();
    let mut permissions = std::fs::metadata(&locked).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o000);
    std::fs::set_permissions(&locked, permissions.clone()).unwrap();
    let opened = CheckpointReader::open(folder.path());
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o700);
    std::fs::set_permissions(&locked, permissions).unwrap();
    assert_eq!(opened.unwrap().tensors().len(), 1);
}

#[test]
fn a_dry_run_of_the_index_looks_for_the_shards() {
    let folder = tempfile::tempdir().unwrap();
    let source = root().join("fsdp/lightning_w2");
    let target = folder.path().join("out");
    std::fs::create_dir(&target).unwrap();
    let options = ConvertOptions::default()
        .max_shard_size(200)
        .share(Share::Index)
        .dry_run(true)
        .drop_non_tensors(true);
    let error = convert(&source, &target, &options).unwrap_err();
    assert_eq!(error.name(), "missing_shard", "{error}");
}
