//! Reads the state of a net's parameters, says what the net is, and shows what is wrong with an
//! invalid one: `cargo run -p nnx-params --example read_state`.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use nnx_params::python_text::json_loads;
use nnx_params::{NetParams, Value};

/// The parameters of a small language model, as a checkpoint holds them.
const VALID: &str =
    r#"{"vocab_size": 11, "n_layers": 2, "d_model": 8, "n_heads": 2, "max_seq_len": 8}"#;
/// The same, but the width of a token's vector cannot be shared among the heads.
const INVALID: &str =
    r#"{"vocab_size": 11, "n_layers": 2, "d_model": 9, "n_heads": 2, "max_seq_len": 8}"#;

fn main() -> nnx_params::Result<()> {
    for text in [VALID, INVALID] {
        let Value::Map(state) = json_loads(text)? else {
            continue;
        };
        match NetParams::resolve_from_state(&state) {
            Ok(params) => println!("{}: {params}", params.class()),
            Err(error) => println!("{}: {error}", error.python_exception()),
        }
    }
    Ok(())
}
