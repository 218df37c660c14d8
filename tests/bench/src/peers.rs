//! The same by `pytorch-reader` and `anamnesis`.

use std::path::Path;

use anamnesis::parse_pth;
use pytorch_reader::PytorchReader;

use crate::row::Row;
use crate::sum::sum;

/// Columns of reading everything.
pub(crate) fn touching<'a>(row: Row<'a>, path: &'a Path) -> Row<'a> {
    row.beside("anamnesis, mapped", None, move || {
        let parsed = parse_pth(path)?;
        let tensors = parsed.tensors()?;
        let sums = tensors.iter().map(|tensor| sum(&tensor.data));
        Ok(sums.fold(0, u64::wrapping_add))
    })
}

/// Columns of loading every tensor into memory.
pub(crate) fn loading<'a>(row: Row<'a>, path: &'a Path) -> Row<'a> {
    row.beside("pytorch-reader", None, move || {
        let reader = PytorchReader::new(path)?;
        let mut read = Vec::new();
        for tensor in reader.tensors().values() {
            read.push(tensor.read()?);
        }
        Ok(read.len() as u64)
    })
}

/// Columns of listing.
pub(crate) fn listing<'a>(row: Row<'a>, path: &'a Path) -> Row<'a> {
    row.beside("pytorch-reader", None, move || {
        Ok(PytorchReader::new(path)?.len() as u64)
    })
    .beside("anamnesis", None, move || {
        Ok(parse_pth(path)?.tensor_info().len() as u64)
    })
}
