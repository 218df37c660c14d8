//! Kernels beside the values and gradients of PyTorch, beside finite differences, and beside
//! themselves with other instructions.
//!
//! `tests/fixtures/tools/sequence_kernels.py` wrote the values with PyTorch 2.15.

use std::collections::HashMap;

use candle_core::{DType, Device, Result, Tensor, Var, safetensors};

use super::adjacency::Adjacency;
use super::attention::{Visible, attend, attend_to_self};
use super::cpu::Cpu;
use super::cross_entropy::cross_entropy;
use super::graph_attention;
use super::neighbours::{self, Weights};
use super::rms_norm::rms_norm;
use super::rotary::{Angles, rotate};
use super::softmax::softmax;
use super::swiglu::swiglu;
use super::tests::cpus;

const VALUES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/fixtures/kernels/sequence.safetensors"
);

/// The inputs of a case, and what PyTorch gives for them.
struct Case {
    name: String,
    inputs: Vec<Tensor>,
    output: Tensor,
    /// The gradient of the output.
    gradient: Tensor,
    /// The gradients of the inputs, where PyTorch has some.
    gradients: Vec<Option<Tensor>>,
}

fn cases() -> Vec<Case> {
    let mut tensors: HashMap<String, Tensor> = safetensors::load(VALUES, &Device::Cpu).unwrap();
    let mut names: Vec<String> = tensors
        .keys()
        .filter_map(|name| Some(name.strip_suffix("/y")?.to_owned()))
        .collect();
    names.sort();
    let case = |name: String| {
        let mut take = |what: String| tensors.remove(&format!("{name}/{what}"));
        let (output, gradient) = (take("y".into()).unwrap(), take("g".into()).unwrap());
        let inputs: Vec<Tensor> = (0..).map_while(|at| take(at.to_string())).collect();
        let gradients = (0..inputs.len()).map(|at| take(format!("d{at}"))).collect();
        Case {
            name,
            inputs,
            output,
            gradient,
            gradients,
        }
    };
    names.into_iter().map(case).collect()
}

/// The nodes are those of the first input.
fn adjacency(nodes: &Tensor, edges: &Tensor) -> Result<Adjacency> {
    let edges = edges.to_dtype(DType::U32)?;
    let [sources, targets] = [0, 1].map(|row| edges.get(row)?.to_vec1::<u32>());
    Ok(Adjacency::new(nodes.dim(0)?, &sources?, &targets?))
}

/// The kernel that a case is about.
fn apply(cpu: Cpu, name: &str, inputs: &[Tensor]) -> Result<Tensor> {
    match (name.split('/').next().unwrap(), inputs) {
        ("softmax", [x]) => softmax(cpu, x),
        ("rms_norm", [x, weight]) => rms_norm(cpu, x, weight, 1e-6),
        ("swiglu", [gate, x]) => swiglu(cpu, gate, x),
        ("cross_entropy", [x, classes]) => {
            let classes = classes.to_vec1::<i64>()?;
            let classes = classes.into_iter().map(|class| u32::try_from(class).ok());
            cross_entropy(cpu, x, classes.collect())
        }
        ("rotary", [x, angles]) => {
            let angles = angles.to_dtype(DType::F32)?.flatten_all()?.to_vec1()?;
            rotate(cpu, x, &Angles::new(angles))
        }
        ("causal", [x]) => attend_to_self(cpu, x, Visible::Earlier),
        ("full", [x]) => attend_to_self(cpu, x, Visible::All),
        ("cached", [q, k, v]) => attend(cpu, q, k, v, Visible::Earlier),
        ("weighted", [x, edges, weights]) => {
            let graph = adjacency(x, edges)?;
            // The numbers of the edges in the order of their targets.
            let order = graph.incoming().numbers().to_vec();
            let weights = weights.to_dtype(DType::F32)?.to_vec1::<f32>()?;
            let weights = order
                .into_iter()
                .map(|edge| weights[edge as usize])
                .collect();
            neighbours::sum(cpu, x, &graph, Weights::Edges(weights))
        }
        ("mean", [x, edges]) => neighbours::sum(cpu, x, &adjacency(x, edges)?, Weights::Mean),
        ("graph_attention", [x, sources, targets, edges]) => {
            graph_attention::attend(cpu, x, sources, targets, &adjacency(x, edges)?)
        }
        _ => panic!("no kernel for {name}"),
    }
}

