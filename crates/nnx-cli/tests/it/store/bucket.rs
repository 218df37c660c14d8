//! A bucket in memory, behind a server that speaks as much of the S3 protocol as reading needs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

type Objects = BTreeMap<String, Vec<u8>>;

/// The address of the server. Its threads end with the process of the tests.
pub(super) struct Bucket {
    endpoint: String,
}

impl Bucket {
    /// A bucket with these objects.
    pub(super) fn new(objects: Objects) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
        let objects = Arc::new(objects);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let objects = Arc::clone(&objects);
                thread::spawn(move || serve(&stream, &objects));
            }
        });
        Self { endpoint }
    }

    /// The variables of the environment by which the command finds the bucket.
    pub(super) fn environment(&self) -> [(&str, &str); 4] {
        [
            ("AWS_ENDPOINT_URL", &self.endpoint),
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_REGION", "us-east-1"),
        ]
    }
}

/// Answers the requests of a connection until it ends.
fn serve(stream: &TcpStream, objects: &Objects) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    loop {
        let request = lines.next()?.ok()?;
        let headers: Vec<String> = lines
            .by_ref()
            .map_while(Result::ok)
            .take_while(|line| !line.is_empty())
            .collect();
        let mut words = request.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let key = path
            .trim_start_matches('/')
            .split_once('/')
            .map(|(_, key)| key);
        let answer = match key.filter(|key| !key.is_empty()) {
            None => found("200 OK", "", listing(query, objects).as_bytes()),
            Some(key) => object(objects.get(key), &headers),
        };
        let end = if method == "HEAD" {
            answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4
        } else {
            answer.len()
        };
        (&mut &*stream).write_all(&answer[..end]).ok()?;
    }
}

fn found(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let len = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {len}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

fn object(bytes: Option<&Vec<u8>>, headers: &[String]) -> Vec<u8> {
    let Some(bytes) = bytes else {
        return found("404 Not Found", "", b"");
    };
    let about = "etag: \"1\"\r\nlast-modified: Tue, 01 Dec 2026 10:00:00 GMT\r\n";
    let range = headers.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let value = value.trim().strip_prefix("bytes=")?;
        let (start, last) = value.split_once('-')?;
        name.eq_ignore_ascii_case("range")
            .then_some((start.parse::<usize>().ok()?, last.parse::<usize>().ok()?))
    });
    let Some((start, last)) = range else {
        return found("200 OK", about, bytes);
    };
    let end = bytes.len().min(last + 1);
    let range = format!(
        "content-range: bytes {start}-{}/{}\r\n",
        end - 1,
        bytes.len()
    );
    found(
        "206 Partial Content",
        &format!("{about}{range}"),
        &bytes[start..end],
    )
}

/// The objects and folders directly below the prefix of a query.
fn listing(query: &str, objects: &Objects) -> String {
    let prefix = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("prefix="));
    let prefix = prefix.unwrap_or_default().replace("%2F", "/");
    let mut entries = String::new();
    let mut folders = BTreeSet::new();
    for (key, bytes) in objects {
        match key.strip_prefix(&prefix).map(|rest| rest.split_once('/')) {
            None => {}
            Some(Some((folder, _))) => {
                folders.insert(folder);
            }
            Some(None) => {
                write!(
                    entries,
                    "<Contents><Key>{key}</Key><LastModified>2026-12-01T10:00:00.000Z\
                     </LastModified><ETag>\"1\"</ETag><Size>{}</Size></Contents>",
                    bytes.len()
                )
                .expect("text");
            }
        }
    }
    for folder in folders {
        write!(
            entries,
            "<CommonPrefixes><Prefix>{prefix}{folder}/</Prefix></CommonPrefixes>"
        )
        .expect("text");
    }
    format!("<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>")
}
