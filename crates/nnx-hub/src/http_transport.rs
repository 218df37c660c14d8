//! HTTP over ureq and rustls.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{AsSendBody, Proxy, ProxyProtocol, http};

use crate::error::{Error, ErrorKind, Result};
use crate::proxies::Proxies;
use crate::transport::{Body, Request, Response, Transport, TransportError};

/// The longest time to open a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A transport over HTTP and HTTPS, without an async runtime. The variables of the environment name
/// its proxies (see [`Proxies`]), unless [`proxies`](Self::proxies) sets others.
#[derive(Debug)]
pub struct HttpTransport {
    agent: ureq::Agent,
    proxies: Proxies,
}

impl HttpTransport {
    /// A transport whose connections may be silent for that long in each direction.
    pub fn new(timeout: Duration) -> Self {
        Self::with_roots(RootCerts::WebPki, timeout)
    }

    /// A transport that trusts the certificates of a PEM file in place of Mozilla's list, for a
    /// proxy or a Hub with a private certificate.
    ///
    /// # Errors
    /// [`ErrorKind::Settings`] when the file cannot be read or has no certificates.
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
            let item = item.map_err(|_| unusable("it is not PEM"))?;
            if let PemItem::Certificate(certificate) = item {
                certificates.push(certificate);
            }
        }
        if certificates.is_empty() {
            return Err(unusable("it has no certificates"));
        }
        let roots = RootCerts::new_with_certs(&certificates);
        Ok(Self::with_roots(roots, timeout))
    }

    /// Sets the proxies.
    #[must_use]
    pub fn proxies(mut self, proxies: Proxies) -> Self {
        self.proxies = proxies;
        self
    }

    /// The proxy of a request. This is decided here, because `ureq` has only one proxy for all
    /// schemes, and ignores a SOCKS proxy silently.
    fn proxy(&self, url: &str) -> Result<Option<Proxy>, TransportError> {
        let Some(address) = self.proxies.for_url(url) else {
            return Ok(None);
        };
        let proxy = Proxy::new(address).map_err(|_| {
            TransportError::Impossible(
                "the proxy that the environment names has no usable address; it should be \
                 `http://host:port`"
                    .to_owned(),
            )
        })?;
        match proxy.protocol() {
            ProxyProtocol::Http | ProxyProtocol::Https => Ok(Some(proxy)),
            _ => Err(TransportError::Impossible(
                "the environment names a SOCKS proxy, which is not supported; name one that speaks \
                 HTTP"
                    .to_owned(),
            )),
        }
    }

    fn carry<S: AsSendBody>(
        &self,
        request: Result<http::Request<S>, http::Error>,
        proxy: Option<Proxy>,
    ) -> Result<http::Response<ureq::Body>, TransportError> {
        // The text of an error of the builder would hold the header.
        let request = request.map_err(|_| {
            TransportError::Impossible("the request has an unusable URL or header".to_owned())
        })?;
        let request = self.agent.configure_request(request).proxy(proxy).build();
        self.agent
            .run(request)
            .map_err(|error| transport_error(&error))
    }

    fn with_roots(roots: RootCerts, timeout: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .max_redirects(0)
            .max_redirects_will_error(false)
            // Sizes and hashes are those of the file, not of its compressed form.
            .accept_encoding("identity")
            .proxy(None)
            .user_agent(concat!("nnx-hub/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_recv_response(Some(timeout))
            .timeout_per_read(Some(timeout))
            .timeout_per_write(Some(timeout))
            .build();
        Self {
            agent: config.into(),
            proxies: Proxies::from_variables(&|name| std::env::var(name).ok()),
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
        let proxy = self.proxy(&request.url)?;
        let reply = match request.body {
            Body::Empty => self.carry(builder.body(()), proxy),
            Body::Bytes(bytes) => self.carry(builder.body(bytes), proxy),
            Body::Reader(reader, len) => {
                let builder = builder.header("content-length", len);
                let mut reader = reader.take(len);
                let body = ureq::SendBody::from_reader(&mut reader);
                self.carry(builder.body(body), proxy)
            }
        };
        let (parts, body) = reply?.into_parts();
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

/// Converts timeouts of `ureq` into those of the standard library.
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

/// The meaning of an error of `ureq`, without any text of the request.
fn transport_error(error: &ureq::Error) -> TransportError {
    match error {
        ureq::Error::Timeout(_) => TransportError::Timeout,
        ureq::Error::Io(error) => match error.kind() {
            std::io::ErrorKind::TimedOut => TransportError::Timeout,
            // With this kind, rustls reports what it does not accept, in most cases a certificate.
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
        "no secure connection: {why}; if a proxy or the Hub has a private certificate, name \
         the file of it in `SSL_CERT_FILE`"
    ))
}
