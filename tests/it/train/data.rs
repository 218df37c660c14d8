//! Samples of files, judged against the batches that Python makes of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use candle_core::{DType, Tensor};
use nnx_net::{Batch, Generator};
use nnx_params::{Losses, NNModelParams, Nets};
use nnx_tests::{Json, fixtures_dir};
use nnx_train::{
    DataFile, DataLoader, Dataset, Header, Loader, SampleOptions, Samples, Split, Subset,
};

fn folder() -> PathBuf {
    fixtures_dir().join("data")
}

fn expected(key: &str) -> Json {
    Json::read(&folder().join("expected.json")).get(key)
}

fn params(net: Nets, loss: Losses) -> NNModelParams {
    NNModelParams::builder(net).loss(loss).build().unwrap()
}

fn open(name: &str) -> DataFile {
    DataFile::open(folder().join(name), Header::Auto).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn rows(name: &str, params: &NNModelParams, options: &SampleOptions) -> Arc<dyn Dataset> {
    match open(name).samples(params, options) {
        Ok(Samples::Rows(rows)) => rows,
        other => panic!("{name}: {other:?}"),
    }
}

/// Compares with the values that `tensor` of `data_sources.py` wrote, to the bit.
#[track_caller]
fn assert_same(at: &str, found: &Tensor, expected: &Json) {
    let shape: Vec<usize> = expected
        .get("shape")
        .items()
        .iter()
        .map(Json::size)
        .collect();
    assert_eq!(found.dims(), shape, "{at}");
    let flat = found.flatten_all().unwrap();
    match expected.get("dtype").text() {
        "float32" => {
            let bytes = flat.to_vec1::<f32>().unwrap();
            let hex: String = { bytes.iter().flat_map(|x| x.to_le_bytes()) }
                .map(|byte| format!("{byte:02x}"))
                .collect();
            assert_eq!(hex, expected.get("data").text(), "{at}");
        }
        "int64" => {
            let found = flat.to_dtype(DType::I64).unwrap().to_vec1::<i64>().unwrap();
            let items = expected.get("data").items();
            let expected: Vec<i64> = items.iter().map(|item| item.size() as i64).collect();
            assert_eq!(found, expected, "{at}");
        }
        other => panic!("{at}: dtype {other}"),
    }
}

#[track_caller]
fn assert_batches(at: &str, found: impl Iterator<Item = Batch>, expected: &Json) {
    let expected = expected.items();
    let found: Vec<Batch> = found.collect();
    assert_eq!(found.len(), expected.len(), "{at}");
    for (found, expected) in found.iter().zip(expected) {
        let [input, target] = &expected.items()[..] else {
            panic!("{at}: no pair");
        };
        assert_eq!(found.inputs.len(), 1, "{at}");
        assert_same(at, &found.inputs[0], input);
        assert_same(at, &found.targets, target);
    }
}

/// Compares the batches in order.
#[track_caller]
fn check(
    name: &str,
    size: usize,
    params: &NNModelParams,
    options: &SampleOptions,
    expected: &Json,
) {
    let rows = rows(name, params, options);
    let mut loader = DataLoader::shared(rows).batch_size(size).build().unwrap();
    let mut generator = Generator::default();
    let pass = loader.pass(&mut generator).unwrap();
    assert_batches(name, pass.map(Result::unwrap), expected);
}

#[test]
fn arrays_of_every_kind_of_file() {
    let (options, arrays) = (SampleOptions::new().finite(true), expected("arrays"));
    let classes = params(Nets::FeedFwd, Losses::CrossEntropy);
    for name in ["arrays.npz", "compressed.npz", "named.safetensors"] {
        check(name, 2, &classes, &options, &arrays);
    }
    let numbers = params(Nets::FeedFwd, Losses::MeanSquaredError);
    check(
        "regression.npz",
        2,
        &numbers,
        &options,
        &expected("regression"),
    );
}

#[test]
fn tokens_have_the_next_ones_as_targets() {
    let language = params(Nets::Transformer, Losses::CrossEntropy);
    let options = SampleOptions::new();
    check(
        "sequences.npz",
        3,
        &language,
        &options,
        &expected("sequences"),
    );
    let error = open("text.npy").samples(&language, &options).unwrap_err();
    assert!(error.to_string().contains("length of a window"), "{error}");
    check(
        "text.npy",
        3,
        &language,
        &options.window(4),
        &expected("text"),
    );
}

#[test]
fn images_of_idx_files_and_folders() {
    let conv = params(Nets::Conv, Losses::CrossEntropy);
    let options = SampleOptions::new();
    for name in ["mnist", "mnist/train-images-idx3-ubyte.gz"] {
        check(name, 4, &conv, &options, &expected("mnist_train"));
    }
    check(
        "mnist/t10k-images-idx3-ubyte",
        4,
        &conv,
        &options,
        &expected("mnist_t10k"),
    );
    for (folder, mode, channels) in [
        ("colour", "RGB", None),
        ("colour", "L", Some(1)),
        ("grey", "L", None),
        ("grey", "RGB", Some(3)),
    ] {
        let expected = expected(&format!("images_{folder}_{mode}"));
        let options = SampleOptions::new().channels(channels);
        let name = format!("images/{folder}");
        check(&name, 3, &conv, &options, &expected.get("batches"));
        let DataFile::Images { names, .. } = open(&name) else {
            panic!("{name}: no images");
        };
        assert_eq!(names, expected.get("names").texts());
    }
}

#[test]
fn idx_files_of_every_type() {
    let cases = expected("idx").items();
    for case in &cases {
        let file = case.get("file");
        let DataFile::Array(array) = open(file.text()) else {
            panic!("{}: no array", file.text());
        };
        assert_eq!(array.dims(), [2, 3]);
        let array = array.flatten_all().unwrap().to_dtype(DType::F64).unwrap();
        let values: Vec<f64> = case.get("values").items().iter().map(Json::float).collect();
        assert_eq!(array.to_vec1::<f64>().unwrap(), values, "{}", file.text());
    }
    assert_eq!(cases.len(), 6);
}

#[test]
fn tables_are_split_and_shuffled_as_nnx_does() {
    for (target, loss) in [
        ("kind", Losses::CrossEntropy),
        ("width", Losses::MeanSquaredError),
    ] {
        let expected = expected(&format!("table_{target}"));
        let params = params(Nets::FeedFwd, loss);
        let options = SampleOptions::new().targets([target]).finite(true);
        for name in ["table.csv", "table.csv.gz"] {
            let all = rows(name, &params, &options);
            let split = Split::new(all.rows(), 0.2, 0.1, &mut Generator::new(3)).unwrap();
            let mut default = Generator::new(5);
            for (part, rows, size) in [
                ("train", split.train, Some(6)),
                ("val", split.val, None),
                ("test", split.test, None),
            ] {
                let size = size.unwrap_or(rows.len());
                let subset = Subset::new(all.clone(), rows).unwrap();
                let loader = DataLoader::builder(subset).batch_size(size);
                let mut loader = loader.shuffle(part == "train").build().unwrap();
                for pass in expected.get(part).items() {
                    let found = loader.pass(&mut default).unwrap().map(Result::unwrap);
                    assert_batches(&format!("{name}, {part}"), found, &pass);
                }
            }
        }
    }
    // A column of numbers that pandas wrote beside the data is left out by naming the inputs.
    let params = params(Nets::FeedFwd, Losses::CrossEntropy);
    let named = SampleOptions::new().inputs(["width", "height"]);
    let batch = |name, options| rows(name, &params, options).batch(&[0, 19]).unwrap();
    let (found, plain) = (
        batch("indexed.csv", &named),
        batch("table.csv", &SampleOptions::new()),
    );
    let numbers = |batch: &Batch| batch.inputs[0].to_vec2::<f32>().unwrap();
    assert_eq!(numbers(&found), numbers(&plain));
}

#[test]
fn the_parts_of_a_graph_have_their_nodes_first() {
    let params = params(Nets::GraphConv, Losses::CrossEntropy);
    let data = open("graph.npz").samples(&params, &SampleOptions::new());
    let Ok(Samples::Graph { graph, parts }) = data else {
        panic!("{data:?}");
    };
    let expected = expected("graph");
    assert_eq!(parts.len(), 2);
    for (name, nodes) in &parts {
        let [batch] = &graph.part(nodes).unwrap()[..] else {
            panic!("{name}: more than one batch");
        };
        let expected = expected.get(name);
        assert_same(name, &batch.inputs[0], &expected.get("x"));
        assert_same(name, &batch.inputs[1], &expected.get("edge_index"));
        assert_same(name, &batch.targets, &expected.get("y"));
        assert_eq!(batch.seeds, Some(expected.get("batch_size").size()));
    }
    let all = graph.all();
    assert_eq!((all.samples(), all.seeds), (9, None));
}

#[track_caller]
fn refused(write: impl FnOnce(&Path) -> PathBuf, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path());
    let params = params(Nets::FeedFwd, Losses::CrossEntropy);
    let options = SampleOptions::new().finite(true);
    let error = DataFile::open(&path, Header::Auto)
        .and_then(|file| file.samples(&params, &options))
        .unwrap_err()
        .to_string();
    assert!(error.contains(expected), "{error}");
}

