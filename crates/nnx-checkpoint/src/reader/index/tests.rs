use super::*;
use crate::open::{SEARCHED_BYTES, looks_like_an_index};

fn text(json: &[u8]) -> ByteRange {
    bytes::Bytes::copy_from_slice(json).into()
}

#[track_caller]
fn outside(shard: &str) {
    let error = check_shard(shard).unwrap_err();
    match error.kind() {
        ErrorKind::PathTraversal { shard: found } => assert_eq!(found, shard),
        _ => panic!("{error}"),
    }
}

#[test]
fn shards_lie_in_the_folder_of_their_index_or_below() {
    check_shard("model-1.safetensors").unwrap();
    check_shard("part/model-1.safetensors").unwrap();
    for shard in [
        "",
        "..",
        ".",
        "../x",
        "a/../../x",
        "/etc/passwd",
        "C:\\x",
        "C:x",
        "..\\x",
        "a\0b",
        "a/..",
    ] {
        outside(shard);
    }
}

#[track_caller]
fn refused(json: &str, expected: &str) {
    let error = parse(&text(json.as_bytes()), &Limits::default()).unwrap_err();
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn an_index_keeps_its_order_and_names_nothing_twice() {
    let json = r#"{"metadata": {"total_size": 3}, "weight_map": {"b": "2", "a": "1"}, "x": [1]}"#;
    let index = parse(&text(json.as_bytes()), &Limits::default()).unwrap();
    assert!(index.metadata.is_empty());
    assert_eq!(
        index.weights.into_iter().collect::<Vec<_>>(),
        [
            ("b".to_owned(), "2".to_owned()),
            ("a".to_owned(), "1".to_owned()),
        ]
    );
    refused(
        r#"{"weight_map": {"a": "1", "a": "2"}}"#,
        "the key `a` stands there twice",
    );
    refused(
        r#"{"weight_map": {}, "weight_map": {}}"#,
        "`weight_map` stands there twice",
    );
    refused(r#"{"metadata": {}}"#, "missing field `weight_map`");
    refused(r#"{"weight_map": {"a": 1}}"#, "expected a string");
    refused(r#"{"weight_map": {}} x"#, "trailing");
    let small = Limits::default().max_header_bytes(10);
    let error = parse(&text(br#"{"weight_map": {}}"#), &small).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::LimitExceeded { .. }),
        "{error}"
    );
}

#[test]
fn metadata_are_texts_or_passed_over() {
    let texts = |metadata: &str| {
        let json = format!(r#"{{"metadata": {metadata}, "weight_map": {{}}}}"#);
        let index = parse(&text(json.as_bytes()), &Limits::default()).unwrap();
        index.metadata.into_iter().collect::<Vec<_>>()
    };
    let tied = texts(r#"{"total_size": 3, "a.b": "c.d", "x": {"y": [1, null]}, "z": true}"#);
    assert_eq!(tied, [("a.b".to_owned(), "c.d".to_owned())]);
    for other in ["[1]", "null", "3", "\"a\"", "{}"] {
        assert_eq!(texts(other), []);
    }
}

#[test]
fn an_index_is_told_wherever_its_key_is() {
    let padded = |spaces: usize, rest: &str| {
        let json = format!("{{{}{rest}", " ".repeat(spaces));
        looks_like_an_index(&text(json.as_bytes())).unwrap()
    };
    let searched = usize::try_from(SEARCHED_BYTES).unwrap();
    // The key begins in one piece and ends in the next.
    for spaces in [
        0,
        searched - 14,
        searched - 13,
        searched - 5,
        searched,
        2 * searched,
    ] {
        assert!(padded(spaces, "\"weight_map\": {}}"), "{spaces}");
        assert!(!padded(spaces, "\"weight_mop\": {}}"), "{spaces}");
    }
    assert!(!looks_like_an_index(&text(b"[\"weight_map\"]")).unwrap());
    assert!(!looks_like_an_index(&text(b"")).unwrap());
}
