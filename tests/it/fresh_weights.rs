//! Fresh models against those of the real library after `torch.manual_seed(seed)`.

use std::collections::BTreeMap;

use nnx_net::NNModel;
use nnx_params::{NNModelParams, NetParams, Nets};
use nnx_tests::{Json, fixtures_dir, sha256};

#[test]
fn fresh_weights_are_those_of_the_real_library_bit_for_bit() {
    let expected = Json::read(&fixtures_dir().join("nets/fresh_weights.json"));
    let seeds = expected.get("seeds").items();
    assert_eq!(seeds.len(), 10);
    let mut judged = BTreeMap::<&str, usize>::new();
    for row in expected.get("nets").items() {
        let net: Nets = row.get("net").text().parse().unwrap();
        let net_params = NetParams::resolve_from_state(row.get("net_params").state()).unwrap();
        for (seed, digest) in seeds.iter().zip(row.get("sha256").texts()) {
            let seed = u64::try_from(seed.size()).unwrap();
            let params = NNModelParams::builder(net).build().unwrap();
            let model = NNModel::new(net_params.clone(), params, seed).unwrap();
            let bytes: Vec<u8> = model
                .state_dict()
                .unwrap()
                .tensors()
                .flat_map(|(_, tensor)| tensor.to_bytes().unwrap().into_owned())
                .collect();
            assert_eq!(
                sha256(&bytes),
                digest,
                "{net} of {net_params} by the seed {seed}"
            );
            *judged.entry(net.value()).or_default() += 1;
        }
    }
    assert_eq!(judged.len(), Nets::all().len(), "{judged:?}");
    println!("fresh models judged: {judged:?}");
}
