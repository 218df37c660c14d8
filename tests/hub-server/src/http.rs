//! As much of HTTP/1.1 as the clients speak.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use bytes::Bytes;

use crate::message::{Asked, Delivery, Origin, Reply};
use crate::state::HubState;

/// Bytes of a body that are read.
const MAX_BODY: u64 = 1 << 30;
/// How long a connection may be silent.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Serves a connection until the client closes it.
pub(crate) fn serve(stream: &TcpStream, origin: Origin, state: &HubState) -> io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some(asked) = read(&mut reader, stream, origin)? {
        let reply = state.answer(&asked);
        if !write(stream, &reply, asked.method == "HEAD")? {
            return Ok(());
        }
    }
    Ok(())
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    reader.take(64 << 10).read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

fn read(
    reader: &mut impl BufRead,
    mut stream: &TcpStream,
    origin: Origin,
) -> io::Result<Option<Asked>> {
    let first = line(reader)?;
    if first.is_empty() {
        return Ok(None);
    }
    let mut words = first.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(wrong("no request"));
    };
    let mut asked = Asked {
        origin,
        method: method.to_owned(),
        target: target.to_owned(),
        headers: Vec::new(),
        body: Bytes::new(),
    };
    loop {
        let header = line(reader)?;
        let Some((name, value)) = header.split_once(':') else {
            break;
        };
        let (name, value) = (name.to_ascii_lowercase(), value.trim().to_owned());
        asked.headers.push((name, value));
    }
    if asked
        .header("expect")
        .is_some_and(|value| value.contains("100"))
    {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    if asked.header("transfer-encoding").is_some() {
        let mut body = Vec::new();
        loop {
            let size = u64::from_str_radix(line(reader)?.split(';').next().unwrap_or("0"), 16)
                .map_err(|_| wrong("no chunk"))?;
            if size > MAX_BODY {
                return Err(wrong("too large"));
            }
            reader.take(size).read_to_end(&mut body)?;
            line(reader)?;
            if size == 0 {
                break;
            }
        }
        asked.body = body.into();
    } else if let Some(length) = asked.header("content-length") {
        let length = length.parse::<u64>().map_err(|_| wrong("no length"))?;
        if length > MAX_BODY {
            return Err(wrong("too large"));
        }
        let mut body = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        reader.take(length).read_to_end(&mut body)?;
        asked.body = body.into();
    }
    Ok(Some(asked))
}

/// Writes a reply and says whether the connection stays.
fn write(mut stream: &TcpStream, reply: &Reply, is_head: bool) -> io::Result<bool> {
    if reply.delivery == Delivery::Dropped {
        stream.shutdown(std::net::Shutdown::Both)?;
        return Ok(false);
    }
    let mut head = format!("HTTP/1.1 {} Reply\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if reply.delivery == Delivery::Chunked {
        head.push_str("transfer-encoding: chunked\r\n\r\n");
    } else {
        head.push_str(&format!("content-length: {}\r\n\r\n", reply.body.len()));
    }
    stream.write_all(head.as_bytes())?;
    if is_head {
        return Ok(true);
    }
    match reply.delivery {
        Delivery::Whole | Delivery::Dropped => stream.write_all(&reply.body)?,
        Delivery::Cut(bytes) => {
            stream.write_all(reply.body.get(..bytes).unwrap_or(&reply.body))?;
            stream.flush()?;
            stream.shutdown(std::net::Shutdown::Both)?;
            return Ok(false);
        }
        Delivery::Chunked => {
            if !reply.body.is_empty() {
                write!(stream, "{:x}\r\n", reply.body.len())?;
                stream.write_all(&reply.body)?;
                stream.write_all(b"\r\n")?;
            }
            stream.write_all(b"0\r\n\r\n")?;
        }
        Delivery::Trickled(bytes, pause) => {
            for piece in reply.body.chunks(bytes.max(1)) {
                stream.write_all(piece)?;
                stream.flush()?;
                thread::sleep(Duration::from_millis(pause));
            }
        }
    }
    stream.flush()?;
    Ok(true)
}
