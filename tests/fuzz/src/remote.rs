//! Files that are far away, some of whose requests fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use nnx_checkpoint::{
    CachedRange, CheckpointReader, Error, ErrorKind, OpenOptions, RangeRead, Result,
};

use crate::limits::limits;

/// Bytes that choose the reads and the failures; the file follows them.
const PLAN_BYTES: usize = 16;
/// The most bytes of a file that is made large, so that its reads are several requests.
const LARGE_BYTES: usize = 3 << 20;

/// A source one of whose requests fails.
#[derive(Debug)]
struct Faulty {
    bytes: Bytes,
    /// The request that fails, counted from 1; 0 for none.
    fails: usize,
    requests: AtomicUsize,
}

impl Faulty {
    fn new(bytes: &Bytes, fails: u8) -> Arc<Self> {
        Arc::new(Self {
            bytes: bytes.clone(),
            fails: fails.into(),
            requests: AtomicUsize::new(0),
        })
    }
}

impl RangeRead for Faulty {
    fn byte_len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let request = self
            .requests
            .fetch_add(1, Ordering::Relaxed)
            .saturating_add(1);
        if request == self.fails {
            return Err(Error::from(ErrorKind::Unsupported {
                what: "the request failed".to_owned(),
            }));
        }
        self.bytes.read_at(offset, into)
    }
}

/// A read over the cache gives the bytes of the file or an error, and never other bytes. A
/// checkpoint is read over it as it is from memory.
///
/// # Panics
/// When a promise is broken.
pub fn remote(data: &[u8]) {
    let Some((plan, file)) = data.split_at_checked(PLAN_BYTES) else {
        return;
    };
    let file = Bytes::copy_from_slice(file);
    let fails = plan.first().copied().unwrap_or_default() % 8;
    reads(plan, &file, fails);
    opens(&file, fails);
}

/// Reads at the places that the plan names.
fn reads(plan: &[u8], file: &Bytes, fails: u8) {
    let is_large = plan.get(1).is_some_and(|byte| byte % 16 == 1) && !file.is_empty();
    let file = if is_large {
        file.repeat(LARGE_BYTES / file.len()).into()
    } else {
        file.clone()
    };
    let cached = CachedRange::new(Faulty::new(&file, fails));
    let share = |byte: u8| file.len().saturating_mul(byte.into()) / 255;
    for pair in plan.chunks_exact(2) {
        let &[at, count] = pair else {
            continue;
        };
        let (start, len) = (share(at), share(count).saturating_add(usize::from(at % 2)));
        let mut into = vec![0xa5; len];
        let read = cached.read_at(start as u64, &mut into);
        let expected = file.get(start..start.saturating_add(len));
        match (read, expected) {
            (Ok(()), Some(expected)) => assert!(into == expected, "other bytes were read"),
            (Ok(()), None) => panic!("bytes past the end were read"),
            (Err(_), Some(_)) => assert_ne!(fails, 0, "a read failed and no request did"),
            (Err(_), None) => {}
        }
    }
}

/// Opens the file over the cache, with and without a fault.
fn opens(file: &Bytes, fails: u8) {
    let options = OpenOptions::default()
        .limits(limits())
        .allow_dangerous_globals(true);
    let open =
        |fails| CheckpointReader::from_range(CachedRange::new(Faulty::new(file, fails)), &options);
    let near = CheckpointReader::from_bytes(file.clone(), &options);
    match (&near, open(0)) {
        (Ok(near), Ok(far)) => {
            assert_eq!(near.tensors(), far.tensors());
            assert_eq!(near.non_tensors(), far.non_tensors());
            for entry in near.tensors().iter().take(4) {
                let [near, far] = [near, &far].map(|reader: &CheckpointReader| {
                    let tensor = reader.tensor(entry.name());
                    let tensor = tensor.ok()?;
                    tensor.to_bytes().ok().map(|bytes| bytes.into_owned())
                });
                assert!(near == far, "other bytes of `{}`", entry.name());
            }
        }
        (Err(near), Err(far)) => assert_eq!(near.to_string(), far.to_string()),
        (Ok(_), Err(error)) => panic!("opened from memory alone: {error}"),
        (Err(error), Ok(_)) => panic!("opened from afar alone: {error}"),
    }
    if let (Ok(near), Ok(far)) = (near, open(fails)) {
        assert_eq!(near.tensors(), far.tensors());
    }
}
