//! Converts a checkpoint and shows the progress:
//!
//! `cargo run -p nnx-checkpoint --example convert -- tests/fixtures/nnx-0.4.1/checkpoints/ff_relu.pt /tmp/ff_relu.safetensors`

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::ops::ControlFlow;

use nnx_checkpoint::{ConvertOptions, ErrorKind, convert_with};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(source), Some(target)) = (arguments.next(), arguments.next()) else {
        return Err("expected a source and a target".into());
    };
    let options = ConvertOptions::default();
    let done = convert_with(source, target, &options, &mut |progress| {
        println!("{} of {} bytes", progress.done, progress.total);
        ControlFlow::Continue(())
    });
    match done {
        Ok(done) => println!("{} tensors, {} bytes", done.tensors, done.tensor_bytes),
        // Nothing is left out in silence; the error says what has no place in the target.
        Err(error) if matches!(error.kind(), ErrorKind::NotHeld { .. }) => {
            return Err(format!("{error}; set `drop_non_tensors`").into());
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}
