//! How much memory this process has, and how much of a mapped file it touched.

use std::fs;
use std::path::Path;

use crate::Result;

/// Bytes of the file's pages that this process has touched through a map; none where the system
/// does not say. Linux maps up to sixteen pages around each one that is touched.
///
/// # Errors
/// When the system's account cannot be read.
pub(crate) fn bytes(path: &Path) -> Result<Option<u64>> {
    const MAPS: &str = "/proc/self/smaps";
    if !Path::new(MAPS).exists() {
        return Ok(None);
    }
    let path = fs::canonicalize(path)?;
    let path = path.to_string_lossy();
    let account = fs::read_to_string(MAPS)?;
    let mut lines = account
        .lines()
        .skip_while(|line| !line.ends_with(&*path))
        .skip(1);
    let rss = lines.find_map(|line| line.strip_prefix("Rss:"));
    let kibibytes = rss.and_then(|rss| rss.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    Ok(kibibytes.map(|kibibytes| kibibytes * 1024))
}

/// The largest resident size of this process so far, in bytes.
///
/// # Errors
/// When the system does not say.
pub(crate) fn largest() -> Result<u64> {
    largest_of("self")
}

/// The largest resident size of a process so far, in bytes, by its id.
///
/// # Errors
/// When the process has ended, or the system does not say.
pub(crate) fn largest_of(process: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next());
    Ok(kibibytes
        .ok_or("the system does not tell")?
        .parse::<u64>()?
        * 1024)
}
