//! Fresh nets against those of the real library, beyond what the side-cars of checkpoints have.

use candle_core::Tensor;
use nnx_net::{KeyValueCache, NNModel};
use nnx_params::{NNModelParams, NetParams, Nets};
use nnx_tests::{Json, fixtures_dir};

use crate::tensors::{assert_tensor, tensor};

/// How far two float32 computations of the same net may be apart.
fn tolerance(net: Nets) -> f64 {
    match net {
        Nets::Transformer => 1e-5,
        _ => 1e-6,
    }
}

struct Case {
    name: String,
    net: Nets,
    model: NNModel,
    inputs: Vec<Tensor>,
    json: Json,
}

fn cases() -> Vec<Case> {
    let cases = Json::read(&fixtures_dir().join("nets/forward.json")).items();
    assert_eq!(cases.len(), 11);
    let case = |json: Json| {
        let net: Nets = json.get("net").text().parse().unwrap();
        let net_params = NetParams::resolve_from_state(json.get("net_params").state()).unwrap();
        let params = NNModelParams::builder(net).build().unwrap();
        let seed = u64::try_from(json.get("seed").size()).unwrap();
        Case {
            name: json.get("name").text().to_owned(),
            net,
            model: NNModel::new(net_params, params, seed).unwrap(),
            inputs: json.get("inputs").items().iter().map(tensor).collect(),
            json,
        }
    };
    cases.into_iter().map(case).collect()
}

#[test]
fn outputs_and_balances_are_those_of_the_real_library() {
    let mut balances = 0;
    for Case {
        name,
        net,
        model,
        inputs,
        json,
    } in cases()
    {
        let (output, found) = model.forward_balanced(&inputs).unwrap();
        assert_tensor(&name, &output, &json.get("output"), tolerance(net));
        let expected = json.get("balances").items();
        assert_eq!(found.len(), expected.len(), "{name}");
        for (found, expected) in found.iter().zip(&expected) {
            let found = f64::from(found.to_scalar::<f32>().unwrap());
            let expected = expected.float();
            assert!(
                (found - expected).abs() <= tolerance(net),
                "{name}: {found} is not {expected}"
            );
            balances += 1;
        }
    }
    assert_eq!(balances, 6);
}

#[test]
fn the_cache_changes_nothing() {
    let mut judged = 0;
    for Case {
        name,
        net,
        model,
        inputs,
        json,
    } in cases()
    {
        let mut cache = KeyValueCache::new();
        if net != Nets::Transformer {
            let error = model
                .forward_with_cache(&inputs[0], &mut cache)
                .unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("net `{net}` has no cache of keys and values, only `transformer` has")
            );
            continue;
        }
        let tokens = &inputs[0];
        let total = tokens.dim(1).unwrap();
        let mut outputs = Vec::new();
        // Some at once, then one after the other, then some at once behind cached ones.
        for count in [7, 1, 1, 1, 30].into_iter().chain([total - 40]) {
            let part = tokens.narrow(1, cache.len(), count).unwrap();
            outputs.push(model.forward_with_cache(&part, &mut cache).unwrap());
        }
        assert_eq!(cache.len(), total);
        assert!(!cache.is_empty());
        let cached = Tensor::cat(&outputs, 1).unwrap();
        assert_tensor(&name, &cached, &json.get("output"), tolerance(net));
        let one = tokens.narrow(1, 0, 1).unwrap();
        let error = model
            .forward_with_cache(&one, &mut cache)
            .unwrap_err()
            .to_string();
        assert!(
            error.ends_with(&format!("got `1` tokens after `{total}` cached ones")),
            "{error}"
        );
        cache.clear();
        assert!(model.forward_with_cache(&one, &mut cache).is_ok());
        judged += 1;
    }
    assert_eq!(judged, 2);
}
