//! Training on each kind of data.

use std::fmt::Write as _;
use std::fs;

use nnx::checkpoint::{CheckpointReader, Dtype, Tensor, npy, safetensors};

use super::{Desk, losses, object};

/// The samples of a safetensors file as a CSV text whose last column is the class.
fn csv(desk: &Desk, part: &str, names: Option<&[&str]>) -> String {
    let path = desk.path(&format!("{part}.safetensors"));
    let file = CheckpointReader::open(path).unwrap();
    let inputs = file.tensor("inputs").unwrap();
    let width = inputs.shape()[1];
    let inputs = inputs.to_bytes().unwrap();
    let inputs: Vec<f32> = inputs
        .as_chunks()
        .0
        .iter()
        .map(|b| f32::from_le_bytes(*b))
        .collect();
    let targets = file.tensor("targets").unwrap();
    let targets = targets.to_bytes().unwrap();
    let targets = targets.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b));
    let mut text = "a,b,c,d,class\n".to_owned();
    for (row, target) in inputs.chunks(width).zip(targets) {
        for value in row {
            write!(text, "{value},").unwrap();
        }
        match names {
            Some(names) => writeln!(text, "{}", names[usize::try_from(target).unwrap()]),
            None => writeln!(text, "{target}"),
        }
        .unwrap();
    }
    text
}

#[test]
fn a_csv_file_trains_the_same_as_arrays() {
    let desk = Desk::new("ff_adam_default");
    let arrays = object(&mut desk.train("arrays", &["--quiet"]));
    let id = arrays["id"].as_str().unwrap();
    for part in ["train", "val"] {
        fs::write(desk.path(&format!("{part}.csv")), csv(&desk, part, None)).unwrap();
    }
    let config = desk.fixture.join("run.yaml");
    let mut words = vec![
        "train",
        config.to_str().unwrap(),
        "--data",
        "train.csv",
        "--val",
        "val.csv",
    ];
    words.extend([
        "--batch-size",
        "8",
        "--init-seed",
        "0",
        "--threads",
        "1",
        "--root",
        "csv",
    ]);
    words.extend(["--target", "class", "--quiet"]);
    let done = desk.nnx(&words);
    assert!(done.status.success(), "{done:?}");
    assert_eq!(
        losses(&desk.run("csv", id)),
        losses(&desk.run("arrays", id))
    );
}

/// A validation has the numbers that it has with the columns in the order of the training data.
#[test]
fn columns_of_the_validation_are_taken_by_their_names() {
    let desk = Desk::new("ff_adam_default");
    let val = csv(&desk, "val", None);
    let moved = val.lines().map(|line| {
        let mut cells: Vec<&str> = line.split(',').collect();
        cells.rotate_right(2);
        format!("{}\n", cells.join(","))
    });
    let moved: String = moved.collect();
    assert!(moved.starts_with("d,class,a,b,c\n"));
    fs::write(desk.path("train.csv"), csv(&desk, "train", None)).unwrap();
    fs::write(desk.path("other.csv"), moved.replace("class", "kind")).unwrap();
    fs::write(desk.path("moved.csv"), moved).unwrap();
    let config = desk.fixture.join("run.yaml");
    let config = config.to_str().unwrap();
    let train = |val: &str| {
        let size = desk.about["loader"]["train"]["batch_size"].to_string();
        let seed = desk.about["init_seed"].to_string();
        let words = ["train", config, "--data", "train.csv", "--val", val];
        let more = ["--batch-size", &size, "--init-seed", &seed, "--json"];
        let threads = ["--threads", "1", "--root", "names", "--quiet"];
        desk.nnx(&[&words[..], &more, &threads].concat())
    };
    let arrays = object(&mut desk.train("arrays", &["--quiet"]));
    let done = train("moved.csv");
    assert!(done.status.success(), "{done:?}");
    let said: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(said["last"]["val_edp"], arrays["last"]["val_edp"]);
    let told = String::from_utf8(train("other.csv").stdout).unwrap();
    assert!(told.contains("no column `class`"), "{told}");
    assert!(told.contains("other.csv"), "{told}");
}

