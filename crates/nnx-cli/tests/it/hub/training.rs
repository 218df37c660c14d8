//! A user's way from a CSV file to a model on the Hub, and back.

use std::fmt::Write as _;
use std::fs;

use super::{Desk, REPO};

/// Points of three classes around three centres, and the class in the last column.
fn points() -> String {
    let mut random = 1_u64;
    let mut noise = || {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 40) as f64 / 16_777_216.0 - 0.5
    };
    let mut text = "width,height,class\n".to_owned();
    for at in 0..120 {
        let (class, x, y) = [(0, -1.0, 0.0), (1, 1.0, 0.0), (2, 0.0, 1.5)][at % 3];
        writeln!(text, "{:.4},{:.4},{class}", x + noise(), y + noise()).expect("a text");
    }
    text
}

#[test]
fn a_table_becomes_a_model_on_the_hub() {
    let desk = Desk::new();
    fs::write(desk.home.path().join("points.csv"), points()).expect("a new file");
    let said = desk.succeed(&[
        "init",
        "--net",
        "feed_fwd",
        "--input",
        "2",
        "--output",
        "3",
        "--hidden",
        "16",
        "points.yaml",
    ]);
    assert!(
        said.contains("wrote points.yaml; next: nnx train points.yaml"),
        "{said}"
    );
    let said = desk.succeed(&[
        "train",
        "points.yaml",
        "--data",
        "points.csv",
        "--split",
        "0.2,0.1",
        "--quiet",
    ]);
    assert!(said.contains(": 20 epochs, 60 updates\n"), "{said}");
    let id = desk.succeed(&["runs", "best"]);
    let id = id.trim();
    assert!(said.contains(&format!("files in runs/{id}\n")), "{said}");
    let said = desk.succeed(&["runs", "plot", "best", "-o", "chart.html"]);
    assert!(said.contains("chart.html"), "{said}");

    let evaluated = desk.succeed(&["evaluate", id, "points.csv", "--root", ".", "--json"]);
    let evaluated: serde_json::Value = serde_json::from_str(&evaluated).expect("JSON");
    assert!(
        evaluated["error"].as_f64().expect("a number") < 0.05,
        "{evaluated}"
    );

    let best = format!("runs/{id}/checkpoints/best.pt");
    let said = desk.succeed(&["push", &best, REPO]);
    assert!(said.contains("uploaded"), "{said}");
    fs::write(
        desk.home.path().join("new.csv"),
        "width,height\n-1,0\n1,0\n0,1.5\n",
    )
    .expect("a file");
    let remote = format!("hf://{REPO}");
    let predicted = desk.succeed(&["predict", &remote, "new.csv", "--json"]);
    let predicted: serde_json::Value = serde_json::from_str(&predicted).expect("JSON");
    assert_eq!(predicted["classes"], serde_json::json!([0, 1, 2]));
}
