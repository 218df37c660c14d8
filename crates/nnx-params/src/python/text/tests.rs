//! Expected texts are those that CPython 3.11 and PyYAML print.

use super::*;
use crate::error::TextForm;
use crate::repr::float::{general, scientific};
use crate::{ErrorKind, Result, State, Value};

#[track_caller]
fn check_float(float: f64, python: &str, yaml: &str) {
    assert_eq!(float_repr(float), python);
    assert_eq!(yaml_float(float), yaml);
}

#[test]
fn floats_change_to_an_exponent_where_python_does() {
    check_float(0.0, "0.0", "0.0");
    check_float(-0.0, "-0.0", "-0.0");
    check_float(100_000.0, "100000.0", "100000.0");
    check_float(0.0001, "0.0001", "0.0001");
    check_float(0.000_05, "5e-05", "5.0e-05");
    check_float(
        1_234_567_890_123_456.0,
        "1234567890123456.0",
        "1234567890123456.0",
    );
    check_float(
        9_999_999_999_999_998.0,
        "9999999999999998.0",
        "9999999999999998.0",
    );
    check_float(1e16, "1e+16", "1.0e+16");
    check_float(1.5e-7, "1.5e-07", "1.5e-07");
    check_float(5e-324, "5e-324", "5.0e-324");
    check_float(
        f64::MAX,
        "1.7976931348623157e+308",
        "1.7976931348623157e+308",
    );
    check_float(f64::INFINITY, "inf", ".inf");
    check_float(f64::NEG_INFINITY, "-inf", "-.inf");
    check_float(f64::NAN, "nan", ".nan");
}

#[test]
fn of_two_nearest_decimals_the_even_one_is_taken() {
    check_float(
        f64::from_bits(0x431b_cf10_eabc_0901),
        "1956873983951424.2",
        "1956873983951424.2",
    );
    check_float(
        f64::from_bits(0xc31f_e49e_23c7_1c49),
        "-2244273033561874.2",
        "-2244273033561874.2",
    );
}

#[test]
fn short_formats_round_to_even() {
    let check = |float, python| assert_eq!(scientific(float, 0), python);
    check(0.95, "9e-01");
    check(2.5, "2e+00");
    check(3.5, "4e+00");
    check(0.0, "0e+00");
    check(95.0, "1e+02");
    check(5e-324, "5e-324");
    let check = |float, python| assert_eq!(general(float), python);
    check(1e-6, "1e-06");
    check(0.0001, "0.0001");
    check(1.25e-9, "1.25e-09");
    check(123_456.0, "123456");
    check(1_234_567.0, "1.23457e+06");
    check(0.5, "0.5");
}

#[track_caller]
fn check_text(text: &str, python: &str, json: &str) {
    assert_eq!(repr(&text.into()), python);
    assert_eq!(json_dumps(&text.into()), json);
    assert_eq!(json_loads(json).unwrap(), text.into());
    assert_eq!(literal_eval(python).unwrap(), text.into());
}

