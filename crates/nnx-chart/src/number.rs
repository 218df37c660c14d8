//! The text of a number.

/// The number of significant digits.
const DIGITS: i32 = 6;

/// A number with six significant digits and without zeros at the end; a very large or small number
/// has an exponent. Marks show numbers in this form.
///
/// ```
/// assert_eq!(nnx_chart::six_digits(0.880_101_025), "0.880101");
/// assert_eq!(nnx_chart::six_digits(2.5e12), "2.5e12");
/// ```
pub fn six_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    // Rounding may add a digit before the point, so the exponent is that of the rounded number.
    let rounded = format!("{value:.*e}", (DIGITS - 1) as usize);
    let Some((digits, exponent)) = rounded.split_once('e') else {
        return rounded;
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if !(-4..DIGITS + 3).contains(&exponent) {
        return format!("{}e{exponent}", without_zeros(digits));
    }
    let decimals = (DIGITS - 1 - exponent).max(0) as usize;
    without_zeros(&format!("{value:.decimals$}")).to_owned()
}

fn without_zeros(digits: &str) -> &str {
    if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected texts are those of C's `%.6g` where it does not write an exponent.
    #[track_caller]
    fn check(value: f64, expected: &str) {
        assert_eq!(six_digits(value), expected);
    }

    #[test]
    fn numbers_have_six_digits() {
        check(0.0, "0");
        check(0.25, "0.25");
        check(0.880_101_025_104_522_7, "0.880101");
        check(0.999_999_96, "1");
        check(-12.345_678_9, "-12.3457");
        check(123_456.0, "123456");
        check(99_999.999, "100000");
        check(0.000_123_456_78, "0.000123457");
        check(1e-7, "1e-7");
        check(2.5e12, "2.5e12");
        check(f64::MAX, "1.79769e308");
        check(5e-324, "4.94066e-324");
        check(f64::NAN, "NaN");
        check(f64::NEG_INFINITY, "-inf");
    }
}
