//! The attributes of the objects of a `.metadata`, each in a row of the tables.

use super::{MAX_DIMS, MAX_TRANSFORMS, Machine, not_metadata};
use crate::Dtype;
use crate::distributed::dcp::tables::{NOTHING, at, row_number};
use crate::distributed::dcp::value::{Kind, Value};
use crate::error::{DistributedFault, Error, Result};

impl Machine<'_> {
    /// Gives a [`Kind::Properties`] its dtype.
    pub(super) fn set_dtype(&mut self, object: Value, dtype: Option<Dtype>) -> Result<()> {
        *row(&mut self.tables.dtypes, object)? = dtype;
        Ok(())
    }

    /// Gives an object one of its attributes.
    pub(super) fn set_field(&mut self, object: Value, name: &str, value: Value) -> Result<()> {
        match (object.kind(), name) {
            (Kind::Chunk, "offsets") => {
                let ints = self.size(value, "the offsets of a chunk")?;
                row(&mut self.tables.chunks, object)?.offsets = ints;
            }
            (Kind::Chunk, "sizes") => {
                let ints = self.size(value, "the sizes of a chunk")?;
                row(&mut self.tables.chunks, object)?.sizes = ints;
            }
            (Kind::Index, "fqn") => {
                let text = text(value, "the name of an index")?;
                row(&mut self.tables.indices, object)?.name = text;
            }
            (Kind::Index, "offset") if value.kind() != Kind::None => {
                let ints = self.size(value, "the offset of an index")?;
                row(&mut self.tables.indices, object)?.offsets = ints;
            }
            (Kind::Info, "relative_path") => {
                let text = text(value, "the path of an item")?;
                row(&mut self.tables.infos, object)?.path = text;
            }
            (Kind::Info, "offset") => {
                let number = self.whole_number(value, "the offset of an item")?;
                row(&mut self.tables.infos, object)?.offset = number;
            }
            (Kind::Info, "length") => {
                let number = self.whole_number(value, "the length of an item")?;
                row(&mut self.tables.infos, object)?.len = number;
            }
            (Kind::Info, "transform_descriptors") if value.kind() != Kind::None => {
                let transforms = self.transforms(value)?;
                row(&mut self.tables.infos, object)?.transforms = transforms;
            }
            (Kind::Tensor, "properties") => {
                let properties = value.index_of(Kind::Properties);
                let dtype =
                    properties.and_then(|row| at(&self.tables.dtypes, row).copied().flatten());
                row(&mut self.tables.tensors, object)?.dtype = dtype;
            }
            (Kind::Tensor, "size") => {
                let ints = self.size(value, "the size of a tensor")?;
                row(&mut self.tables.tensors, object)?.size = ints;
            }
            (Kind::Tensor, "chunks") => {
                let list = value.index_of(Kind::List);
                let list = list.ok_or_else(|| not_metadata("chunks that are no list"))?;
                row(&mut self.tables.tensors, object)?.chunks = list;
            }
            _ => {}
        }
        Ok(())
    }

    fn whole_number(&self, value: Value, what: &str) -> Result<i64> {
        self.as_int(value)
            .ok_or_else(|| not_metadata(&format!("{what} that is no integer of 64 bits")))
    }

    /// Where a `torch.Size` is among the integers.
    fn size(&self, value: Value, what: &str) -> Result<u32> {
        let ints = value.index_of(Kind::Size).or(value.index_of(Kind::Ints));
        let ints = ints.ok_or_else(|| not_metadata(&format!("{what} that are no `torch.Size`")))?;
        let dims = self.tables.ints.count(ints);
        if dims <= MAX_DIMS {
            return Ok(ints);
        }
        Err(Error::distributed(
            DistributedFault::Limit,
            format!("{what} of {dims} dimensions, where a tensor has {MAX_DIMS} at most"),
        ))
    }

    /// The number of a list of transforms; that of no transform is nothing.
    fn transforms(&mut self, value: Value) -> Result<u32> {
        let items = match value.kind() {
            Kind::List => self.containers.list_items(value),
            Kind::Tuple => self.containers.tuple_items(value),
            Kind::Ints => Some([].as_slice()),
            _ => None,
        };
        let items = items.ok_or_else(|| not_metadata("transforms that are no sequence"))?;
        if items.len() > MAX_TRANSFORMS {
            return Err(Error::distributed(
                DistributedFault::UnsupportedTransform,
                format!(
                    "an item with {} transforms, of which {MAX_TRANSFORMS} are undone at most",
                    items.len()
                ),
            ));
        }
        let texts = items.iter().map(|item| item.index_of(Kind::Text));
        let texts: Vec<u32> = texts.map(|text| text.unwrap_or(NOTHING)).collect();
        if texts.is_empty() {
            return Ok(NOTHING);
        }
        let (position, _) = self.tables.transforms.insert_full(texts);
        row_number(position)
    }
}

/// The row of an object in the table of its class.
fn row<T>(rows: &mut [T], object: Value) -> Result<&mut T> {
    let row = usize::try_from(object.index()).ok();
    row.and_then(|row| rows.get_mut(row))
        .ok_or_else(|| not_metadata("an object of another class"))
}

fn text(value: Value, what: &str) -> Result<u32> {
    let text = value.index_of(Kind::Text);
    text.ok_or_else(|| not_metadata(&format!("{what} that is no text")))
}
