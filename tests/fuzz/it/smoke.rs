//! Every body on its seeds, on damaged seeds, and on what once broke it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use nnx_fuzz::{BODIES, Body, Campaign, regressions};

/// The same at every run, so that a test fails or passes for good.
const NUMBER: u64 = 3;

#[track_caller]
fn check(name: &str, rounds: u64) {
    let campaign = Campaign::new(Body::named(name).unwrap(), NUMBER);
    let rounds = campaign.seed_rounds() + rounds;
    for round in 0..rounds {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| campaign.round(round))) {
            println!("to write the input: nnx-fuzz input {name} {NUMBER} {round} FILE");
            resume_unwind(panic);
        }
    }
    println!("{name}: {rounds} rounds");
}

#[test]
fn sniff() {
    check("sniff", 4_000);
}

#[test]
fn pickle() {
    check("pickle", 4_000);
}

#[test]
fn zip() {
    check("zip", 4_000);
}

#[test]
fn convert() {
    check("convert", 500);
}

#[test]
fn distributed() {
    check("distributed", 500);
}

#[test]
fn torch() {
    check("torch", 3_000);
}

#[test]
fn reader() {
    check("reader", 3_000);
}

#[test]
fn remote() {
    check("remote", 1_500);
}

#[test]
fn safetensors() {
    check("safetensors", 6_000);
}

#[test]
fn checkpoint() {
    check("checkpoint", 1_500);
}

#[test]
fn write() {
    check("write", 300);
}

#[test]
fn yaml() {
    check("yaml", 6_000);
}

#[test]
fn history() {
    check("history", 6_000);
}

#[test]
fn what_broke_a_body_once_does_so_no_more() {
    for (name, input) in regressions() {
        for body in BODIES {
            if let Err(panic) = catch_unwind(|| (body.run)(&input)) {
                println!("`{name}` breaks `{}`", body.name);
                resume_unwind(panic);
            }
        }
    }
}

#[test]
fn each_body_has_its_test_and_its_target() {
    let source = include_str!("smoke.rs");
    let manifest = include_str!("../Cargo.toml");
    for body in BODIES {
        assert!(
            source.contains(&format!("check(\"{}\"", body.name)),
            "{}",
            body.name
        );
        assert!(
            manifest.contains(&format!("targets/{}.rs", body.name)),
            "{}",
            body.name
        );
    }
}