#[track_caller]
fn refused_file(name: &str, bytes: &[u8], expected: &str) {
    refused(
        |folder| {
            let path = folder.join(name);
            fs::write(&path, bytes).unwrap();
            path
        },
        expected,
    );
}

#[test]
fn what_cannot_be_samples_is_refused_by_place() {
    refused_file(
        "a.csv",
        b"a,b\n1,0\nnan,1\n",
        "found `nan` in line 3, column `a`",
    );
    refused_file(
        "a.csv",
        b"a,b\n1e39,0\n",
        "found `1e39` in line 2, column `a`",
    );
    refused_file(
        "a.csv",
        b"a,b\n1,x\n",
        "expected a whole number, found `x` in line 2, column `b`",
    );
    refused_file(
        "a.csv",
        b"a,b\n1\n",
        "expected 2 cells as in the first line, found 1 in line 2",
    );
    refused_file(
        "a.idx",
        &[0, 0, 8, 2, 255, 255, 255, 255, 255, 255, 255, 255],
        "do not fit the `0` bytes",
    );
    refused_file("a.idx", &[0, 0, 8, 3, 0, 0, 0, 1], "(file `");
    refused_file("a.gz", &[0x1f, 0x8b, 8, 0, 0], "no sound gzip file");
    refused(
        |folder| folder.to_path_buf(),
        "expected a folder of images for each class, found none",
    );
    let image = |name: &'static str, bytes: &'static [u8]| {
        move |folder: &Path| {
            fs::create_dir(folder.join("cat")).unwrap();
            fs::write(folder.join("cat").join(name), bytes).unwrap();
            folder.to_path_buf()
        }
    };
    refused(image("a.jpg", b"\xff\xd8\xff"), "expected a PNG image");
    refused(
        image("a.pgm", b"P5\n70000 70000\n255\n\0"),
        "does not fit the `1` bytes",
    );
    refused(image("a.pgm", b"P5 1 1 65535 \0\0"), "largest value `255`");
    refused(
        image("notes.txt", b"no image"),
        "expected an image, found none",
    );
    refused(
        |folder| {
            for (class, image) in [("a", "P5 1 1 255 \0"), ("b", "P5 2 1 255 \0\0")] {
                fs::create_dir(folder.join(class)).unwrap();
                fs::write(folder.join(class).join("0.pgm"), image).unwrap();
            }
            folder.to_path_buf()
        },
        "expected an image of `1` x `1` pixels as the first one, found `2` x `1`",
    );
}