/// The output, and the gradients of the inputs that have some.
fn computed(
    cpu: Cpu,
    name: &str,
    inputs: &[Tensor],
    gradient: &Tensor,
) -> (Tensor, Vec<Option<Tensor>>) {
    let variables: Vec<Option<Var>> = inputs
        .iter()
        .map(|input| {
            input
                .dtype()
                .is_float()
                .then(|| Var::from_tensor(input).unwrap())
        })
        .collect();
    let inputs: Vec<Tensor> = variables
        .iter()
        .zip(inputs)
        .map(|(variable, input)| variable.as_ref().map_or(input, |v| v.as_tensor()).clone())
        .collect();
    let output = apply(cpu, name, &inputs).unwrap();
    let store = (&output * gradient)
        .unwrap()
        .sum_all()
        .unwrap()
        .backward()
        .unwrap();
    let gradients = variables.iter().map(|variable| {
        variable
            .as_ref()
            .and_then(|variable| store.get(variable.as_tensor()).cloned())
    });
    (output, gradients.collect())
}

/// What a float32 loses in a sum of some products, relative to the larger of the sum and one.
fn tolerance(name: &str) -> f64 {
    match name {
        // The scores of edges are large, and so is the error of their powers.
        "graph_attention/large" => 1e-4,
        // PyTorch's own gradients are that far from those in float64.
        "causal/blocks" | "full/blocks" => 5e-5,
        _ => 1e-5,
    }
}

#[track_caller]
fn assert_close(what: &str, found: &Tensor, expected: &Tensor, tolerance: f64) {
    assert_eq!(found.dims(), expected.dims(), "{what}");
    let numbers = |tensor: &Tensor| -> Vec<f64> {
        let tensor = tensor.flatten_all().unwrap().to_dtype(DType::F64).unwrap();
        tensor.to_vec1().unwrap()
    };
    for (at, (found, expected)) in numbers(found)
        .into_iter()
        .zip(numbers(expected))
        .enumerate()
    {
        let is_near = (found - expected).abs() <= tolerance * expected.abs().max(1.0);
        let is_same = found == expected || (found.is_nan() && expected.is_nan());
        assert!(
            is_same || is_near,
            "{what}, element {at}: {found} is not {expected}"
        );
    }
}

/// Compares all cases with PyTorch's values.
fn check(cpu: Cpu, change: impl Fn(&Tensor) -> Tensor) {
    let cases = cases();
    assert_eq!(cases.len(), 48, "cases of the fixture");
    for case in &cases {
        let inputs: Vec<Tensor> = case.inputs.iter().map(&change).collect();
        let (output, gradients) = computed(cpu, &case.name, &inputs, &case.gradient);
        let tolerance = tolerance(&case.name);
        assert_close(&case.name, &output, &case.output, tolerance);
        for (at, (found, expected)) in gradients.iter().zip(&case.gradients).enumerate() {
            // Angles and weights of edges are no parameters, and a cache has no gradients.
            let (Some(found), Some(expected)) = (found, expected) else {
                let is_constant = ["rotary", "weighted", "cached"]
                    .iter()
                    .any(|name| case.name.starts_with(name));
                assert!(
                    found.is_none() && (expected.is_none() || is_constant),
                    "{}",
                    case.name
                );
                continue;
            };
            assert_close(&format!("{} d{at}", case.name), found, expected, tolerance);
        }
    }
}

#[test]
fn values_and_gradients_are_those_of_pytorch() {
    for cpu in cpus() {
        check(cpu, Tensor::clone);
    }
}

