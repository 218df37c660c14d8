//! The meaning of a plain scalar by the implicit rules of YAML 1.1, those of PyYAML's resolver.

use crate::value::Value;

/// The meaning of a plain scalar.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolved {
    /// A text.
    Text,
    /// A value of another type.
    Value(Value),
    /// A type that no state holds: a timestamp, a merge key, the value key, a number too large.
    Foreign(&'static str),
}

/// Resolves a plain scalar, by the implicit rules of YAML 1.1 as PyYAML has them.
///
/// ```
/// use nnx_params::Value;
/// use nnx_params::yaml::{Resolved, resolve};
///
/// assert_eq!(resolve("1e5"), Resolved::Text);
/// assert_eq!(resolve("012"), Resolved::Value(Value::Int(10)));
/// assert_eq!(resolve("no"), Resolved::Value(Value::Bool(false)));
/// ```
pub fn resolve(text: &str) -> Resolved {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Resolved::Value(Value::None),
        "<<" => return Resolved::Foreign("a merge key"),
        "=" => return Resolved::Foreign("the value key `=`"),
        _ => {}
    }
    if let Some(flag) = flag(text) {
        return Resolved::Value(Value::Bool(flag));
    }
    if let Some(float) = float(text) {
        return Resolved::Value(Value::Float(float));
    }
    match integer(text) {
        Some(Some(integer)) => return Resolved::Value(Value::Int(integer)),
        Some(None) => return Resolved::Foreign("an integer of more than 128 bits"),
        None => {}
    }
    if is_timestamp(text) {
        return Resolved::Foreign("a timestamp");
    }
    Resolved::Text
}

fn flag(text: &str) -> Option<bool> {
    match text {
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Some(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

fn all(text: &str, is_member: impl Fn(u8) -> bool) -> bool {
    text.bytes().all(is_member)
}

fn is_digit_or_underscore(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'_'
}

/// A digit, then digits and underscores.
fn is_grouped(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit()) && all(text, is_digit_or_underscore)
}

/// `:` and a number below 60, at least once.
fn sexagesimal(parts: &[&str]) -> bool {
    !parts.is_empty()
        && parts.iter().all(|part| match part.as_bytes() {
            [digit] => digit.is_ascii_digit(),
            [b'0'..=b'5', digit] => digit.is_ascii_digit(),
            _ => false,
        })
}

fn float(text: &str) -> Option<f64> {
    let body = unsigned(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    match body {
        ".inf" | ".Inf" | ".INF" => return Some(sign * f64::INFINITY),
        _ => {}
    }
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(f64::NAN);
    }
    let (whole, fraction) = body.split_once('.')?;
    if let Some((first, rest)) = whole.split_once(':') {
        let rest: Vec<&str> = rest.split(':').collect();
        if !(is_grouped(first) && sexagesimal(&rest) && all(fraction, is_digit_or_underscore)) {
            return None;
        }
        let last = format!("{}.{fraction}", rest.last()?).replace('_', "");
        let head = std::iter::once(first).chain(rest.iter().copied());
        let mut value = 0.0;
        let count = rest.len();
        for (index, part) in head.enumerate() {
            let part = if index == count {
                last.clone()
            } else {
                part.replace('_', "")
            };
            value = value * 60.0 + part.parse::<f64>().ok()?;
        }
        return Some(sign * value);
    }
    let (fraction_digits, exponent) = match fraction.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, Some(exponent)),
        None => (fraction, None),
    };
    let has_valid_exponent = exponent.is_none_or(|exponent| {
        exponent
            .strip_prefix(['-', '+'])
            .is_some_and(|digits| !digits.is_empty() && all(digits, |byte| byte.is_ascii_digit()))
    });
    let is_valid = if whole.is_empty() {
        // Without digits before the dot YAML 1.1 knows no sign.
        body == text && is_grouped(fraction_digits)
    } else {
        is_grouped(whole) && all(fraction_digits, is_digit_or_underscore)
    };
    if !(is_valid && has_valid_exponent) {
        return None;
    }
    body.replace('_', "")
        .parse::<f64>()
        .ok()
        .map(|value| sign * value)
}

