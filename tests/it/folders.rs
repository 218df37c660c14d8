//! Folders in which no file has a standard name: the checkpoint that is chosen, and the error if
//! there is none. Also tensors of classes that only a part of PyTorch knows.

use std::fs;
use std::path::Path;

use nnx_checkpoint::{
    CheckpointReader, ConvertOptions, Error, Format, OpenOptions, SharedTensors, convert,
};
use nnx_tests::{Json, fixtures_dir};

use crate::cases::judge::{judge, read};

fn case(path: &str) -> std::path::PathBuf {
    fixtures_dir().join("cases").join(path)
}

/// A folder with copies of files under new names, and files without contents.
fn folder(copies: &[(&str, &str)], names: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (from, to) in copies {
        fs::copy(case(from), folder.path().join(to)).unwrap();
    }
    for name in names {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    folder
}

#[track_caller]
fn refused(folder: &Path) -> Error {
    CheckpointReader::open(folder).expect_err("no checkpoint")
}

const FIRST: &str = "E51_shards_without_index/m/pytorch_model-00001-of-00002.bin";
const SECOND: &str = "E51_shards_without_index/m/pytorch_model-00002-of-00002.bin";
const PLAIN: &str = "E16_consolidated_folder/mistral/consolidated.safetensors";

#[test]
fn shards_that_count_themselves_are_one_checkpoint() {
    let reader = CheckpointReader::open(case("E51_shards_without_index/m")).unwrap();
    assert_eq!(reader.format(), Format::ShardedTorch);
    let names: Vec<&str> = reader.tensors().iter().map(|entry| entry.name()).collect();
    assert_eq!(names, ["a.weight", "b.weight"]);
    assert!(reader.notes().iter().any(|note| note.contains("no index")));
    // One of them is a file like any other.
    let reader = CheckpointReader::open(case(FIRST)).unwrap();
    assert_eq!(reader.tensors().len(), 1);

    let folder = folder(
        &[
            (FIRST, "m-00001-of-00004.bin"),
            (SECOND, "m-00003-of-00004.bin"),
        ],
        &[],
    );
    let error = refused(folder.path());
    assert_eq!(error.kind().name(), "missing_shard");
    let text = error.to_string();
    assert!(
        text.contains("`m-00002-of-00004.bin`, `m-00004-of-00004.bin`"),
        "{text}"
    );
}

/// Two shards with a tensor of one name are no halves of one checkpoint.
#[test]
fn shards_that_hold_one_name_twice_are_refused() {
    let folder = folder(&[(FIRST, "m-1-of-2.bin"), (FIRST, "m-2-of-2.bin")], &[]);
    assert_eq!(refused(folder.path()).kind().name(), "name_collision");
}

#[test]
fn the_only_variant_is_the_checkpoint() {
    for name in [
        "model.fp16.safetensors",
        "diffusion_pytorch_model.fp16.safetensors",
    ] {
        let folder = folder(&[(PLAIN, name)], &["config.json"]);
        let reader = CheckpointReader::open(folder.path()).unwrap();
        assert_eq!(reader.tensors().len(), 2);
        assert!(reader.notes().iter().any(|note| note.contains("`fp16`")));
    }
    let two = folder(
        &[
            (PLAIN, "model.fp16.safetensors"),
            (PLAIN, "model.bf16.safetensors"),
        ],
        &[],
    );
    let text = refused(two.path()).to_string();
    assert!(
        text.contains("`model.bf16.safetensors`, `model.fp16.safetensors`"),
        "{text}"
    );
    // The file without a variant comes first, as in every library.
    let plain = folder(
        &[
            (PLAIN, "model.safetensors"),
            (FIRST, "model.fp16.safetensors"),
        ],
        &[],
    );
    assert_eq!(
        CheckpointReader::open(plain.path())
            .unwrap()
            .tensors()
            .len(),
        2
    );
}

/// The spelling of transformers, of which each library writes one.
#[test]
fn the_index_of_the_only_variant_is_found() {
    for index in [
        "model.safetensors.index.fp16.json",
        "model.fp16.safetensors.index.json",
    ] {
        let folder = folder(&[(PLAIN, "model.fp16-00001-of-00001.safetensors")], &[]);
        let map = r#"{"weight_map": {"norm.weight": "model.fp16-00001-of-00001.safetensors"}}"#;
        fs::write(folder.path().join(index), map).unwrap();
        let reader = CheckpointReader::open(folder.path()).unwrap();
        assert_eq!(reader.tensors().len(), 1, "{index}");
    }
}

#[test]
fn parts_of_a_split_model_are_named() {
    let llama = "E16_consolidated_folder/llama/consolidated.00.pth";
    let two = folder(
        &[
            (llama, "consolidated.00.pth"),
            (llama, "consolidated.01.pth"),
        ],
        &[],
    );
    let error = refused(two.path());
    assert_eq!(error.kind().name(), "unsupported");
    assert!(
        error.to_string().contains("`consolidated.01.pth`"),
        "{error}"
    );
}

/// Folders that several processes wrote and that only other tools can join, and those that broke off.
#[test]
fn distributed_checkpoints_are_named_with_what_to_do() {
    for (names, kind, words) in [
        (&["__0_0.distcp"][..], "no_metadata", "the save broke off"),
        (&["__1.metadata", "__1_0.distcp"], "missing_rank", "rank 0"),
        (
            &["global_step2/x.txt", "latest"],
            "path_traversal",
            "the name of a folder",
        ),
        (
            &[
                "latest_checkpointed_iteration.txt",
                "iter_0000100/mp_rank_00/model_optim_rng.pt",
            ],
            "not_joined",
            "Megatron",
        ),
        (
            &[".snapshot_metadata", "0/x"],
            "not_joined",
            "torchsnapshot",
        ),
        (&[".zarray", "0.0"], "not_joined", "zarr"),
        (&["_METADATA", "d/x"], "not_joined", "Orbax"),
        (&["a/.metadata", "b/.metadata"], "choose_folder", "`a`, `b`"),
    ] {
        let folder = folder(&[], names);
        let error = refused(folder.path());
        assert_eq!(error.kind().name(), kind, "{names:?}: {error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn a_folder_without_weights_tells_what_may_be_meant() {
    for (names, words) in [
        (
            &["saved_model.pb", "variables/variables.index"][..],
            "TensorFlow SavedModel",
        ),
        (
            &["epoch=3.ckpt", "hparams.yaml"],
            "`epoch=3.ckpt`; open the file itself",
        ),
        (
            &[
                "model_index.json",
                "unet/model.safetensors",
                "vae/model.safetensors",
            ],
            "`unet`, `vae`",
        ),
        (&["config.json"], "standard name"),
    ] {
        let folder = folder(&[], names);
        let error = refused(folder.path());
        assert_eq!(error.kind().name(), "not_a_checkpoint", "{names:?}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

/// The index of our own shards does not list the second names of tied tensors; its metadata does.
#[test]
fn aliases_of_shards_are_not_passed_over() {
    let target = tempfile::tempdir().unwrap();
    let options = ConvertOptions::default()
        .tied(SharedTensors::Aliased)
        .max_shard_size(10);
    let source = case("C01_tied_weights/tied.pt");
    convert(source, target.path(), &options).unwrap();
    let reader = CheckpointReader::open(target.path()).unwrap();
    assert_eq!(reader.format(), Format::ShardedSafeTensors);
    assert!(
        reader
            .notes()
            .iter()
            .any(|note| note.contains("second name"))
    );
    let passed_over = |note: &String| note.contains("does not take");
    assert!(
        !reader.notes().iter().any(passed_over),
        "{:?}",
        reader.notes()
    );
}

/// A tensor of torchao is listed, and converted, by its parts.
#[test]
fn a_tensor_of_another_class_is_flattened() {
    let source = case("E09_torchao_int8/pytorch_model.bin");
    let reader = CheckpointReader::open(&source).unwrap();
    let names: Vec<&str> = reader.tensors().iter().map(|entry| entry.name()).collect();
    assert_eq!(
        names,
        [
            "0.weight.qdata",
            "0.weight.scale",
            "0.weight.zero_point",
            "0.bias",
            "2.weight.qdata",
            "2.weight.scale",
            "2.weight.zero_point",
            "2.bias",
        ]
    );
    let target = tempfile::tempdir().unwrap();
    for file in ["out.safetensors", "out.pt"] {
        let path = target.path().join(file);
        // `--drop-non-tensors` makes a plain dict of both.
        let options = ConvertOptions::default();
        if file == "out.safetensors" {
            let text = convert(&source, &path, &options).unwrap_err().to_string();
            assert!(text.contains("`torchao.quantization.Int8Tensor`"), "{text}");
        }
        let done = convert(&source, &path, &options.drop_non_tensors(true)).unwrap();
        assert_eq!(done.tensors, names.len());
        let notes = done.notes.join("\n");
        assert!(
            notes.contains("`0.weight`, `2.weight`: the class has no place"),
            "{notes}"
        );
        let back = CheckpointReader::open(&path).unwrap();
        for entry in reader.tensors() {
            let (one, other) = (reader.tensor(entry.name()), back.tensor(entry.name()));
            assert_eq!(
                one.unwrap().to_vec().unwrap(),
                other.unwrap().to_vec().unwrap()
            );
        }
    }
    // A PyTorch file that stays one keeps the class.
    let path = target.path().join("whole.pt");
    convert(&source, &path, &ConvertOptions::default()).unwrap();
    let back = CheckpointReader::open(&path).unwrap();
    assert_eq!(back.non_tensors().len(), reader.non_tensors().len());
    // A plain dict has the parts, and not the class beside them.
    let path = target.path().join("flat.pt");
    convert(
        &source,
        &path,
        &ConvertOptions::default().rename("0", "first"),
    )
    .unwrap();
    let back = CheckpointReader::open(&path).unwrap();
    assert!(back.entry("first.weight.qdata").is_some());
}

/// A DTensor is listed by the piece that the file has.
#[test]
fn a_piece_of_a_dtensor_is_told_to_be_one() {
    let path = "distributed/dtensor_w3/model_world_size_3_rank_0.pt";
    let reader = CheckpointReader::open(fixtures_dir().join(path)).unwrap();
    assert!(reader.entry("emb.weight").is_none());
    assert!(reader.entry("emb.weight._local_tensor").is_some());
    let mut others = reader.non_tensors().iter();
    let whole = others.find(|other| other.path() == "emb.weight").unwrap();
    let description = whole.description();
    assert!(
        description.contains("bfloat16 tensor of shape [7, 3]"),
        "{description}"
    );
    assert!(description.contains("DTensor") && description.contains("full_tensor()"));
}

/// The persistent classes of StyleGAN come back through a function, with their state as an argument.
#[test]
fn a_module_that_a_function_rebuilds_is_named_as_its_state_dict() {
    let dir = fixtures_dir().join("persistent");
    let expected = Json::read(&dir.join("expected.json"));
    judge(&expected, read(&dir.join("persistent.pkl"))).unwrap();
    let reader = CheckpointReader::open(dir.join("persistent.pkl")).unwrap();
    let found: Vec<&str> = reader.tensors().iter().map(|entry| entry.name()).collect();
    let tensors = expected.get("tensors");
    assert_eq!(found, tensors.state().keys().collect::<Vec<_>>());
}

/// A key that is no text has no name in a target, unless it is given one.
#[test]
fn a_key_in_words_is_not_written() {
    let python2 = fs::read(fixtures_dir().join("numpy-arrays/python2.pkl")).unwrap();
    let at = python2
        .windows(3)
        .position(|part| part == b"U\x01w")
        .unwrap();
    let file = [&python2[..at], b"K\x01K\x02\x86", &python2[at + 3..]].concat();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("keys.pkl");
    fs::write(&source, file).unwrap();
    let target = folder.path().join("out.safetensors");
    let options = ConvertOptions::default();
    let error = convert(&source, &target, &options).unwrap_err();
    assert_eq!(error.name(), "unsupported");
    assert!(error.to_string().contains("a tuple of 2 items"), "{error}");
    let options = options.rename("<a tuple of 2 items: key 0>", "w");
    convert(&source, &target, &options).unwrap();
    assert!(
        CheckpointReader::open(&target)
            .unwrap()
            .entry("w")
            .is_some()
    );
}

/// Keys that are byte strings of Python 2, of which `é` is Latin-1, and bytes of Python 3.
#[test]
fn byte_string_keys_are_decoded() {
    let python2 = fs::read(fixtures_dir().join("numpy-arrays/python2.pkl")).unwrap();
    let at = python2
        .windows(3)
        .position(|part| part == b"U\x01w")
        .unwrap();
    for (key, name) in [
        (&b"U\x02\xe9w"[..], "éw"),
        (b"U\x03\xc3\xa9w", "éw"),
        (b"C\x02ab", "ab"),
    ] {
        let file = [&python2[..at], key, &python2[at + 3..]].concat();
        let reader = CheckpointReader::from_bytes(file, &OpenOptions::default()).unwrap();
        let names: Vec<&str> = reader.tensors().iter().map(|entry| entry.name()).collect();
        assert_eq!(names, [name, "b"]);
        let is_told = reader.notes().iter().any(|note| note.contains("Latin-1"));
        assert_eq!(is_told, key == b"U\x02\xe9w");
    }
}