/// Every axis in another order in memory, and space between the rows.
#[test]
fn inputs_need_not_be_contiguous() {
    check(Cpu::new(), |input| {
        let last = input.rank() - 1;
        if input.dtype() == DType::I64 || input.elem_count() == 0 {
            return input.clone();
        }
        let axes: Vec<usize> = (0..=last).rev().collect();
        let padded = Tensor::cat(&[input, input], last).unwrap();
        let strided = padded.permute(axes.clone()).unwrap().contiguous().unwrap();
        let strided = strided.narrow(0, 0, input.dim(last).unwrap()).unwrap();
        strided.permute(axes).unwrap()
    });
}

/// The gradient of each number in float64 beside the difference of the results of two numbers close
/// to it.
#[test]
fn gradients_are_finite_differences() {
    const STEP: f64 = 1e-5;
    let cpu = Cpu::new();
    let names = [
        "softmax/wide",
        "rms_norm/rows",
        "swiglu/large",
        "cross_entropy/wide",
        "rotary/pairs",
        "causal/odd",
        "causal/few",
        "full/odd",
        "weighted/plain",
        "mean/plain",
        "graph_attention/plain",
    ];
    let mut cases = cases();
    cases.retain(|case| names.contains(&case.name.as_str()));
    assert_eq!(cases.len(), names.len());
    for case in &cases {
        let wide = |tensor: &Tensor| match tensor.dtype() {
            DType::F32 => tensor.to_dtype(DType::F64).unwrap(),
            _ => tensor.clone(),
        };
        let inputs: Vec<Tensor> = case.inputs.iter().map(wide).collect();
        let gradient = wide(&case.gradient);
        let (_, gradients) = computed(cpu, &case.name, &inputs, &gradient);
        for (at, found) in gradients.iter().enumerate() {
            let Some(found) = found else { continue };
            let found: Vec<f64> = found.flatten_all().unwrap().to_vec1().unwrap();
            let numbers: Vec<f64> = inputs[at].flatten_all().unwrap().to_vec1().unwrap();
            // Some of many numbers.
            for place in (0..numbers.len()).step_by(numbers.len().div_ceil(40)) {
                let result = |step: f64| -> f64 {
                    let mut numbers = numbers.clone();
                    numbers[place] += step;
                    let mut inputs = inputs.clone();
                    inputs[at] =
                        Tensor::from_vec(numbers, inputs[at].dims(), &Device::Cpu).unwrap();
                    let output = apply(cpu, &case.name, &inputs).unwrap();
                    (output * &gradient)
                        .unwrap()
                        .sum_all()
                        .unwrap()
                        .to_scalar()
                        .unwrap()
                };
                let difference = (result(STEP) - result(-STEP)) / (2.0 * STEP);
                assert!(
                    (found[place] - difference).abs() <= 1e-6 * difference.abs().max(1.0),
                    "{} d{at}, element {place}: {} is not {difference}",
                    case.name,
                    found[place],
                );
            }
        }
    }
}

/// Not a bit of them.
#[test]
fn the_number_of_threads_changes_nothing() {
    let all = |cpu: Cpu| -> Vec<Vec<u8>> {
        let bytes = |tensor: &Tensor| -> Vec<u8> {
            let numbers: Vec<f32> = tensor.flatten_all().unwrap().to_vec1().unwrap();
            numbers.into_iter().flat_map(f32::to_le_bytes).collect()
        };
        let mut results = Vec::new();
        for (name, shapes) in [
            ("rms_norm", vec![vec![1024, 96], vec![96]]),
            ("causal", vec![vec![2, 64, 3, 4, 16]]),
        ] {
            let inputs: Vec<Tensor> = shapes
                .iter()
                .map(|shape| {
                    let count: usize = shape.iter().product();
                    let numbers = (0..count).map(|at| ((at * 37 % 1009) as f32 / 504.5) - 1.0);
                    Tensor::from_iter(numbers, &Device::Cpu)
                        .unwrap()
                        .reshape(shape.as_slice())
                        .unwrap()
                })
                .collect();
            let gradient = apply(cpu, name, &inputs).unwrap();
            let (output, gradients) = computed(cpu, name, &inputs, &gradient);
            results.push(bytes(&output));
            results.extend(gradients.iter().flatten().map(bytes));
        }
        results
    };
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(|| all(Cpu::new()))
    };
    assert_eq!(on(1), on(3));
}
