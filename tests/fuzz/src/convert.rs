//! Any checkpoint, converted.

use std::fs;

use nnx_checkpoint::{CheckpointReader, ConvertOptions, Dtype, OpenOptions};
use tempfile::TempDir;

use crate::limits::limits;

thread_local! {
    /// A folder for each thread that judges.
    static FOLDER: TempDir = tempfile::tempdir().expect("a folder for temporary files");
}

/// A converted file has the names, dtypes, shapes and bytes of its source. A conversion that fails
/// leaves nothing behind.
///
/// The first byte says what is asked for, the rest is the file.
///
/// # Panics
/// When a promise is broken.
pub fn convert(data: &[u8]) {
    let Some((&wish, file)) = data.split_first() else {
        return;
    };
    FOLDER.with(|folder| {
        let source = folder.path().join("source");
        fs::write(&source, file).expect("a file in a folder of one's own");
        let name = if wish & 1 == 0 {
            "target.pt"
        } else {
            "target.safetensors"
        };
        let target = folder.path().join(name);
        let mut options = ConvertOptions::default()
            .limits(limits())
            .overwrite(true)
            .drop_non_tensors(wish & 2 != 0)
            .compact(wish & 4 != 0);
        if wish & 8 != 0 {
            options = options.dtype(Dtype::BFloat16);
        }
        let done = nnx_checkpoint::convert(&source, &target, &options);
        let names = fs::read_dir(folder.path()).expect("the folder").count();
        match done {
            Ok(_) => {
                judge(&source, &target, options.dtype);
                fs::remove_file(&target).expect("the target");
                assert_eq!(names, 2, "something was left beside the target");
            }
            Err(error) => {
                assert!(!error.to_string().contains('\n'), "not one line: {error}");
                assert_eq!(names, 1, "something was left behind by a failure");
            }
        }
    });
}

fn judge(source: &std::path::Path, target: &std::path::Path, dtype: Option<Dtype>) {
    // A source may name what runs code, and no target does: nothing of it is carried on.
    let careful = OpenOptions::default().limits(limits());
    let as_converted = careful.allow_dangerous_globals(true);
    let before = CheckpointReader::open_with(source, &as_converted).expect("it was converted");
    let after = CheckpointReader::open_with(target, &careful).expect("it was verified");
    for entry in before.tensors() {
        // An NNx checkpoint has other names in its other form.
        let name = entry.name();
        let bare = name.strip_prefix("net_state.").unwrap_or(name);
        let field = format!("net_state.{name}");
        let found = [name, bare, &field]
            .into_iter()
            .find_map(|name| after.entry(name));
        let found = found.unwrap_or_else(|| panic!("{name:?} is not there any more"));
        assert_eq!(found.shape(), entry.shape(), "{name:?}");
        if dtype.is_some() || entry.layout_name() != "strided" {
            continue;
        }
        assert_eq!(found.dtype(), entry.dtype(), "{name:?}");
        let (Ok(one), Ok(other)) = (before.tensor(name), after.tensor(found.name())) else {
            continue;
        };
        let (Ok(one), Ok(other)) = (one.to_bytes(), other.to_bytes()) else {
            continue;
        };
        assert!(one == other, "{name:?} has other bytes");
    }
}
