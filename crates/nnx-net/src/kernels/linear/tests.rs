use candle_core::{Device, Tensor, Var};

use super::linear;
use crate::kernels::cpu::Cpu;
use crate::kernels::tests::{cases, check_gradients, cpus, numbers, scattered};

#[test]
fn results_and_gradients_are_those_of_torch() {
    for case in cases("linear ") {
        let relu = case.option("relu") == 1;
        for cpu in cpus() {
            case.judge(|inputs| match inputs {
                [x, w] => linear(cpu, x, w, None, relu).unwrap(),
                [x, w, b] => linear(cpu, x, w, Some(b), relu).unwrap(),
                _ => unreachable!("{}", case.name),
            });
        }
    }
}

#[test]
fn inputs_in_another_order_in_memory_give_the_same() {
    for case in cases("linear ") {
        let relu = case.option("relu") == 1;
        case.judge(|inputs| {
            let inputs: Vec<Tensor> = inputs.iter().map(|tensor| scattered(tensor)).collect();
            linear(Cpu::new(), &inputs[0], &inputs[1], inputs.get(2), relu).unwrap()
        });
    }
}

#[test]
fn gradients_are_finite_differences() {
    for cpu in cpus() {
        for (rows, inputs, outputs) in [(1, 5, 3), (3, 4, 9), (6, 7, 20)] {
            for relu in [false, true] {
                let shapes: [&[usize]; 3] = [&[rows, inputs], &[outputs, inputs], &[outputs]];
                check_gradients(&shapes, |inputs| {
                    linear(cpu, inputs[0], inputs[1], Some(inputs[2]), relu).unwrap()
                });
                check_gradients(&shapes[..2], |inputs| {
                    linear(cpu, inputs[0], inputs[1], None, relu).unwrap()
                });
            }
        }
    }
}

/// Several blocks of columns, several panels and several tasks at once.
#[test]
fn large_products_are_those_of_float64() {
    for (rows, inputs, outputs) in [(130, 1500, 70), (50, 1025, 300), (4, 3000, 500)] {
        let [x, w, b] = [&[rows, inputs][..], &[outputs, inputs], &[outputs]].map(numbers);
        let expected = x
            .matmul(&w.t().unwrap())
            .unwrap()
            .broadcast_add(&b)
            .unwrap();
        for cpu in cpus() {
            let found = linear(cpu, &x, &w, Some(&b), false).unwrap();
            let difference = (found - &expected).unwrap().abs().unwrap();
            let difference = difference.max_all().unwrap().to_scalar::<f64>().unwrap();
            assert!(
                difference < 1e-10,
                "{rows} {inputs} {outputs}: {difference}"
            );
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let shapes = [&[70, 300][..], &[200, 300], &[200]];
    let [x, w, b] = shapes.map(|shape| numbers(shape).to_dtype(candle_core::DType::F32).unwrap());
    let ys = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let ys = pool
            .unwrap()
            .install(|| linear(Cpu::new(), &x, &w, Some(&b), true));
        ys.unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap()
    };
    assert_eq!(ys(1), ys(3));
}

#[test]
fn what_is_not_trained_gets_no_gradient() {
    let x = numbers(&[2, 3]);
    let [w, b] = [&[4, 3][..], &[4]].map(|shape| Var::from_tensor(&numbers(shape)).unwrap());
    let ys = linear(Cpu::new(), &x, w.as_tensor(), Some(b.as_tensor()), false).unwrap();
    let gradients = ys.sum_all().unwrap().backward().unwrap();
    assert!(gradients.get(&x).is_none());
    assert!(gradients.get(w.as_tensor()).is_some());
}

#[test]
fn shapes_that_do_not_fit_are_errors() {
    let of = |shape: &[usize]| Tensor::zeros(shape, candle_core::DType::F32, &Device::Cpu).unwrap();
    let run = |x: &[usize], w: &[usize], b: &[usize]| {
        linear(Cpu::new(), &of(x), &of(w), Some(&of(b)), false)
    };
    assert!(run(&[2, 3], &[4, 3], &[4]).is_ok());
    for (x, w, b) in [
        (&[2, 3][..], &[4, 5][..], &[4][..]),
        (&[2, 3], &[4, 3], &[3]),
        (&[2, 3], &[4, 3, 1], &[4]),
        (&[3], &[4, 3], &[4]),
    ] {
        assert!(run(x, w, b).is_err());
    }
}
