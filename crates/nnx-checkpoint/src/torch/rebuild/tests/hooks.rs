//! Backward hooks.

use super::{FLOAT, Fixture};
use crate::pickle::{Node, NodeId};

#[test]
fn backward_hooks_are_refused_wherever_a_tensor_has_them() {
    /// Hooks as `{0: hook}`, or none as PyTorch writes it.
    fn hooks(made: &mut Fixture, any: bool) -> NodeId {
        let id = made.call("collections", "OrderedDict", Vec::new());
        let (key, hook) = (made.int(0), made.global("my.module", "hook"));
        if let Node::Object(object) = made.0.node_mut(id)
            && any
        {
            object.pairs.push((key, hook));
        }
        id
    }
    for any in [false, true] {
        let mut made = Fixture::new();
        let hooks = hooks(&mut made, any);
        let storage = made.storage(FLOAT, "0", 6, None);
        let mut args = vec![
            storage,
            made.int(0),
            made.ints(&[6]),
            made.ints(&[1]),
            made.bool(false),
            hooks,
        ];
        let v2 = made.utils("_rebuild_tensor_v2", args.clone());
        args.push(made.global("torch", "float32"));
        let v3 = made.utils("_rebuild_tensor_v3", args);
        let data = made.vector();
        let args = vec![data, made.bool(true), hooks];
        let parameter = made.utils("_rebuild_parameter", args);
        let object = made.opened();
        for id in [v2, v3, parameter] {
            match object.tensor(id) {
                Ok(tensor) => assert!(tensor.is_some() && !any),
                Err(error) => {
                    let message = error.to_string();
                    assert!(any && message.contains("backward hooks"), "{message}");
                }
            }
        }
    }
}
