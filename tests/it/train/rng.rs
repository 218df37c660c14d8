//! Orders, splits, masks and states of the generator, equal to the bit.

use candle_core::{DType, Device, Tensor};
use nnx_net::{Batch, Generator, Mode, dropout};
use nnx_params::Value;
use nnx_tests::{Json, fixtures_dir, sha256};
use nnx_train::{DataLoader, Loader, Split, TensorDataset, random_split};

fn cases(key: &str) -> Vec<Json> {
    let cases = fixture().get(key).items();
    println!("rng.json, {key}: {} cases", cases.len());
    cases
}

fn fixture() -> Json {
    Json::read(&fixtures_dir().join("training/rng.json"))
}

fn seed(case: &Json) -> u64 {
    case.get("seed").size() as u64
}

fn sizes(json: &Json) -> Vec<usize> {
    json.items().iter().map(Json::size).collect()
}

/// Whether exactly that many 32-bit numbers were drawn since the seed.
#[track_caller]
fn assert_draws(generator: &Generator, seed: u64, draws: usize) {
    let mut expected = Generator::new(seed);
    for _ in 0..draws {
        expected.next_u32();
    }
    assert!(
        generator.to_state() == expected.to_state(),
        "not `{draws}` numbers were drawn since seed `{seed}`"
    );
}

/// Samples whose target is their number.
fn numbered(rows: usize) -> TensorDataset {
    let count = u32::try_from(rows).unwrap();
    let targets = Tensor::arange(0, count, &Device::Cpu).unwrap();
    let inputs = targets.to_dtype(DType::F32).unwrap();
    TensorDataset::new([inputs], targets).unwrap()
}

fn numbers(batch: &Batch) -> Vec<usize> {
    let numbers = batch.targets.to_vec1::<u32>().unwrap();
    let same = batch.inputs[0].to_dtype(DType::U32).unwrap();
    assert_eq!(same.to_vec1::<u32>().unwrap(), numbers);
    numbers.into_iter().map(|number| number as usize).collect()
}

fn epoch(loader: &mut DataLoader, default: &mut Generator) -> Vec<Vec<usize>> {
    let batches = loader.pass(default).unwrap();
    batches.map(|batch| numbers(&batch.unwrap())).collect()
}

#[test]
fn integers() {
    for case in cases("int64") {
        let mut generator = Generator::new(seed(&case));
        for expected in case.get("values").items() {
            let found = i128::from(generator.next_i64());
            assert_eq!(Value::Int(found), expected.0);
        }
    }
}

#[test]
fn permutations() {
    for case in cases("randperm") {
        let mut generator = Generator::new(seed(&case));
        let order = generator.permutation(case.get("n").size()).unwrap();
        assert_eq!(order, sizes(&case.get("values")));
        assert_draws(&generator, seed(&case), order.len().saturating_sub(1));
    }
}

#[test]
fn splits() {
    for case in cases("random_split") {
        let mut generator = Generator::new(seed(&case));
        let parts = random_split(&sizes(&case.get("lengths")), &mut generator).unwrap();
        let expected: Vec<_> = case.get("values").items().iter().map(sizes).collect();
        assert_eq!(parts, expected);
    }
}

#[test]
fn loaders() {
    for case in cases("loader") {
        let mut default = Generator::new(seed(&case));
        let rows = case.get("rows").size();
        let own = { case.find("generator_seed") }.map(|seed| seed.size() as u64);
        let mut loader = DataLoader::builder(numbered(rows))
            .batch_size(case.get("batch_size").size())
            .drop_last(case.get("drop_last").0 == Value::Bool(true))
            .shuffle(true)
            .generator(own.map(Generator::new))
            .build()
            .unwrap();
        let mut validation = DataLoader::builder(numbered(rows)).build().unwrap();
        for expected in case.get("epochs").items() {
            let batches = epoch(&mut loader, &mut default);
            let expected: Vec<_> = expected.items().iter().map(sizes).collect();
            assert_eq!(loader.batches(), Some(expected.len()));
            assert_eq!(batches, expected);
            if case.get("validation_after_each").0 == Value::Bool(true) {
                let batches = epoch(&mut validation, &mut default);
                assert_eq!(batches.concat(), (0..rows).collect::<Vec<_>>());
            }
        }
        assert_draws(&default, seed(&case), case.get("draws_after").size());
        if let Some(own) = own {
            let draws = case.get("generator_draws_after").size();
            assert_draws(loader.generators()[0], own, draws);
        }
    }
}

