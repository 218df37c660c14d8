//! `cargo xtask store`: the command `nnx` against servers of object stores on the loopback
//! interface.
//!
//! The server of S3 is `moto`, which is installed in a `venv` of its own. That of Azure is Azurite,
//! if it is given.

mod checks;
mod servers;

use std::path::{Path, PathBuf};
use std::process::Command;

use self::checks::Bucket;
use self::servers::{Azurite, Moto};
use crate::workspace::{cargo, output};
use crate::{Arguments, Result, python_env};

/// The most uploads to Azurite that are killed.
const AZURITE_KILLS: u32 = 20;

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    let python = arguments.value("--python")?;
    let azurite = arguments.value("--azurite")?.map(PathBuf::from);
    let kills = arguments.value("--kills")?;
    arguments.finish()?;
    let kills: u32 = kills.map_or(Ok(100), |kills| kills.parse())?;
    let python = match python {
        Some(path) => PathBuf::from(path),
        None => moto()?,
    };
    let build = [
        "build",
        "--quiet",
        "--package",
        "nnx-cli",
        "--features",
        "store",
    ];
    output(cargo().args(build))?;
    // Cargo builds the command beside this program.
    let command = std::env::current_exe()?.with_file_name("nnx");
    let scratch = tempfile::tempdir()?;

    let moto = Moto::start(&python)?;
    let bucket = Bucket::new(&command, "s3://models", moto.environment(), scratch.path());
    moto.make_bucket("models")?;
    check("s3", &bucket, kills)?;
    if let Some(azurite) = azurite {
        let azurite = Azurite::start(&azurite, scratch.path())?;
        azurite.make_container(&python, "models")?;
        let bucket = Bucket::new(
            &command,
            "az://models",
            azurite.environment(),
            scratch.path(),
        );
        check("azure", &bucket, kills.min(AZURITE_KILLS))?;
    }
    Ok(())
}

fn check(name: &str, bucket: &Bucket<'_>, kills: u32) -> Result<()> {
    let files = bucket.exchange()?;
    println!("{name}: {files} files are the same in the store and on the disk");
    let shards = bucket.shares()?;
    println!("{name}: workers wrote the {shards} shards that one process writes");
    let (old, new) = bucket.kill(kills)?;
    println!("{name}: {kills} uploads killed: the target was old {old} times and new {new} times");
    Ok(())
}

/// The interpreter with moto, which is installed if necessary.
///
/// # Errors
/// When Python, its `venv` or pip fails.
fn moto() -> Result<PathBuf> {
    const REQUIREMENTS: [&str; 2] = ["moto[s3,server]==5.2.5", "azure-storage-blob==12.27.1"];
    let folder = python_env::cache_folder()?.join("store-servers");
    let python = python_env::interpreter(&folder);
    if can_import(&python) {
        return Ok(python);
    }
    let base = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    python_env::aside(
        Command::new(base)
            .args(["-m", "venv", "--clear"])
            .arg(&folder),
    )?;
    python_env::aside(
        Command::new(&python)
            .args(["-m", "pip", "install", "--disable-pip-version-check"])
            .args(REQUIREMENTS),
    )?;
    Ok(python)
}

fn can_import(python: &Path) -> bool {
    let import = ["-c", "import moto.server, azure.storage.blob"];
    let imported = Command::new(python).args(import).output();
    imported.is_ok_and(|output| output.status.success())
}
