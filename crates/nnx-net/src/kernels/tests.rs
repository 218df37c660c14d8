//! What the tests of kernels share: cases that PyTorch computed, and finite differences.

use std::collections::BTreeMap;

use candle_core::{DType, Device, Tensor, Var};
use nnx_checkpoint::safetensors::SafeTensors;

use super::cpu::Cpu;

/// A case of `tests/fixtures/tools/dense_kernels.py`.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: String,
    tensors: BTreeMap<String, Tensor>,
}

/// The cases of a kind, at least one.
pub(super) fn cases(kind: &str) -> Vec<Case> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/kernels/dense.safetensors"
    );
    let source = nnx_checkpoint::Source::read(path).unwrap();
    let limits = nnx_checkpoint::Limits::default();
    let file = SafeTensors::parse(source.bytes(), &limits).unwrap();
    let mut cases: BTreeMap<String, BTreeMap<String, Tensor>> = BTreeMap::new();
    for (name, tensor) in file.tensors() {
        let (case, key) = name.split_once('/').unwrap();
        if case.starts_with(kind) {
            let tensor = Tensor::try_from(tensor).unwrap();
            let case = cases.entry(case.to_owned()).or_default();
            case.insert(key.to_owned(), tensor);
        }
    }
    assert!(!cases.is_empty(), "no case of {kind}");
    let case = |(name, tensors)| Case { name, tensors };
    cases.into_iter().map(case).collect()
}

impl Case {
    /// The option of that name.
    pub(super) fn option(&self, name: &str) -> usize {
        let mut words = self.name.split(' ').filter_map(|word| word.split_once('='));
        words
            .find(|(key, _)| *key == name)
            .unwrap()
            .1
            .parse()
            .unwrap()
    }

    pub(super) fn get(&self, key: &str) -> Option<&Tensor> {
        self.tensors.get(key)
    }

    /// Runs a function forwards and backwards, and compares with PyTorch. The inputs of the function are
    /// `x`, `w` and `b`, as many as there are.
    pub(super) fn judge(&self, run: impl Fn(&[&Tensor]) -> Tensor) {
        let inputs: Vec<(String, Var)> = ["x", "w", "b"]
            .into_iter()
            .filter_map(|key| Some((key.to_owned(), Var::from_tensor(self.get(key)?).unwrap())))
            .collect();
        let tensors: Vec<&Tensor> = inputs.iter().map(|(_, var)| var.as_tensor()).collect();
        let ys = run(&tensors);
        self.compare("y", &ys);
        let gradients = (&ys * &self.tensors["g"]).unwrap().sum_all().unwrap();
        // The sum may be NaN; its gradient is that of the sum all the same.
        let gradients = gradients.backward().unwrap();
        for (key, var) in &inputs {
            let found = gradients.get(var.as_tensor()).unwrap();
            self.compare(&format!("g{key}"), found);
        }
    }

    /// Compares with one of PyTorch's tensors: the same NaN and infinities, and numbers that differ by
    /// rounding only.
    pub(super) fn compare(&self, key: &str, found: &Tensor) {
        let expected = &self.tensors[key];
        assert_eq!(found.dims(), expected.dims(), "{}: {key}", self.name);
        let [found, expected] =
            [found, expected].map(|tensor| tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap());
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let is_close = if expected.is_finite() {
                (found - expected).abs() <= 2e-5 * (1.0 + expected.abs())
            } else {
                found == expected || found.is_nan() && expected.is_nan()
            };
            assert!(
                is_close,
                "{}: {key}[{at}]: {found} and {expected}",
                self.name
            );
        }
    }
}

/// With the processor's instructions and without, on several threads and on one.
pub(super) fn cpus() -> [Cpu; 3] {
    [Cpu::new(), Cpu::portable(), Cpu::new().on_one_thread()]
}

/// Numbers between -1 and 1, in float64.
pub(super) fn numbers(shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    let numbers = (0..count).map(|at| ((at * 7919 + 13) % 2003) as f64 / 1001.0 - 1.0);
    let numbers: Vec<f64> = numbers.collect();
    Tensor::from_vec(numbers, shape, &Device::Cpu).unwrap()
}

/// Compares the gradients of a function in float64 with differences of its values.
pub(super) fn check_gradients(shapes: &[&[usize]], run: impl Fn(&[&Tensor]) -> Tensor) {
    let inputs: Vec<Var> = shapes
        .iter()
        .map(|shape| Var::from_tensor(&numbers(shape)).unwrap())
        .collect();
    let loss = |inputs: &[&Tensor]| {
        let ys = run(inputs);
        assert_eq!(ys.dtype(), DType::F64);
        let weights = numbers(ys.dims()).affine(1.5, 0.3).unwrap();
        (ys * weights).unwrap().sum_all().unwrap()
    };
    let tensors: Vec<&Tensor> = inputs.iter().map(Var::as_tensor).collect();
    let gradients = loss(&tensors).backward().unwrap();
    for (n, var) in inputs.iter().enumerate() {
        let gradient = gradients.get(var.as_tensor()).unwrap();
        let gradient = gradient.flatten_all().unwrap().to_vec1::<f64>().unwrap();
        let values = var.flatten_all().unwrap().to_vec1::<f64>().unwrap();
        assert_eq!(gradient.len(), values.len());
        for (at, gradient) in gradient.iter().enumerate() {
            let at_distance = |distance: f64| {
                let mut values = values.clone();
                values[at] += distance;
                let changed = Tensor::from_vec(values, var.dims(), &Device::Cpu).unwrap();
                let mut tensors = tensors.clone();
                tensors[n] = &changed;
                loss(&tensors).to_scalar::<f64>().unwrap()
            };
            let difference = (at_distance(1e-6) - at_distance(-1e-6)) / 2e-6;
            assert!(
                (difference - gradient).abs() < 1e-6,
                "input {n}, element {at}: {gradient} and {difference}"
            );
        }
    }
}

/// The same elements in columns one after the other, every second element unused.
pub(super) fn scattered(tensor: &Tensor) -> Tensor {
    let last = tensor.rank() - 1;
    let turned = tensor.transpose(0, last).unwrap().contiguous().unwrap();
    let doubled = Tensor::stack(&[&turned, &turned], turned.rank()).unwrap();
    let scattered = doubled.narrow(turned.rank(), 1, 1).unwrap();
    scattered
        .squeeze(turned.rank())
        .unwrap()
        .transpose(0, last)
        .unwrap()
}