#[test]
fn tabular_splits() {
    for case in cases("tabular") {
        let default_seed = case.get("default_seed").size() as u64;
        let mut default = Generator::new(default_seed);
        let share = |name| case.get(name).float();
        let mut own = { case.find("seed") }.map(|seed| Generator::new(seed.size() as u64));
        let split = Split::new(
            case.get("rows").size(),
            share("val_proportion"),
            share("test_proportion"),
            own.as_mut().unwrap_or(&mut default),
        )
        .unwrap();
        for (name, found) in [
            ("train", &split.train),
            ("val", &split.val),
            ("test", &split.test),
        ] {
            let expected = case.find(name).map(|part| sizes(&part.get("rows")));
            assert_eq!(*found, expected.unwrap_or_default(), "{name}");
        }
        assert_draws(&default, default_seed, case.get("draws_after").size());
    }
}

fn kept(ys: &Tensor) -> (String, Vec<f32>) {
    let ys = ys.flatten_all().unwrap().to_vec1::<f32>().unwrap();
    let kept = ys.iter().map(|y| if *y == 0.0 { '0' } else { '1' });
    let kept: String = kept.collect();
    (kept, ys.into_iter().filter(|y| *y != 0.0).collect())
}

#[test]
fn dropout_masks() {
    for case in cases("dropout") {
        let mut generator = Generator::new(seed(&case));
        let xs = Tensor::ones(sizes(&case.get("shape")), DType::F32, &Device::Cpu).unwrap();
        let p = case.get("p").float();
        let ys = dropout(&xs, p, &mut Mode::Train(&mut generator)).unwrap();
        let (found, factors) = kept(&ys);
        let expected = case.get("kept");
        assert_eq!(found, expected.text(), "p = {p}");
        for factor in factors {
            let hex: String = { factor.to_le_bytes() }
                .map(|byte| format!("{byte:02x}"))
                .concat();
            assert_eq!(hex, case.get("factor").text(), "p = {p}");
        }
        assert_draws(&generator, seed(&case), case.get("draws_after").size());
    }
}

#[test]
fn the_mask_of_a_transposed_tensor_follows_its_memory() {
    let case = fixture().get("dropout_strided");
    let mut generator = Generator::new(seed(&case));
    let xs = Tensor::ones((4, 3, 5), DType::F32, &Device::Cpu).unwrap();
    let xs = xs.permute((2, 0, 1)).unwrap();
    let mode = &mut Mode::Train(&mut generator);
    let ys = dropout(&xs, case.get("p").float(), mode).unwrap();
    assert_eq!(ys.dims(), [5, 4, 3]);
    assert_eq!(kept(&ys).0, case.get("kept_in_row_major_order").text());
}

#[test]
fn states() {
    for case in cases("state") {
        let mut generator = Generator::new(seed(&case));
        let draws = case.get("draws").size();
        for _ in 0..draws {
            generator.next_u32();
        }
        let state = generator.to_state();
        assert_eq!(state.len(), Generator::STATE_BYTES);
        assert_eq!(sha256(&state), case.get("sha256").text(), "{draws} draws");
        let mut again = Generator::from_state(&state).unwrap();
        assert_eq!(again.initial_seed(), seed(&case));
        assert_eq!(again.to_state(), state);
        assert_eq!(again.next_u32(), generator.next_u32());
    }
}
