use super::*;

/// Every pattern of one byte: how many are finite, NaN and infinite, the sum of the finite
/// magnitudes, and the value of 0x3a; all as torch has them.
#[track_caller]
fn check_bytes(dtype: Dtype, counts: [usize; 3], sum: f64, sample: f64) {
    let values: Vec<f64> = (0..=u8::MAX)
        .map(|byte| float(dtype, &[byte]).unwrap())
        .collect();
    check_values(&values, counts, sum);
    assert_eq!(values[0x3a], sample);
}

#[track_caller]
fn check_values(values: &[f64], counts: [usize; 3], sum: f64) {
    let count = |test: fn(f64) -> bool| values.iter().filter(|value| test(**value)).count();
    assert_eq!(
        [
            count(f64::is_finite),
            count(f64::is_nan),
            count(f64::is_infinite)
        ],
        counts
    );
    let finite = values.iter().filter(|value| value.is_finite());
    assert_eq!(finite.map(|value| value.abs()).sum::<f64>(), sum);
}

#[test]
fn small_floats_have_the_values_of_torch() {
    check_bytes(Dtype::Float8E4M3Fn, [254, 2, 0], 10_815.75, 1.25);
    check_bytes(Dtype::Float8E5M2, [248, 6, 2], 720_895.999_511_718_8, 0.75);
    check_bytes(Dtype::Float8E4M3FnUz, [255, 1, 0], 5_887.875, 0.625);
    check_bytes(
        Dtype::Float8E5M2FnUz,
        [255, 1, 0],
        720_895.999_755_859_4,
        0.375,
    );
    let halves: Vec<f64> = (0..=u16::MAX)
        .map(|bits| float(Dtype::Float16, &bits.to_le_bytes()).unwrap())
        .collect();
    check_values(&halves, [63_488, 2_046, 2], 201_261_055.875);
    assert_eq!(halves[1], 5.960_464_477_539_063e-8);
    assert_eq!(halves[0xfbff], -65_504.0);
}

#[test]
fn floats_that_are_all_exponent_have_the_values_of_torch() {
    let value = |byte| float(Dtype::Float8E8M0Fnu, &[byte]).unwrap();
    assert_eq!(value(0x01), f64::from(f32::MIN_POSITIVE));
    assert_eq!(value(0x7f), 1.0);
    assert_eq!(value(0xb5), 18_014_398_509_481_984.0);
    assert!(value(0xff).is_nan());
}

#[track_caller]
fn check(dtype: Dtype, left: &[u8], right: &[u8], expected: (u64, Option<f64>)) {
    let found = compare(dtype, left, right);
    assert_eq!(format!("{found:?}"), format!("{expected:?}"));
}

fn floats(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

#[test]
fn the_largest_difference_is_found() {
    let (a, b) = (floats(&[1.0, 2.0, 3.0]), floats(&[1.0, 2.5, 1.0]));
    check(Dtype::Float32, &a, &b, (2, Some(2.0)));
    check(Dtype::Int32, &a, &b, (2, None));
    check(
        Dtype::Float32,
        &floats(&[0.0]),
        &floats(&[-0.0]),
        (1, Some(0.0)),
    );
}

#[test]
fn a_nan_against_a_number_is_larger_than_any_difference() {
    let (a, b) = (floats(&[f32::NAN, 1.0]), floats(&[1.0, 9.0]));
    check(Dtype::Float32, &a, &b, (2, Some(f64::NAN)));
    check(Dtype::Float32, &b, &a, (2, Some(f64::NAN)));
    let quiet = f32::from_bits(0x7fc0_0001);
    check(
        Dtype::Float32,
        &floats(&[f32::NAN]),
        &floats(&[quiet]),
        (1, Some(0.0)),
    );
    let (plus, minus) = (floats(&[f32::INFINITY]), floats(&[f32::NEG_INFINITY]));
    check(Dtype::Float32, &plus, &minus, (1, Some(f64::INFINITY)));
}

#[test]
fn complex_numbers_are_as_far_apart_as_in_the_plane() {
    let (a, b) = (floats(&[3.0, 4.0]), floats(&[0.0, 0.0]));
    check(Dtype::Complex64, &a, &b, (1, Some(5.0)));
    let nan = floats(&[f32::INFINITY, f32::NAN]);
    check(Dtype::Complex64, &nan, &b, (1, Some(f64::NAN)));
}

#[test]
fn two_floats_in_a_byte_are_compared_one_by_one() {
    // The values of a nibble: 0, 0.5, 1, 1.5, 2, 3, 4, 6, and the same negative.
    check(Dtype::Float4E2M1FnX2, &[0x07], &[0xf6], (1, Some(6.0)));
    check(Dtype::Float4E2M1FnX2, &[0x07], &[0x05], (1, Some(3.0)));
}