/// A CSV file may have the names of the classes, and is split into three parts.
#[test]
fn classes_have_names_and_a_split_keeps_a_test() {
    let desk = Desk::new("ff_adam_default");
    let names = ["setosa", "versicolor", "virginica"];
    fs::write(desk.path("named.csv"), csv(&desk, "train", Some(&names))).unwrap();
    let labels = names.join(",");
    let done = desk.nnx(&["init", "--input", "4", "--labels", &labels, "named.yaml"]);
    assert!(done.status.success(), "{done:?}");
    let train = [
        "train",
        "named.yaml",
        "--data",
        "named.csv",
        "--split",
        "0.2,0.25",
        "--json",
    ];
    let done = desk.nnx(&train);
    assert!(done.status.success(), "{done:?}");
    let said: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    // Of 40 rows 8 are for the validation and 10 for the test.
    assert_eq!(said["last"]["val_edp"]["count"], 8);
    assert_eq!(said["test"]["count"], 10);
    assert_eq!(said["epochs"], 20);

    // The error for a name that is no class names its line.
    fs::write(
        desk.path("other.csv"),
        "a,b,c,d,class\n1,2,3,4,setosa\n1,2,3,4,rosa\n",
    )
    .unwrap();
    let done = desk.nnx(&[
        "train",
        "named.yaml",
        "--data",
        "other.csv",
        "--root",
        "other",
    ]);
    let told = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{told}");
    assert!(
        told.contains("`rosa` in line 3") && told.contains("other.csv"),
        "{told}"
    );
    // Nothing was left on disk.
    assert!(!desk.path("other").exists());
}

/// Tokens without targets: each is followed by the next one.
#[test]
fn tokens_train_a_transformer() {
    let desk = Desk::new("ff_adam_default");
    let done = desk.nnx(&["init", "--net", "transformer", "--input", "11", "text.yaml"]);
    assert!(done.status.success(), "{done:?}");
    let tokens: Vec<u8> = (0..24_i64 * 9)
        .flat_map(|at| (at * 3 % 11).to_le_bytes())
        .collect();
    let tokens = Tensor::from_bytes(Dtype::Int64, &[24, 9], tokens).unwrap();
    fs::write(desk.path("tokens.npy"), npy::write(&tokens).unwrap()).unwrap();
    let train = [
        "train",
        "text.yaml",
        "--data",
        "tokens.npy",
        "--epochs",
        "3",
        "--json",
    ];
    let done = desk.nnx(&train);
    assert!(done.status.success(), "{done:?}");
    let said: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(said["updates"], 3);
}

/// Images `[N, C, H, W]` train a net of convolutions, and a graph with masks a net on graphs.
#[test]
fn images_and_graphs_are_trained_on() {
    let desk = Desk::new("ff_adam_default");
    let floats = |shape: &[usize]| {
        let count: usize = shape.iter().product();
        let bytes = (0..count).flat_map(|at| ((at % 17) as f32 / 17.0).to_le_bytes());
        Tensor::from_bytes(Dtype::Float32, shape, bytes.collect::<Vec<_>>()).unwrap()
    };
    let integers = |shape: &[usize], values: &[i64]| {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        Tensor::from_bytes(Dtype::Int64, shape, bytes.collect::<Vec<_>>()).unwrap()
    };
    let mask = |on: std::ops::Range<usize>| {
        let bytes = (0..6)
            .map(|node| u8::from(on.contains(&node)))
            .collect::<Vec<_>>();
        Tensor::from_bytes(Dtype::Bool, &[6], bytes).unwrap()
    };
    let write = |name: &str, tensors: &[(&str, &Tensor)]| {
        let mut file = fs::File::create(desk.path(name)).unwrap();
        safetensors::write(&mut file, tensors, None).unwrap();
    };
    write(
        "images.safetensors",
        &[
            ("x", &floats(&[12, 1, 8, 8])),
            ("y", &integers(&[12], &[0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2])),
        ],
    );
    write(
        "graph.safetensors",
        &[
            ("x", &floats(&[6, 4])),
            (
                "edge_index",
                &integers(&[2, 5], &[0, 1, 2, 3, 4, 1, 2, 3, 4, 5]),
            ),
            ("y", &integers(&[6], &[0, 1, 2, 0, 1, 2])),
            ("train_mask", &mask(0..3)),
            ("val_mask", &mask(3..5)),
            ("test_mask", &mask(5..6)),
        ],
    );
    for (net, input, data) in [
        ("conv", "64", "images.safetensors"),
        ("graph_sage", "4", "graph.safetensors"),
        ("graph_conv", "4", "graph.safetensors"),
        ("graph_att", "4", "graph.safetensors"),
    ] {
        let config = format!("{net}.yaml");
        let done = desk.nnx(&[
            "init", "--net", net, "--input", input, "--output", "3", &config,
        ]);
        assert!(done.status.success(), "{done:?}");
        let done = desk.nnx(&["train", &config, "--data", data, "--epochs", "2", "--json"]);
        assert!(done.status.success(), "{net}: {done:?}");
        let said: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(said["updates"], 2, "{net}");
        let is_graph = net != "conv";
        assert_eq!(said["last"]["val_edp"].is_object(), is_graph, "{net}");
        assert_eq!(said["test"].is_object(), is_graph, "{net}");
    }
}
