//! Nets that recorded transforms have changed, against those of the real library.

use std::collections::HashSet;

use nnx_checkpoint::{NNCheckpoint, StateDictMetadata};
use nnx_net::NNModel;
use nnx_tests::{Json, fixtures_dir};

use crate::tensors::{assert_tensor, tensor};

#[test]
fn changed_nets_of_every_kind_give_what_the_real_library_gives() {
    let folder = fixtures_dir().join("nets/transforms");
    let cases = Json::read(&folder.join("transforms.json")).items();
    for case in &cases {
        let name = case.get("name");
        let at = name.text();
        let checkpoint = NNCheckpoint::from_file(folder.join(format!("{at}.pt"))).unwrap();
        assert_eq!(checkpoint.transforms.len(), 2, "{at}");
        let model = NNModel::from_checkpoint(&checkpoint).unwrap_or_else(|e| panic!("{at}: {e}"));
        let output = model.forward(&tensor(&case.get("input"))).unwrap();
        assert_tensor(at, &output, &case.get("output"), 1e-6);
        let state = model.state_dict().unwrap();
        let keys: Vec<_> = state.tensors().map(|(key, _)| key).collect();
        assert_eq!(keys, case.get("keys").texts(), "{at}");
        let StateDictMetadata::Versions(modules) = state.modules() else {
            panic!("{at}: no module versions")
        };
        let modules: Vec<_> = modules.iter().map(|(path, _)| path).collect();
        assert_eq!(
            modules,
            case.get("modules").texts().iter().collect::<Vec<_>>(),
            "{at}"
        );
        let trainable: HashSet<&str> = model.trainable().map(|(name, _)| name).collect();
        let parameters = model.net().parameters().distinct();
        let frozen: Vec<_> = parameters
            .map(|(name, _)| name)
            .filter(|name| !trainable.contains(name))
            .collect();
        assert_eq!(frozen, case.get("frozen").texts(), "{at}");
    }
    assert_eq!(cases.len(), 5);
}
