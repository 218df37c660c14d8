//! From the graph of a pickle to plain data.

use std::sync::Arc;

use nnx_checkpoint::pickle::{Node, NodeId};
use nnx_checkpoint::torch::{PickledObject, TorchObject};

use super::data::Data;
use crate::error::{Error, Result};
use crate::limits::{MAX_STATE_DEPTH, MAX_STATE_VALUES};

/// This many bytes of a text count as one value.
const TEXT_BYTES_PER_VALUE: u64 = 32;

/// Turns objects of one graph into plain data, within one budget. A graph can refer to one object many
/// times and plain data cannot, so without a budget a small file could expand to a huge value.
#[derive(Debug)]
pub(super) struct Decoder<'a> {
    object: &'a Arc<TorchObject>,
    budget: u64,
    depth: u64,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(object: &'a Arc<TorchObject>) -> Self {
        Self {
            object,
            budget: MAX_STATE_VALUES,
            depth: 0,
        }
    }

    /// An object as data. An object that is not plain data or a tensor is kept as it is.
    pub(super) fn decode(&mut self, id: NodeId) -> Result<Data> {
        self.spend(1)?;
        if self.depth >= MAX_STATE_DEPTH {
            return Err(Error::limit("levels of a training state", MAX_STATE_DEPTH));
        }
        self.depth = self.depth.saturating_add(1);
        let data = self.convert(id);
        self.depth = self.depth.saturating_sub(1);
        data
    }

    fn spend(&mut self, values: u64) -> Result<()> {
        let rest = self.budget.checked_sub(values);
        self.budget =
            rest.ok_or_else(|| Error::limit("values of a training state", MAX_STATE_VALUES))?;
        Ok(())
    }

    fn convert(&mut self, id: NodeId) -> Result<Data> {
        let object = self.object;
        Ok(match object.graph().node(id) {
            Node::None => Data::None,
            Node::Bool(flag) => Data::Bool(*flag),
            Node::Int(int) => Data::Int((*int).into()),
            Node::BigInt(bytes) => match big_int(bytes) {
                Some(int) => Data::Int(int),
                None => self.kept(id),
            },
            Node::Float(float) => Data::Float(*float),
            Node::Str(text) => match text.as_str() {
                Some(text) => {
                    self.spend(text.len() as u64 / TEXT_BYTES_PER_VALUE)?;
                    Data::Str(text.to_owned())
                }
                None => self.kept(id),
            },
            Node::List(items) => Data::List(self.all(items)?),
            Node::Tuple(items) => Data::Tuple(self.all(items)?),
            Node::Dict(pairs) => {
                let mut data = Vec::new();
                for &(key, value) in pairs {
                    data.push((self.decode(key)?, self.decode(value)?));
                }
                Data::Dict(data)
            }
            Node::Object(_) => match object.tensor(id) {
                Ok(Some(tensor)) => Data::Tensor(tensor),
                // Such as a tensor on the meta device, which has no elements.
                Ok(None) => self.kept(id),
                Err(error) if is_unsupported(&error) => self.kept(id),
                Err(error) => return Err(error.into()),
            },
            _ => self.kept(id),
        })
    }

    fn all(&mut self, items: &[NodeId]) -> Result<Vec<Data>> {
        items.iter().map(|&item| self.decode(item)).collect()
    }

    fn kept(&self, id: NodeId) -> Data {
        Data::Object(PickledObject::new(Arc::clone(self.object), id))
    }
}

fn is_unsupported(error: &nnx_checkpoint::Error) -> bool {
    matches!(error.kind(), nnx_checkpoint::ErrorKind::Unsupported { .. })
}

/// An integer of up to sixteen bytes in little-endian two's complement.
fn big_int(bytes: &[u8]) -> Option<i128> {
    let is_negative = bytes.last().is_some_and(|&byte| byte >= 0x80);
    let mut full = [if is_negative { 0xff } else { 0 }; 16];
    full.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(i128::from_le_bytes(full))
}
