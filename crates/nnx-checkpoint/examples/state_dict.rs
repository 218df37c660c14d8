//! Prints every tensor of a checkpoint:
//!
//! `cargo run -p nnx-checkpoint --example state_dict -- tests/fixtures/nnx-0.4.1/checkpoints/ff_relu.pt`

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("expected a checkpoint")?;
    for (name, tensor) in nnx_checkpoint::load_state_dict(path)? {
        println!("{name}: {} {:?}", tensor.dtype(), tensor.shape());
    }
    Ok(())
}
