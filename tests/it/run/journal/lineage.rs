//! The lineage of runs whose parents changed, as the real library takes it.

use std::fs;

use nnx_run::journal::{Lineage, iter_history};
use nnx_tests::Json;

use super::{all_of, check_digest, copy_of_all, read};

#[test]
fn every_lineage_is_the_librarys() {
    let (mut cases, mut errors, mut warned) = (0, 0, 0);
    for case in read("lineages.json").items() {
        let at = case.get("name").text().to_owned();
        let root = copy_of_all();
        for (path, content) in case.get("edits").state() {
            let path = root.path().join("runs").join(path);
            if content.is_none() {
                fs::remove_file(path).unwrap()
            } else {
                fs::write(path, Json(content.clone()).text()).unwrap()
            }
        }
        let id = case.get("run");
        let found = all_of(id.text(), root.path(), Lineage::Included);
        let expected = case.get("lineage");
        match expected.find("value") {
            Some(value) => {
                check_digest(
                    &found.unwrap_or_else(|error| panic!("{at}: {error}")),
                    &value,
                    &at,
                );
                let history = iter_history(id.text(), root.path(), Lineage::Included).unwrap();
                let warnings = expected.find("warnings").map_or(0, |it| it.items().len());
                assert_eq!(history.warnings().len(), warnings, "{at}");
                warned += usize::from(warnings > 0);
            }
            None => {
                assert!(found.is_err(), "{at}: {}", expected.get("error").text());
                errors += 1;
            }
        }
        cases += 1;
    }
    println!("{cases} lineages judged: {errors} errors, {warned} with warnings");
    assert!(cases >= 25 && errors >= 2 && warned >= 8);
}
