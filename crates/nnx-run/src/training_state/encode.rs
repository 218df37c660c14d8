//! From plain data to the graph of a pickle.

use nnx_checkpoint::pickle::NodeId;
use nnx_checkpoint::torch::{TorchBuilder, TorchObject};

use super::data::Data;
use crate::error::Result;

/// The object of a dict with texts as keys.
pub(super) fn object(entries: &[(String, Data)]) -> Result<TorchObject> {
    let mut builder = TorchBuilder::new();
    let mut pairs = Vec::new();
    for (key, value) in entries {
        let value = node(&mut builder, value)?;
        pairs.push((builder.interned(key), value));
    }
    let root = builder.dict(pairs);
    Ok(builder.finish(root))
}

fn node(builder: &mut TorchBuilder, data: &Data) -> Result<NodeId> {
    Ok(match data {
        Data::None => builder.none(),
        Data::Bool(flag) => builder.bool(*flag),
        Data::Int(int) => builder.big_int(*int),
        Data::Float(float) => builder.float(*float),
        Data::Str(text) => builder.interned(text),
        Data::List(items) => {
            let items = all(builder, items)?;
            builder.list(items)
        }
        Data::Tuple(items) => {
            let items = all(builder, items)?;
            builder.tuple(items)
        }
        Data::Dict(pairs) => {
            let mut nodes = Vec::new();
            for (key, value) in pairs {
                nodes.push((node(builder, key)?, node(builder, value)?));
            }
            builder.dict(nodes)
        }
        Data::Tensor(tensor) => builder.tensor(tensor)?,
        Data::Object(object) => builder.copy(object)?,
    })
}

fn all(builder: &mut TorchBuilder, items: &[Data]) -> Result<Vec<NodeId>> {
    items.iter().map(|item| node(builder, item)).collect()
}
