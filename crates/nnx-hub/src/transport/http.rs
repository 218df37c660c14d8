//! HTTP over ureq and rustls.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use ureq::http;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use super::{Body, Request, Response, Transport, TransportError};
use crate::error::{Error, ErrorKind, Result};

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A transport over HTTP and HTTPS, without an async runtime. A proxy is taken from the variables
/// `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.
#[derive(Debug)]
pub struct HttpTransport {
    agent: ureq::Agent,
}

impl HttpTransport {
    /// A transport whose connections may be silent for that long, at either end.
    pub fn new(timeout: Duration) -> Self {
        Self::with_roots(RootCerts::WebPki, timeout)
    }

    /// The same with the certificates of a file in PEM, in the place of Mozilla's list: for a proxy
    /// or a Hub with a certificate of its own.
    ///
    /// # Errors
    /// [`ErrorKind::Settings`] when the file cannot be read or has no certificate.
    pub fn trusting(file: &Path, timeout: Duration) -> Result<Self> {
        let unusable = |why: &str| {
            Error::from(ErrorKind::Settings {
                what: format!(
                    "`{}` should hold certificates to trust (`SSL_CERT_FILE`): {why}",
                    file.display()
                ),
            })
        };
        let pem = std::fs::read(file).map_err(|error| unusable(&error.to_string()))?;
        let mut certificates = Vec::new();
        for item in parse_pem(&pem) {
            let item = item.map_err(|_| unusable("it is no PEM"))?;
            if let PemItem::Certificate(certificate) = item {
                certificates.push(certificate);
            }
        }
        if certificates.is_empty() {
            return Err(unusable("it has none"));
        }
        let roots = RootCerts::new_with_certs(&certificates);
        Ok(Self::with_roots(roots, timeout))
    }

    fn with_roots(roots: RootCerts, timeout: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .max_redirects(0)
            .max_redirects_will_error(false)
            // Sizes and hashes are those of the file, not of a packed form of it.
            .accept_encoding("identity")
            .user_agent(concat!("nnx-hub/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_recv_response(Some(timeout))
            .timeout_per_read(Some(timeout))
            .timeout_per_write(Some(timeout))
            .build();
        Self {
            agent: config.into(),
        }
    }
}

impl Transport for HttpTransport {
    fn send(&self, request: Request<'_>) -> Result<Response, TransportError> {
        let mut builder = http::Request::builder()
            .method(request.method.name())
            .uri(&request.url);
        for (name, value) in &request.headers {
            builder = builder.header(name.as_ref(), value);
        }
        // The text of an error of the builder would hold the header.
        let refused =
            |_| TransportError::Impossible("the request has an unusable URL or header".to_owned());
        let reply = match request.body {
            Body::Empty => self.agent.run(builder.body(()).map_err(refused)?),
            Body::Bytes(bytes) => self.agent.run(builder.body(bytes).map_err(refused)?),
            Body::Reader(reader, len) => {
                let builder = builder.header("content-length", len);
                let mut reader = reader.take(len);
                let body = ureq::SendBody::from_reader(&mut reader);
                self.agent.run(builder.body(body).map_err(refused)?)
            }
        };
        let (parts, body) = reply.map_err(|error| told(&error))?.into_parts();
        let headers = parts.headers.iter().filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        });
        let headers: Vec<_> = headers.collect();
        Ok(Response::new(
            parts.status.as_u16(),
            headers,
            TimedReader(body.into_reader()),
        ))
    }
}

/// Gives timeouts the kind that the standard library has for them.
struct TimedReader<R>(R);

impl<R: Read> Read for TimedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer).map_err(|error| {
            let timed_out = error
                .get_ref()
                .and_then(|inner| inner.downcast_ref::<ureq::Error>())
                .is_some_and(|error| matches!(error, ureq::Error::Timeout(_)));
            if timed_out {
                std::io::ErrorKind::TimedOut.into()
            } else {
                error
            }
        })
    }
}

/// What an error of ureq stands for, without a word of the request.
fn told(error: &ureq::Error) -> TransportError {
    match error {
        ureq::Error::Timeout(_) => TransportError::Timeout,
        ureq::Error::Io(error) => match error.kind() {
            std::io::ErrorKind::TimedOut => TransportError::Timeout,
            // So rustls tells what it does not accept, a certificate above all.
            std::io::ErrorKind::InvalidData => insecure(error),
            _ => TransportError::Broken(format!("the connection failed: {error}")),
        },
        ureq::Error::HostNotFound => TransportError::Broken("the host was not found".to_owned()),
        ureq::Error::ConnectionFailed => {
            TransportError::Broken("the connection could not be made".to_owned())
        }
        ureq::Error::Rustls(error) => insecure(error),
        ureq::Error::Tls(what) => insecure(what),
        ureq::Error::ConnectProxyFailed(what) => {
            TransportError::Impossible(format!("the proxy refuses the connection: {what}"))
        }
        ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::InvalidProxyUrl => {
            TransportError::Impossible(
                "the request has an unusable URL, header or proxy".to_owned(),
            )
        }
        _ => TransportError::Broken("the reply is not one of HTTP".to_owned()),
    }
}

fn insecure(why: impl std::fmt::Display) -> TransportError {
    let why = why.to_string();
    if why.contains("CaUsedAsEndEntity") {
        return TransportError::Impossible(
            "no secure connection: the server shows the certificate of an authority as its own; \
             give it one that an authority has signed, and name that in `SSL_CERT_FILE`"
                .to_owned(),
        );
    }
    TransportError::Impossible(format!(
        "no secure connection: {why}; where a proxy or the Hub has a certificate of its own, name \
         the file of it in `SSL_CERT_FILE`"
    ))
}
