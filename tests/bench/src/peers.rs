//! The same by `pytorch-reader` and `anamnesis`.

use std::path::Path;

use anamnesis::parse_pth;
use pytorch_reader::PytorchReader;

use crate::Result;
use crate::reading::sum;
use crate::table::Table;

/// Rows of opening.
///
/// # Errors
/// When a peer fails or finds something else.
pub(crate) fn opening(table: &mut Table, path: &Path, expected: u64) -> Result<()> {
    table.row("pytorch-reader: PytorchReader::new", expected, || {
        Ok(PytorchReader::new(path)?.len() as u64)
    })?;
    table.row("anamnesis: parse_pth, tensor_info", expected, || {
        Ok(parse_pth(path)?.tensor_info().len() as u64)
    })
}

/// Rows of reading everything.
///
/// # Errors
/// When a peer fails or finds something else.
pub(crate) fn reading(table: &mut Table, path: &Path, expected: u64) -> Result<()> {
    table.row("pytorch-reader: Tensor::read", expected, || {
        let reader = PytorchReader::new(path)?;
        let mut total = 0u64;
        for tensor in reader.tensors().values() {
            total = total.wrapping_add(sum(&tensor.read()?));
        }
        Ok(total)
    })?;
    table.row("anamnesis: mapped, no checksums", expected, || {
        let parsed = parse_pth(path)?;
        let tensors = parsed.tensors()?;
        let sums = tensors.iter().map(|tensor| sum(&tensor.data));
        Ok(sums.fold(0, u64::wrapping_add))
    })
}
