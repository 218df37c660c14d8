//! Modules that look like quantised ones. The names below PyTorch's own are judged over fixtures
//! that it wrote.

use super::*;

const CONV: (&str, &str) = ("torch.ao.nn.quantized.modules.conv", "Conv2d");

/// A module with no parameters, `scale` 0.5 and a tensor among its attributes.
fn module(b: &mut TorchBuilder, (module, name): (&str, &str)) -> NodeId {
    let [parameters, buffers, modules] = ["_parameters", "_buffers", "_modules"].map(|name| {
        let empty = b.dict(Vec::new());
        (name, empty)
    });
    let scale = b.float(0.5);
    let weight = b.tensor(&tensor(1)).unwrap();
    let attributes = [
        parameters,
        buffers,
        modules,
        ("scale", scale),
        ("w", weight),
    ];
    let state = dict(b, &attributes);
    b.instance(module, name, state)
}

#[test]
fn a_class_of_another_library_adds_nothing_to_its_state_dict() {
    let left_out = ", which the module's `state_dict()` leaves out";
    let tensor = format!("a uint8 tensor of shape [2]{left_out}");
    let others = [("scale", "the float `0.5`"), ("w", &*tensor)];
    check(|b| module(b, ("mine.quantized", "Linear")), &[], &others);
    check(|b| module(b, ("torch.nn.modules", "Linear")), &[], &others);
    let one = ("torch.ao.nn.quantized.modules.linear", "Linear");
    check(|b| module(b, one), &["scale"], &others[1..]);
    // The name of these classes before PyTorch 1.13.
    let one = ("torch.nn.quantized.modules.linear", "Linear");
    check(|b| module(b, one), &["scale"], &others[1..]);
    let one = ("torch.ao.nn.quantized.modules.activation", "ELU");
    check(|b| module(b, one), &[], &others);
}

#[test]
fn a_scale_that_is_a_tensor_or_no_number_is_what_it_is() {
    let of_scale = |b: &mut TorchBuilder, scale: NodeId| {
        let [parameters, buffers, modules] = ["_parameters", "_buffers", "_modules"].map(|name| {
            let empty = b.dict(Vec::new());
            (name, empty)
        });
        let state = dict(b, &[parameters, buffers, modules, ("scale", scale)]);
        b.instance("torch.ao.nn.quantized.modules.linear", "Linear", state)
    };
    check(
        |b| {
            let scale = b.tensor(&tensor(1)).unwrap();
            of_scale(b, scale)
        },
        &["scale"],
        &[],
    );
    check(
        |b| {
            let scale = b.text("wide");
            let module = of_scale(b, scale);
            b.list(vec![module])
        },
        &[],
        &[(
            "0",
            "an object of `torch.ao.nn.quantized.modules.linear.Linear`",
        )],
    );
}

#[test]
fn a_convolution_of_another_length_is_told_by_places() {
    let convolution = |b: &mut TorchBuilder, members: usize| {
        let zero = b.int(0);
        let weight = b.tensor(&tensor(1)).unwrap();
        let mut state = vec![zero; members];
        state[10] = weight;
        let state = b.tuple(state);
        b.instance(CONV.0, CONV.1, state)
    };
    let names = |members: usize| {
        let reader = open(file(|b| convolution(b, members)), Limits::default()).unwrap();
        let names = reader.tensors().iter().map(|entry| entry.name().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(15), ["weight", "scale", "zero_point"]);
    assert_eq!(names(14), ["10"]);
    assert_eq!(names(16), ["10"]);
}
