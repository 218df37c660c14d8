//! The histories of the real library, read and written.

use nnx_params::{State, Value, python_text};
use nnx_run::history::{from_csv, to_csv};
use nnx_tests::LIBRARY_VERSIONS;

use super::support::{folder, read};

/// Whether two states differ only where 0.2.3's parser misreads: floats, by one unit in the last
/// place.
fn is_close(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.to_bits().abs_diff(b.to_bits()) <= 1,
        (Value::Map(a), Value::Map(b)) => {
            let pairs = || a.iter().zip(b.iter());
            a.len() == b.len() && pairs().all(|((k, v), (l, w))| k == l && is_close(v, w))
        }
        (a, b) => a == b,
    }
}

#[test]
fn every_case_reads_and_writes_as_in_python() {
    for version in LIBRARY_VERSIONS {
        let cases = read(version, "csv.json");
        let mut misread = 0;
        for (name, case) in cases.state() {
            let at = format!("{version}/{name}");
            let case = nnx_tests::Json(case.clone());
            let text = case.get("text");
            let path = folder(version).join(format!("csv/{name}.csv"));
            assert_eq!(std::fs::read_to_string(path).unwrap(), text.text(), "{at}");

            let records = from_csv(text.text().as_bytes()).unwrap();
            let states: Vec<State> = records.iter().map(|record| record.state()).collect();
            let expected = case.get("states_after").items();
            assert_eq!(states.len(), expected.len(), "{at}");
            for (state, expected) in states.iter().zip(&expected) {
                let state = Value::Map(state.clone());
                if version == "0.2.3" && state != expected.0 {
                    misread += 1;
                    assert!(is_close(&state, &expected.0), "{at}: {state:?}");
                } else {
                    assert_eq!(
                        python_text::repr(&state),
                        python_text::repr(&expected.0),
                        "{at}"
                    );
                }
            }
            assert_eq!(to_csv(&records).unwrap(), text.text(), "{at}");

            // The recorded states give the same text, not-a-numbers and integers included.
            let recorded = case.get("states_before").items();
            let recorded: Vec<_> = recorded
                .iter()
                .map(|state| nnx_params::NNIterationDataPoint::from_state(state.state()).unwrap())
                .collect();
            assert_eq!(to_csv(&recorded).unwrap(), text.text(), "{at} as recorded");
        }
        let count = cases.state().len();
        assert_eq!(count, if version == "0.4.1" { 10 } else { 8 });
        println!("{version} csv.json: {count} cases judged, {misread} rows that 0.2.3 misreads");
    }
}

#[test]
fn a_column_of_a_later_version_is_kept() {
    let text = ",lr,iter_idx,epoch_idx,batch_idx,later,val_edp,train_edp.f1,train_edp.recall,\
                train_edp.accuracy,train_edp.precision,train_edp.loss,train_edp.error\n\
                0,0.01,0,0,0,a b,,0.5,0.5,0.5,0.5,0.5,0.5\n";
    let records = from_csv(text.as_bytes()).unwrap();
    assert_eq!(records[0].unknown().get("later"), Some(&Value::from("a b")));
    let written = to_csv(&records).unwrap();
    assert_eq!(from_csv(written.as_bytes()).unwrap(), records);
}

#[track_caller]
fn check_fails(text: &str, part: &str) {
    let error = from_csv(text.as_bytes()).unwrap_err().to_string();
    assert!(error.contains(part), "{error}");
}

#[test]
fn what_is_no_history_is_refused() {
    check_fails("", "a history with a header");
    check_fails(",lr\n0,1\n", "expected the column `iter_idx`");
    check_fails(",lr,lr\n", "found `lr` twice");
    let header = ",lr,iter_idx,epoch_idx,batch_idx\n";
    check_fails(
        &format!("{header}0,1,2,3,4,5\n"),
        "expected 5 cells in row 0",
    );
    check_fails(
        &format!("{header}0,0.1,2,3,4\n1,fast,2,3,4\n2,0.1,2,3,4\n"),
        "a number in the column `lr` of the history, found `fast` in row 1",
    );
    check_fails(
        &format!(
            "{}\n0,1,2,3,4,oops\n",
            header.trim_end().to_owned() + ",val_edp.loss"
        ),
        "the column `val_edp.loss` of the history, found `oops` in row 0",
    );
    let broken = [header.as_bytes(), b"0,1,2,3,\xff\n"].concat();
    assert!(from_csv(&broken).unwrap_err().to_string().contains("UTF-8"));
}
