//! State dicts that `torch.load` can load.

use nnx_checkpoint::{CheckpointReader, NNCheckpoint};
use nnx_net::NNModel;
use nnx_tests::Fixture;

#[test]
fn exported_weights_are_those_of_the_net_in_its_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut judged = 0;
    for fixture in Fixture::all() {
        if !["ff_relu", "transformer_tied", "vit", "graph_att"].contains(&fixture.name.as_str()) {
            continue;
        }
        let (_, path) = fixture.files().remove(0);
        let checkpoint = NNCheckpoint::from_file(path).unwrap();
        let model = NNModel::from_checkpoint(&checkpoint).unwrap();
        let path = folder.path().join(format!("{}.pt", fixture.name));
        model.export_state_dict(&path).unwrap();
        let reader = CheckpointReader::open(&path).unwrap();
        let names: Vec<_> = reader.tensors().iter().map(|entry| entry.name()).collect();
        assert_eq!(names, fixture.sidecar.get("pickle_key_order").texts());
        for entry in reader.tensors() {
            let found = reader.tensor(entry.name()).unwrap();
            let expected = checkpoint.net_state.tensor(entry.name()).unwrap();
            assert_eq!(found.shape(), expected.shape());
            assert_eq!(found.to_bytes().unwrap(), expected.to_bytes().unwrap());
        }
        // Tied weights are one storage, as `torch.save` writes them.
        let storage = |name: &str| {
            reader
                .tensors()
                .iter()
                .find(|e| e.name() == name)?
                .storage()
        };
        if fixture.name == "transformer_tied" {
            assert_eq!(storage("tok_embed.weight"), storage("lm_head.weight"));
        }
        judged += 1;
    }
    assert_eq!(judged, 7);
}
