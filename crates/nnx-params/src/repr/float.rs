//! Floats in Python's formats.

/// Formats a float as Python's `repr`: the shortest decimal that reads back as the same float.
///
/// ```
/// use nnx_params::python_text::float_repr;
///
/// assert_eq!(float_repr(1.0), "1.0");
/// assert_eq!(float_repr(1e-5), "1e-05");
/// assert_eq!(float_repr(f64::NEG_INFINITY), "-inf");
/// ```
pub fn float_repr(float: f64) -> String {
    if float.is_nan() {
        return "nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let (mantissa, exponent) = shortest(float);
    if !(-4..16).contains(&exponent) {
        return format!("{mantissa}{}", exponent_text(exponent));
    }
    // As many digits after the dot as the mantissa has beyond the exponent, and at least one.
    let digits = mantissa.chars().filter(char::is_ascii_digit).count();
    let decimals = i32::try_from(digits).unwrap_or(i32::MAX) - 1 - exponent;
    let decimals = usize::try_from(decimals).unwrap_or_default().max(1);
    format!("{float:.decimals$}")
}

/// The shortest mantissa that reads back as the same float, and its decimal exponent.
fn shortest(float: f64) -> (String, i32) {
    let text = format!("{float:e}");
    let (mantissa, exponent) = split(&text);
    // Where two mantissas of this length are equally near, Rust takes the upper one and Python the
    // even one, as rounding to this length does.
    let decimals = mantissa
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    let rounded = format!("{float:.decimals$e}");
    if rounded.parse() == Ok(float) {
        split(&rounded)
    } else {
        (mantissa, exponent)
    }
}

/// Formats a float as PyYAML does: its `repr`, with a dot in front of every exponent.
///
/// A YAML 1.1 reader takes `1e-05` for a text and `1.0e-05` for a float.
///
/// ```
/// use nnx_params::python_text::yaml_float;
///
/// assert_eq!(yaml_float(1e-5), "1.0e-05");
/// assert_eq!(yaml_float(f64::INFINITY), ".inf");
/// ```
pub fn yaml_float(float: f64) -> String {
    if float.is_nan() {
        return ".nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let text = float_repr(float);
    if text.contains('.') {
        text
    } else {
        text.replace('e', ".0e")
    }
}

/// Formats a finite float as Python's `%.<decimals>e`.
pub(crate) fn scientific(float: f64, decimals: usize) -> String {
    let (mantissa, exponent) = split(&format!("{float:.decimals$e}"));
    format!("{mantissa}{}", exponent_text(exponent))
}

/// Formats a finite float as Python's `%g`: six significant digits, trailing zeros dropped.
pub(crate) fn general(float: f64) -> String {
    const SIGNIFICANT: i32 = 6;
    let (mantissa, exponent) = split(&format!("{float:.5e}"));
    if (-4..SIGNIFICANT).contains(&exponent) {
        let decimals = usize::try_from(SIGNIFICANT - 1 - exponent).unwrap_or_default();
        without_trailing_zeros(&format!("{float:.decimals$}")).to_owned()
    } else {
        format!(
            "{}{}",
            without_trailing_zeros(&mantissa),
            exponent_text(exponent)
        )
    }
}

/// The mantissa and the decimal exponent of a text that Rust's `{:e}` wrote.
fn split(text: &str) -> (String, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    // Rust writes the exponent of a finite float as a plain integer of at most three digits.
    (mantissa.to_owned(), exponent.parse().unwrap_or_default())
}

/// The exponent as Python writes it: signed, of at least two digits.
fn exponent_text(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("e{sign}{:02}", exponent.unsigned_abs())
}

fn without_trailing_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}
