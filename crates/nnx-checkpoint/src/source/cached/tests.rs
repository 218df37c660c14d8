use std::sync::Mutex;

use bytes::Bytes;

use super::*;

/// Notes the requests.
#[derive(Debug)]
struct Requests {
    bytes: Bytes,
    seen: Mutex<Vec<(u64, usize)>>,
}

impl RangeRead for Requests {
    fn byte_len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        self.seen.lock().unwrap().push((offset, into.len()));
        self.bytes.read_at(offset, into)
    }
}

fn cached(len: usize) -> (CachedRange, Arc<Requests>) {
    let bytes: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
    let requests = Arc::new(Requests {
        bytes: bytes.into(),
        seen: Mutex::default(),
    });
    (CachedRange::new(Arc::clone(&requests) as _), requests)
}

#[track_caller]
fn check(cached: &CachedRange, requests: &Requests, offset: usize, len: usize) {
    let mut into = vec![0xaa; len];
    cached.read_at(offset as u64, &mut into).unwrap();
    assert!(
        requests.bytes[offset..offset + len] == into,
        "{offset} {len}"
    );
}

#[test]
fn small_reads_share_requests() {
    const BLOCK: usize = 64 << 10;
    let (cached, requests) = cached(10 * BLOCK + 5);
    check(&cached, &requests, 10, 20);
    check(&cached, &requests, 30, 20);
    check(&cached, &requests, BLOCK - 5, 10);
    check(&cached, &requests, 5, 3 * BLOCK);
    check(&cached, &requests, 10 * BLOCK, 5);
    check(&cached, &requests, 0, 0);
    let seen = requests.seen.lock().unwrap().clone();
    let block = BLOCK as u64;
    let expected = [
        (0, BLOCK),
        (block, BLOCK),
        (2 * block, 2 * BLOCK),
        (10 * block, 5),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn bytes_in_front_of_which_an_opener_looked_are_not_read_again() {
    let (cached, requests) = cached(100);
    let bytes = requests.bytes.clone();
    let cached = cached.with_start(&bytes);
    check(&cached, &requests, 3, 90);
    assert!(requests.seen.lock().unwrap().is_empty());
}

#[test]
fn a_large_read_is_several_requests() {
    let (cached, requests) = cached(9 << 20);
    check(&cached, &requests, 100, 8 << 20);
    let mut seen = requests.seen.lock().unwrap().clone();
    seen.sort_unstable();
    let part = 4 << 20;
    assert_eq!(seen, [(100, part), (100 + part as u64, part)]);
}

#[test]
fn who_reads_on_gets_every_byte_and_no_byte_twice() {
    let (cached, requests) = cached((40 << 20) + 123);
    let len = requests.bytes.len();
    let mut at = 0;
    while at < len {
        let step = (1 << 20).min(len - at);
        check(&cached, &requests, at, step);
        at += step;
    }
    let seen = requests.seen.lock().unwrap();
    let bytes: usize = seen.iter().map(|(_, len)| len).sum();
    assert_eq!(bytes, len);
    assert!(seen.len() < 20, "{} requests", seen.len());
}

#[test]
fn records_with_headers_between_them_are_read_ahead() {
    let (cached, requests) = cached(30 << 20);
    let mut at = 0;
    for _ in 0..20 {
        check(&cached, &requests, at, 100);
        check(&cached, &requests, at + 100, 1 << 20);
        at += 100 + (1 << 20);
    }
    let requests = requests.seen.lock().unwrap().len();
    assert!(requests < 15, "{requests} requests");
}

#[test]
fn reads_past_the_end_are_refused() {
    let (cached, _) = cached(10);
    assert!(cached.read_at(5, &mut [0; 6]).is_err());
    assert!(cached.read_at(u64::MAX, &mut [0; 6]).is_err());
}

/// Fails where nobody reads it in a thread of its own.
#[derive(Debug)]
struct Broken;

impl RangeRead for Broken {
    fn byte_len(&self) -> u64 {
        64 << 20
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        if offset >= 3 << 20 {
            return Err(Error::malformed("broken"));
        }
        into.fill(0);
        Ok(())
    }
}

#[test]
fn an_error_ahead_is_told_when_its_bytes_are_asked_for() {
    let cached = CachedRange::new(Arc::new(Broken));
    let mut into = vec![0; 1 << 20];
    for at in 0..2 {
        cached.read_at(at << 20, &mut into).unwrap();
    }
    let error = cached.read_at(3 << 20, &mut into).unwrap_err();
    assert_eq!(error.kind().to_string(), "broken");
}

/// Notes where each request puts its bytes.
#[derive(Debug, Default)]
struct Targets(Mutex<Vec<(u64, usize)>>);

impl RangeRead for Targets {
    fn byte_len(&self) -> u64 {
        64 << 20
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        self.0.lock().unwrap().push((offset, into.as_ptr().addr()));
        into.fill(0);
        Ok(())
    }
}

#[test]
fn a_long_read_goes_where_it_is_wanted() {
    let targets = Arc::new(Targets::default());
    let cached = CachedRange::new(Arc::clone(&targets) as _);
    cached.read_at(0, &mut vec![0; 1 << 20]).unwrap();
    let mut into = vec![1; 40 << 20];
    cached.read_at(1 << 20, &mut into).unwrap();
    assert!(into.iter().all(|&byte| byte == 0));
    let (start, end) = (1 << 20, 41 << 20);
    let seen = targets.0.lock().unwrap();
    let within = seen
        .iter()
        .filter(|(offset, _)| (start..end).contains(offset));
    let mut count = 0;
    for &(offset, target) in within {
        let place = into.as_ptr().addr() + usize::try_from(offset - start).unwrap();
        assert_eq!(
            target, place,
            "the request at {offset} is held a second time"
        );
        count += 1;
    }
    assert_eq!(count, 10);
}
