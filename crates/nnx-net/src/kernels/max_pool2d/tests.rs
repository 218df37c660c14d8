use candle_core::{Device, Tensor};

use super::max_pool2d;
use crate::kernels::cpu::Cpu;
use crate::kernels::tests::{cases, check_gradients, scattered};

#[test]
fn results_and_gradients_are_those_of_torch() {
    for case in cases("max_pool2d ") {
        let size = case.option("size");
        case.judge(|inputs| max_pool2d(Cpu::new(), inputs[0], size).unwrap());
        case.judge(|inputs| max_pool2d(Cpu::new(), &scattered(inputs[0]), size).unwrap());
    }
}

#[test]
fn gradients_are_finite_differences() {
    for (shape, size) in [([2, 3, 5, 4], 2), ([1, 1, 7, 3], 3), ([1, 2, 3, 3], 1)] {
        check_gradients(&[&shape], |inputs| {
            max_pool2d(Cpu::new(), inputs[0], size).unwrap()
        });
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let xs = crate::kernels::tests::numbers(&[7, 20, 40, 31]);
    let ys = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let ys = pool
            .unwrap()
            .install(|| max_pool2d(Cpu::new(), &xs, 3))
            .unwrap();
        ys.flatten_all().unwrap().to_vec1::<f64>().unwrap()
    };
    assert_eq!(ys(1), ys(3));
}

#[test]
fn squares_larger_than_the_image_leave_nothing() {
    let xs = Tensor::new(&[[[[1_f32, 2.0], [3.0, 4.0]]]], &Device::Cpu).unwrap();
    assert_eq!(max_pool2d(Cpu::new(), &xs, 3).unwrap().dims(), [1, 1, 0, 0]);
    assert!(max_pool2d(Cpu::new(), &xs, 0).is_err());
}