#[test]
fn texts_are_quoted_and_escaped() {
    check_text("it's", r#""it's""#, r#""it's""#);
    check_text("a'b\"c", r#"'a\'b"c'"#, r#""a'b\"c""#);
    check_text("a\\/b", r"'a\\/b'", r#""a\\/b""#);
    check_text(
        "é中😀\n\t\\\0\u{7f}\u{a0}\u{200b}\u{d7ff}",
        r"'é中😀\n\t\\\x00\x7f\xa0\u200b\ud7ff'",
        r#""\u00e9\u4e2d\ud83d\ude00\n\t\\\u0000\u007f\u00a0\u200b\ud7ff""#,
    );
    check_text(
        "\u{e000}\u{10ffff}",
        r"'\ue000\U0010ffff'",
        r#""\ue000\udbff\udfff""#,
    );
    check_text("\u{8}\u{c}\u{2028}", r"'\x08\x0c\u2028'", r#""\b\f\u2028""#);
}

#[test]
fn containers_keep_order() {
    let state = State::from_iter([
        ("b", Value::Tuple(vec![0.9.into()])),
        (
            "a",
            Value::List(vec![Value::None, true.into(), 1.into(), f64::NAN.into()]),
        ),
        ("e", Value::Tuple(Vec::new())),
        ("m", State::new().into()),
    ]);
    let value = Value::from(state);
    assert_eq!(
        repr(&value),
        "{'b': (0.9,), 'a': [None, True, 1, nan], 'e': (), 'm': {}}"
    );
    assert_eq!(
        json_dumps(&value),
        r#"{"b": [0.9], "a": [null, true, 1, NaN], "e": [], "m": {}}"#
    );
}

#[track_caller]
fn check_json(text: &str, expected: &str) {
    assert_eq!(repr(&json_loads(text).unwrap()), expected);
}

#[test]
fn json_is_read_as_python_does() {
    check_json(
        " [ 1 , -0, 1.0, 1E5, -0.0 ] ",
        "[1, 0, 1.0, 100000.0, -0.0]",
    );
    check_json("[NaN, Infinity, -Infinity, 1e999]", "[nan, inf, -inf, inf]");
    check_json(r#"{"b": {}, "a": 1, "b": null}"#, "{'b': None, 'a': 1}");
    check_json(r#""\/\u00E9""#, "'/é'");
    check_json(
        "170141183460469231731687303715884105727",
        "170141183460469231731687303715884105727",
    );
}

#[track_caller]
fn check_json_fails(text: &str, expected: &str) {
    let error = json_loads(text).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn bad_json_is_placed() {
    check_json_fails("", "expected a value in JSON at byte 0, found the end");
    check_json_fails("[1,]", "expected a value in JSON at byte 3, found `]`");
    check_json_fails(
        "{\"é\":01}",
        "expected `,` or `}` in JSON at byte 7, found `1`",
    );
    check_json_fails(
        "{a: 1}",
        "expected a key in double quotes in JSON at byte 1, found `a`",
    );
    check_json_fails(
        "\"a\nb\"",
        "expected a character of a string or its closing quote in JSON at byte 2, found `\\n`",
    );
    check_json_fails(r#""\x""#, "expected an escape in JSON at byte 2, found `x`");
    check_json_fails(
        r#""\ud83d!""#,
        "expected the second half of a surrogate pair in JSON at byte 7, found `!`",
    );
    check_json_fails("1 2", "expected the end in JSON at byte 2, found `2`");
    check_json_fails("-NaN", "expected a digit in JSON at byte 1, found `N`");
    check_json_fails(
        &format!("[{}]", "9".repeat(40)),
        "expected an integer of at most 128 bits in JSON at byte 1, found 40 digits",
    );
}

#[test]
fn nesting_is_bounded() {
    let nested = |open: &str, close: &str, depth| open.repeat(depth) + &close.repeat(depth);
    assert!(json_loads(&nested("[", "]", MAX_DEPTH)).is_ok());
    let error = json_loads(&"[".repeat(1_000_000)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected at most 128 levels of nesting in JSON, found more at byte 129"
    );
    assert!(literal_eval(&nested("[", "]", MAX_DEPTH)).is_ok());
    for (sign, open) in [("", "["), ("", "("), ("-", "(")] {
        let error = literal_eval(&(sign.to_owned() + &open.repeat(1_000_000))).unwrap_err();
        assert_eq!(error.python_exception(), "RecursionError");
    }
}

#[test]
fn the_number_of_values_is_bounded() {
    // The list itself is a value, too.
    let list = |item: &str, count: usize| format!("[{}]", item.repeat(count));
    for read in [json_loads, literal_eval] {
        assert!(read(&list("1,", MAX_VALUES - 2).replace(",]", ",1]")).is_ok());
        let error = read(&list("1,", MAX_VALUES + 1)).unwrap_err();
        let form = match error.kind() {
            ErrorKind::Values { form, .. } => *form,
            kind => panic!("{kind:?}"),
        };
        assert_eq!(
            error.to_string(),
            format!("expected at most 1000000 values in {form}, found more at byte 1999999")
        );
    }
    assert!(literal_eval(&list("((1)),", MAX_VALUES - 1)).is_ok());
    assert!(literal_eval(&list("(1,),", MAX_VALUES / 2)).is_err());
    assert!(literal_eval(&"1,".repeat(MAX_VALUES)).is_err());
    assert!(json_loads(&list("{\"a\":[]},", MAX_VALUES / 2)).is_err());
}

#[test]
fn long_integers_are_refused_at_once() {
    let digits = 2_000_000;
    let check = |read: fn(&str) -> Result<Value>, form| {
        let expected = ErrorKind::IntegerRange {
            form,
            offset: 0,
            digits,
        };
        assert_eq!(*read(&"9".repeat(digits)).unwrap_err().kind(), expected);
    };
    check(json_loads, TextForm::Json);
    check(literal_eval, TextForm::Literal);
    check_literal(&"0".repeat(5000), "0");
    check_literal(&format!("0x{}1", "0".repeat(5000)), "1");
    check_literal(
        &format!("-0b1{}", "0".repeat(127)),
        "-170141183460469231731687303715884105728",
    );
    check_literal(
        &format!("{}.0e-4999", "1".repeat(5000)),
        "1.1111111111111112",
    );
}

#[test]
fn a_sign_stands_before_a_number_without_sign() {
    for text in [
        "-(\t-170141183460469231731687303715884105728)",
        "[-(\t-5)]",
        "[-(\n-5)]",
        "[-(\u{c}-5)]",
        "-(-5)",
        "- (-5)",
        "+(-5)",
        "-(+5)",
        "+(+5)",
        "--5",
        "- -5",
        "+-5",
        "-((-5))",
        "-( -5)",
        "-(-1.5)",
        "-(#c\n-5)",
        "-(True)",
        "-True",
        "-(5,)",
        "-('a')",
        "-()",
        "-([5])",
    ] {
        check_literal_fails(text, "ValueError", "a sign before what is no number");
    }
    check_literal_fails("-(5", "SyntaxError", "byte 3, found the end");
    check_literal_fails("-\n5", "SyntaxError", "byte 1");
    check_literal("- 5", "-5");
    check_literal("-\t5", "-5");
    check_literal("(-5)", "-5");
    check_literal("((-5))", "-5");
    check_literal("(-\n5)", "-5");
    check_literal("(\t-5)", "-5");
    check_literal("-(5)", "-5");
    check_literal("-((5))", "-5");
    check_literal("+( 5)", "5");
    check_literal("-(\t5 )", "-5");
    check_literal("-(#c\n5)", "-5");
    check_literal("-(1.5)", "-1.5");
    check_literal("-(0)", "0");
    check_literal(
        "-(170141183460469231731687303715884105728)",
        "-170141183460469231731687303715884105728",
    );
}

#[track_caller]
fn check_literal(text: &str, expected: &str) {
    assert_eq!(repr(&literal_eval(text).unwrap()), expected);
}

#[test]
fn literals_are_read_as_python_does() {
    check_literal("None", "None");
    check_literal(" [8, 5]", "[8, 5]");
    check_literal("(8)", "8");
    check_literal("8,", "(8,)");
    check_literal("[\n1, # one\n2]\n", "[1, 2]");
    check_literal(
        "\n# none\n[-1, +.5, 5., 1_0.5e1_0]",
        "[-1, 0.5, 5.0, 105000000000.0]",
    );
    check_literal("[0x_1F, 0o17, 0B101, 00, -(1)]", "[31, 15, 5, 0, -1]");
    check_literal(
        r#"['a' "b", r'\n', u'x', '''q"''', '\101\x41\q']"#,
        r#"['ab', '\\n', 'x', 'q"', 'AA\\q']"#,
    );
    check_literal("['tanh', ('elu',), True]", "['tanh', ('elu',), True]");
}

#[track_caller]
fn check_literal_fails(text: &str, exception: &str, offset: &str) {
    let error = literal_eval(text).unwrap_err();
    assert_eq!(error.python_exception(), exception);
    assert!(error.to_string().contains(offset), "{error}");
}

#[test]
fn bad_literals_are_placed() {
    check_literal_fails("", "SyntaxError", "byte 0, found the end");
    check_literal_fails("eight", "ValueError", "byte 0, found a name");
    check_literal_fails("{'a': 1}", "ValueError", "byte 0");
    check_literal_fails("[8", "SyntaxError", "byte 2, found the end");
    check_literal_fails("[1,,2]", "SyntaxError", "byte 3, found `,`");
    check_literal_fails("012", "SyntaxError", "byte 0");
    check_literal_fails("--1", "ValueError", "byte 1");
    check_literal_fails("1 2", "SyntaxError", "byte 2, found `2`");
    check_literal_fails("'a", "SyntaxError", "byte 2, found the end");
    check_literal_fails("b'a'", "ValueError", "byte 0");
    check_literal_fails(&"9".repeat(40), "ValueError", "byte 0, found 40 digits");
}
