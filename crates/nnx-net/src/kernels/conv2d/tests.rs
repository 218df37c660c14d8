use candle_core::{DType, Device, Tensor, Var};

use super::conv2d;
use crate::kernels::cpu::Cpu;
use crate::kernels::tests::{Case, cases, check_gradients, cpus, numbers, scattered};

fn options(case: &Case) -> ((usize, usize), bool) {
    let placement = (case.option("padding"), case.option("stride"));
    (placement, case.option("relu") == 1)
}

#[test]
fn results_and_gradients_are_those_of_torch() {
    for case in cases("conv2d ") {
        let (placement, relu) = options(&case);
        for cpu in cpus() {
            case.judge(|inputs| {
                let inputs = [inputs[0], inputs[1], inputs[2]];
                conv2d(cpu, inputs, placement, relu).unwrap()
            });
        }
    }
}

#[test]
fn inputs_in_another_order_in_memory_give_the_same() {
    for case in cases("conv2d ") {
        let (placement, relu) = options(&case);
        case.judge(|inputs| {
            let [x, w, b] = [0, 1, 2].map(|at| scattered(inputs[at]));
            conv2d(Cpu::new(), [&x, &w, &b], placement, relu).unwrap()
        });
    }
}

#[test]
fn gradients_are_finite_differences() {
    for cpu in cpus() {
        for (padding, stride, relu) in [(0, 1, false), (1, 1, true), (0, 2, true), (2, 3, false)] {
            let shapes: [&[usize]; 3] = [&[3, 2, 5, 4], &[3, 2, 3, 3], &[3]];
            check_gradients(&shapes, |inputs| {
                let inputs = [inputs[0], inputs[1], inputs[2]];
                conv2d(cpu, inputs, (padding, stride), relu).unwrap()
            });
        }
    }
}

/// Enough for several tasks, and for several groups of images.
#[test]
fn large_batches_are_those_of_candle_in_float64() {
    let [x, w, b] = [&[37, 3, 20, 20][..], &[16, 3, 5, 5], &[16]]
        .map(|shape| Var::from_tensor(&numbers(shape)).unwrap());
    let [x, w, b] = [&x, &w, &b].map(Var::as_tensor);
    let expected = x.conv2d(w, 1, 1, 1, 1).unwrap();
    let expected = expected
        .broadcast_add(&b.reshape((1, 16, 1, 1)).unwrap())
        .unwrap();
    let weights = numbers(expected.dims());
    let gradients = |ys: &Tensor| {
        (ys * &weights)
            .unwrap()
            .sum_all()
            .unwrap()
            .backward()
            .unwrap()
    };
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let found = pool
            .unwrap()
            .install(|| conv2d(Cpu::new(), [x, w, b], (1, 1), false));
        let found = found.unwrap();
        let close = |a: &Tensor, b: &Tensor| {
            let difference = (a - b).unwrap().abs().unwrap().max_all().unwrap();
            assert!(difference.to_scalar::<f64>().unwrap() < 1e-9);
        };
        close(&found, &expected);
        let (found, expected) = (gradients(&found), gradients(&expected));
        for tensor in [x, w, b] {
            close(found.get(tensor).unwrap(), expected.get(tensor).unwrap());
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let [x, w, b] = [&[37, 3, 20, 20][..], &[16, 3, 5, 5], &[16]]
        .map(|shape| Var::from_tensor(&numbers(shape).to_dtype(DType::F32).unwrap()).unwrap());
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let inputs = [x.as_tensor(), w.as_tensor(), b.as_tensor()];
        pool.unwrap().install(|| {
            let ys = conv2d(Cpu::new(), inputs, (1, 1), true).unwrap();
            let gradients = ys.sum_all().unwrap().backward().unwrap();
            let of = |tensor: &Tensor| tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            let gradients = inputs.map(|input| of(gradients.get(input).unwrap()));
            (of(&ys), gradients)
        })
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn what_is_not_trained_gets_no_gradient() {
    let x = numbers(&[1, 1, 4, 4]);
    let [w, b] = [&[2, 1, 3, 3][..], &[2]].map(|shape| Var::from_tensor(&numbers(shape)).unwrap());
    let inputs = [&x, w.as_tensor(), b.as_tensor()];
    let ys = conv2d(Cpu::new(), inputs, (0, 1), false).unwrap();
    let gradients = ys.sum_all().unwrap().backward().unwrap();
    assert!(gradients.get(&x).is_none());
    assert!(gradients.get(w.as_tensor()).is_some());
}

#[test]
fn shapes_that_do_not_fit_are_errors() {
    let of = |shape: &[usize]| Tensor::zeros(shape, DType::F32, &Device::Cpu).unwrap();
    let run = |x: &[usize], w: &[usize], b: &[usize], placement| {
        conv2d(Cpu::new(), [&of(x), &of(w), &of(b)], placement, false)
    };
    assert!(run(&[1, 2, 3, 3], &[4, 2, 3, 3], &[4], (0, 1)).is_ok());
    for (x, w, b, placement) in [
        (&[1, 2, 3, 3][..], &[4, 3, 3, 3][..], &[4][..], (0, 1)),
        (&[1, 2, 3, 3], &[4, 2, 3, 3], &[3], (0, 1)),
        (&[1, 2, 2, 3], &[4, 2, 3, 3], &[4], (0, 1)),
        (&[1, 2, 3, 3], &[4, 2, 3, 3], &[4], (0, 0)),
        (&[1, 2, 3, 3], &[4, 2, 3, 3], &[4], (usize::MAX, 1)),
        (&[2, 3, 3], &[4, 2, 3, 3], &[4], (0, 1)),
    ] {
        assert!(run(x, w, b, placement).is_err());
    }
}
