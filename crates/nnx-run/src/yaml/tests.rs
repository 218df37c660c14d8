//! Texts that PyYAML 6.0.4 writes; `cargo xtask runs` compares thousands of random ones.

use nnx_params::{State, Value};

use super::{from_yaml, to_yaml};

fn text(text: &str) -> Value {
    Value::from(text)
}

fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(State::from_iter(entries))
}

#[track_caller]
fn check(value: &Value, expected: &str) {
    let state = value.as_map().unwrap();
    assert_eq!(to_yaml(state), expected);
    let read = from_yaml(expected).unwrap();
    assert_eq!(to_yaml(read.as_map().unwrap()), expected);
}

#[test]
fn texts_are_quoted_escaped_and_folded_as_in_python() {
    check(
        &map([(
            "k",
            text(
                "x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x ",
            ),
        )]),
        "k: 'x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x\n  x x x x x x x x x x x x x x x x x x x x x '\n",
    );
    check(
        &map([(
            "k",
            text(
                "it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's ",
            ),
        )]),
        "k: 'it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s\n  it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s\n  it''s it''s it''s '\n",
    );
    check(
        &map([(
            "k",
            text(
                "\tword word word word word word word word word word word word word word word word word word word word word word word word word word word word word word ",
            ),
        )]),
        "k: \"\\tword word word word word word word word word word word word word word word word\\\n  \\ word word word word word word word word word word word word word word \"\n",
    );
    check(
        &map([("k", text("éééééééééééééééééééééééééééééééééééééééé"))]),
        "k: \"\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\\n  \\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\\xE9\"\n",
    );
    check(&map([("k", text("a\nb"))]), "k: 'a\n\n  b'\n");
    check(
        &map([("k", text("a\n\nb c\n"))]),
        "k: 'a\n\n\n  b c\n\n  '\n",
    );
    check(&map([("k", text("a \nb"))]), "k: \"a \\nb\"\n");
    check(&map([("k", text("\n"))]), "k: '\n\n  '\n");
    check(
        &map([(
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            Value::Int(1),
        )]),
        "? xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n: 1\n",
    );
    check(
        &map([(
            "a\nb",
            Value::List(vec![
                Value::Int(1),
                Value::List(vec![Value::Int(2), map([("c", Value::None)])]),
            ]),
        )]),
        "? 'a\n\n  b'\n: - 1\n  - - 2\n    - c: null\n",
    );
    check(&map([("", text(""))]), "? ''\n: ''\n");
    check(
        &map([(
            "k",
            Value::List(vec![
                text("- x"),
                map([
                    (
                        "a",
                        text(
                            "y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y ",
                        ),
                    ),
                    ("b", Value::List(vec![Value::List(vec![])])),
                ]),
            ]),
        )]),
        "k:\n- '- x'\n- a: 'y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y y\n    y y y y y y y y y y y y '\n  b:\n  - []\n",
    );
    check(
        &map([(
            "k",
            text(
                "\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"",
            ),
        )]),
        "k: \\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\\ \"\n",
    );
    check(
        &map([("yes", text("#")), ("? ", text(": ")), ("-", text("-a"))]),
        "'-': -a\n'? ': ': '\n'yes': '#'\n",
    );
    check(
        &map([
            (
                "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
                map([("a", Value::Int(1))]),
            ),
            (
                "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
                Value::List(vec![Value::Int(1), Value::Int(2)]),
            ),
        ]),
        "? yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\n: - 1\n  - 2\n? zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz\n: a: 1\n",
    );
}