/// Every file of the fixtures, cut at each length and with each byte changed: whatever comes of it,
/// the call returns.
#[test]
fn damaged_files_end_in_a_result() {
    let mut calls = 0_usize;
    let names = [
        "arrays.npz",
        "compressed.npz",
        "named.safetensors",
        "text.npy",
        "table.csv.gz",
        "idx/f4.idx",
        "mnist/train-images-idx3-ubyte.gz",
        "graph.npz",
    ];
    let images = [
        "cat/a.PNG",
        "cat/more/rgba.png",
        "cat-like/grey_alpha.png",
        "dog/bits.png",
        "dog/photo.ppm",
    ];
    let conv = params(Nets::Conv, Losses::CrossEntropy);
    let mut read = |file: nnx_train::Result<DataFile>| {
        calls += 1;
        file.and_then(|file| file.samples(&conv, &SampleOptions::new()))
            .is_ok()
    };
    let mut sound = 0;
    for name in names {
        for damaged in damaged(&folder().join(name)) {
            sound += usize::from(read(DataFile::parse(&damaged.into(), Header::Auto)));
        }
    }
    let target = tempfile::tempdir().unwrap();
    fs::create_dir(target.path().join("class")).unwrap();
    for name in images {
        for damaged in damaged(&folder().join("images/colour").join(name)) {
            fs::write(target.path().join("class/image.png"), damaged).unwrap();
            sound += usize::from(read(DataFile::open(target.path(), Header::Auto)));
        }
    }
    println!("{calls} damaged files read, {sound} of them with samples");
    assert!(calls > 8_000, "{calls}");
}

/// The file cut at each length, and with each byte changed.
fn damaged(file: &Path) -> impl Iterator<Item = Vec<u8>> {
    let bytes = fs::read(file).unwrap();
    let length = bytes.len();
    (0..2 * length).map(move |at| {
        if at < length {
            return bytes[..at].to_vec();
        }
        let at = at - length;
        let mut bytes = bytes.clone();
        bytes[at] ^= if at.is_multiple_of(2) { 0xff } else { 1 };
        bytes
    })
}
