//! An HTTP server for one file, with faults.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A fault of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    #[default]
    None,
    /// It sends the whole file, whatever is asked for.
    NoRanges,
    /// It sends other bytes than those that are asked for, and says so.
    OtherRange,
    /// It says that it sends what is asked for, and ends early.
    ShortBody,
    /// It says that a part of the bytes is all that was asked for.
    ShortRange,
    /// After so many requests it has another file, and respects `If-Match`.
    Changed(u64),
    /// The same, and it ignores `If-Match`.
    ChangedInSilence(u64),
    /// The first requests fail.
    Unavailable(u64),
    /// It sends more bytes than the part that was asked for, without end.
    LongRange,
    /// It gives the file no ETag.
    NoTag,
    /// It says nothing about the size.
    NoSize,
}

struct Shared {
    file: Mutex<File>,
    len: u64,
    fault: Fault,
    latency: Duration,
    requests: AtomicU64,
    bytes: AtomicU64,
}

/// A server. Its threads end with the process of the tests.
#[derive(Clone)]
pub(crate) struct Server {
    shared: Arc<Shared>,
    address: String,
}

impl Server {
    pub(crate) fn start(file: File, fault: Fault) -> Self {
        Self::with_latency(file, fault, Duration::ZERO)
    }

    pub(crate) fn with_latency(file: File, fault: Fault, latency: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let shared = Arc::new(Shared {
            len: file.metadata().expect("a size").len(),
            file: Mutex::new(file),
            fault,
            latency,
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&serving);
                // A client that goes away ends its connection alone.
                thread::spawn(move || shared.serve(stream));
            }
        });
        Self { shared, address }
    }

    /// A server for these bytes.
    pub(crate) fn from_bytes(bytes: &[u8], fault: Fault) -> Self {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(bytes).expect("room on the disk");
        Self::start(file, fault)
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("http://{}/{name}", self.address)
    }

    pub(crate) fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::SeqCst)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::SeqCst)
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut stream = stream;
        loop {
            let mut head = String::new();
            loop {
                let before = head.len();
                if reader.read_line(&mut head).ok()? == 0 {
                    return None;
                }
                if head[before..].trim().is_empty() {
                    break;
                }
            }
            thread::sleep(self.latency);
            let number = self.requests.fetch_add(1, Ordering::SeqCst);
            self.answer(&mut stream, &head, number)?;
        }
    }

    fn answer(&self, stream: &mut TcpStream, head: &str, number: u64) -> Option<()> {
        let header = |name: &str| {
            head.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                (key.eq_ignore_ascii_case(name)).then(|| value.trim().to_owned())
            })
        };
        let is_head = head.starts_with("HEAD ");
        if head.split_whitespace().nth(1)?.contains("missing") {
            return send(stream, "404 Not Found", "content-length: 0\r\n", &[]);
        }
        if matches!(self.fault, Fault::Unavailable(count) if number < count) {
            return send(
                stream,
                "503 Service Unavailable",
                "content-length: 0\r\n",
                &[],
            );
        }
        let is_new = matches!(
            self.fault,
            Fault::Changed(after) | Fault::ChangedInSilence(after) if number >= after
        );
        let tag = if is_new { "\"new\"" } else { "\"old\"" };
        let respects = !matches!(self.fault, Fault::ChangedInSilence(_));
        if respects && header("if-match").is_some_and(|wanted| wanted != tag) {
            return send(
                stream,
                "412 Precondition Failed",
                "content-length: 0\r\n",
                &[],
            );
        }
        let range = header("range").and_then(|range| {
            let (start, end) = range.strip_prefix("bytes=")?.split_once('-')?;
            let start: u64 = start.parse().ok()?;
            let end = end
                .parse()
                .map_or(self.len, |last: u64| last + 1)
                .min(self.len);
            Some((start, end))
        });
        let mut about = "last-modified: Tue, 01 Dec 2026 10:00:00 GMT\r\n".to_owned();
        if self.fault != Fault::NoTag {
            about.push_str(&format!("etag: {tag}\r\n"));
        }
        let (status, start, end) = match range {
            Some((start, _)) if start >= self.len && self.fault != Fault::NoRanges => {
                return send(
                    stream,
                    "416 Range Not Satisfiable",
                    &format!(
                        "content-range: bytes */{}\r\ncontent-length: 0\r\n",
                        self.len
                    ),
                    &[],
                );
            }
            Some((start, end)) if self.fault != Fault::NoRanges => {
                ("206 Partial Content", start, end)
            }
            _ => ("200 OK", 0, self.len),
        };
        let mut body = vec![0; usize::try_from(end - start).ok()?];
        if !is_head {
            let mut file = self.file.lock().ok()?;
            file.seek(SeekFrom::Start(start)).ok()?;
            file.read_exact(&mut body).ok()?;
        }
        if is_new {
            body.iter_mut().for_each(|byte| *byte = !*byte);
        }
        let shift = u64::from(self.fault == Fault::OtherRange);
        if self.fault == Fault::ShortRange {
            body.truncate(body.len() / 2);
        }
        let mut headers = about;
        let announced = match self.fault {
            Fault::LongRange => u64::MAX >> 1,
            _ => body.len() as u64,
        };
        if self.fault != Fault::NoSize {
            headers.push_str(&format!("content-length: {announced}\r\n"));
        }
        if status.starts_with("206") {
            let (start, last) = (start + shift, end - 1 + shift);
            headers.push_str(&format!(
                "content-range: bytes {start}-{last}/{}\r\n",
                self.len
            ));
        }
        if is_head {
            return send(stream, status, &headers, &[]);
        }
        self.bytes.fetch_add(body.len() as u64, Ordering::SeqCst);
        if self.fault == Fault::ShortBody {
            send(stream, status, &headers, &body[..body.len() / 2])?;
            return None;
        }
        send(stream, status, &headers, &body)?;
        if self.fault == Fault::LongRange {
            // It ends when the client closes the connection.
            loop {
                stream.write_all(&body).ok()?;
            }
        }
        (self.fault != Fault::NoSize).then_some(())
    }
}

fn send(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) -> Option<()> {
    let head = format!("HTTP/1.1 {status}\r\naccept-ranges: bytes\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body).ok()
}