/// An integer; `Some(None)` is one that 128 bits do not hold.
fn integer(text: &str) -> Option<Option<i128>> {
    let body = unsigned(text);
    let (radix, digits) = if let Some(digits) = body.strip_prefix("0b") {
        let is_member = |byte| matches!(byte, b'0' | b'1' | b'_');
        let is_binary = !digits.is_empty() && all(digits, is_member);
        (2, Some(digits).filter(|_| is_binary)?)
    } else if let Some(digits) = body.strip_prefix("0x") {
        let is_member = |byte: u8| byte.is_ascii_hexdigit() || byte == b'_';
        let is_hexadecimal = !digits.is_empty() && all(digits, is_member);
        (16, Some(digits).filter(|_| is_hexadecimal)?)
    } else if body == "0" {
        (10, body)
    } else if let Some(digits) = body.strip_prefix('0') {
        let is_octal = all(digits, |byte| matches!(byte, b'0'..=b'7' | b'_'));
        (8, Some(digits).filter(|_| is_octal)?)
    } else if let Some((first, rest)) = body.split_once(':') {
        let rest: Vec<&str> = rest.split(':').collect();
        if !(is_grouped(first) && sexagesimal(&rest)) {
            return None;
        }
        let mut value = first.replace('_', "").parse::<i128>().ok();
        for part in rest {
            let part = part.parse::<i128>().ok()?;
            value = value.and_then(|value| value.checked_mul(60)?.checked_add(part));
        }
        return Some(signed(text, value));
    } else {
        (10, Some(body).filter(|body| is_grouped(body))?)
    };
    let digits = digits.replace('_', "");
    if digits.is_empty() {
        // Python raises for `0b_` and gives 0 for `0_`; neither is ever written.
        return Some(if radix == 8 { Some(0) } else { None });
    }
    Some(signed(text, i128::from_str_radix(&digits, radix).ok()))
}

fn signed(text: &str, value: Option<i128>) -> Option<i128> {
    if text.starts_with('-') {
        value.and_then(i128::checked_neg)
    } else {
        value
    }
}

/// Digits of which there must be from so many to so many.
fn digits(text: &str, least: usize, most: usize) -> Option<&str> {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    // The longest run counts: the character behind it is never a digit in this grammar.
    (least..=most).contains(&count).then(|| text.get(count..))?
}

/// A date, or a date and a time, as YAML 1.1 spells them.
fn is_timestamp(text: &str) -> bool {
    fn date_and_time(text: &str) -> Option<()> {
        let rest = digits(text, 4, 4)?.strip_prefix('-')?;
        let rest = digits(rest, 1, 2)?.strip_prefix('-')?;
        let rest = digits(rest, 1, 2)?;
        if rest.is_empty() {
            let is_padded = text.len() == "0000-00-00".len();
            return is_padded.then_some(());
        }
        let rest = match rest.strip_prefix(['T', 't']) {
            Some(rest) => rest,
            None => {
                let time = rest.trim_start_matches([' ', '\t']);
                Some(time).filter(|time| time.len() < rest.len())?
            }
        };
        let rest = digits(rest, 1, 2)?.strip_prefix(':')?;
        let rest = digits(rest, 2, 2)?.strip_prefix(':')?;
        let rest = digits(rest, 2, 2)?;
        let rest = match rest.strip_prefix('.') {
            Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
            None => rest,
        };
        let zone = rest.trim_start_matches([' ', '\t']);
        if rest.is_empty() || zone == "Z" {
            return Some(());
        }
        let rest = digits(zone.strip_prefix(['-', '+'])?, 1, 2)?;
        if rest.is_empty() {
            return Some(());
        }
        let rest = digits(rest.strip_prefix(':')?, 2, 2)?;
        rest.is_empty().then_some(())
    }
    date_and_time(text).is_some()
}
