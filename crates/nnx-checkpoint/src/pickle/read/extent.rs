//! The end of a pickle, without a look at its objects.

use super::input::Input;
use crate::Result;
use crate::pickle::opcode;

/// Whether the pickle at the start of the bytes ends within them, or is broken in a way that more
/// bytes do not mend.
pub(crate) fn ends_within(bytes: &[u8]) -> bool {
    let mut input = Input::new(bytes, u64::MAX);
    loop {
        match skip(&mut input) {
            Ok(true) => {}
            Ok(false) => return true,
            // The one thing that can be wrong with an argument here is that it is cut off.
            Err(_) => return false,
        }
    }
}

/// Passes an opcode and its argument; false for the last one, and for a byte that is no opcode.
fn skip(input: &mut Input<'_>) -> Result<bool> {
    let opcode = input.opcode()?;
    let argument = match opcode {
        opcode::STOP => return Ok(false),
        opcode::BINGET | opcode::BINPUT | opcode::BININT1 | opcode::EXT1 | opcode::PROTO => 1,
        opcode::BININT2 | opcode::EXT2 => 2,
        opcode::LONG_BINGET | opcode::LONG_BINPUT | opcode::BININT | opcode::EXT4 => 4,
        opcode::BINFLOAT => 8,
        opcode::FRAME => {
            let length = input.u64()?;
            input.require(length)?;
            0
        }
        opcode::SHORT_BINUNICODE
        | opcode::SHORT_BINSTRING
        | opcode::SHORT_BINBYTES
        | opcode::LONG1 => input.u8()?.into(),
        opcode::BINUNICODE | opcode::BINSTRING | opcode::BINBYTES | opcode::LONG4 => {
            input.u32()?.into()
        }
        opcode::BINUNICODE8 | opcode::BINBYTES8 | opcode::BYTEARRAY8 => input.u64()?,
        opcode::INT
        | opcode::LONG
        | opcode::FLOAT
        | opcode::STRING
        | opcode::UNICODE
        | opcode::PERSID
        | opcode::GET
        | opcode::PUT => {
            input.line()?;
            0
        }
        opcode::GLOBAL | opcode::INST => {
            input.line()?;
            input.line()?;
            0
        }
        other if opcode::name(other).is_none() => return Ok(false),
        _ => 0,
    };
    input.take(argument)?;
    Ok(true)
}
