//! Each feature of each published crate, alone.

use super::succeed;
use crate::Result;
use crate::workspace::{Package, cargo, line_of};

/// Checks that a package builds with each feature alone; `default` is built in other steps.
pub(super) fn check(package: &Package) -> Result<()> {
    for name in package.feature_names().filter(|name| *name != "default") {
        let mut check = cargo();
        check.args(["check", "--quiet", "--package", &package.name]);
        check.args(["--no-default-features", "--features", name]);
        println!("{}", line_of(&check));
        succeed(&mut check)?;
    }
    Ok(())
}
