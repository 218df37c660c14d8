//! Refuses an upload that is not safe to unpickle.
//!
//! ```console
//! $ cargo run -p nnx-checkpoint --example refuse_upload -- tests/fixtures/nnx-0.4.1/checkpoints/ff_relu.pt
//! ```

#![expect(clippy::print_stdout, reason = "an example prints")]

use nnx_checkpoint::scan::{self, Verdict};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: refuse_upload FILE")?;
    let report = scan::scan_bytes(std::fs::read(path)?);
    for finding in report.findings() {
        println!(
            "{}.{} at {:?}",
            finding.module, finding.name, finding.offset
        );
    }
    match report.verdict() {
        Verdict::Clean => println!("accepted"),
        verdict => return Err(format!("refused: the file is {}", verdict.name()).into()),
    }
    Ok(())
}
