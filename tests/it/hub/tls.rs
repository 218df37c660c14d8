//! The servers that are trusted.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use nnx_hub::{ErrorKind, Hub, Retry, Settings, Token, Transport};
use nnx_tests::fixtures_dir;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::desk::direct;

fn file(name: &str) -> PathBuf {
    fixtures_dir().join("tls").join(name)
}

/// Serves one connection over TLS, with a reply to any request; gives its address.
fn serve() -> String {
    let certificate = CertificateDer::from_pem_file(file("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        let connection = ServerConnection::new(Arc::new(config)).unwrap();
        let mut stream = StreamOwned::new(connection, socket);
        let mut asked = Vec::new();
        let mut buffer = [0; 1024];
        while !asked.windows(4).any(|end| end == b"\r\n\r\n") {
            // A client that does not trust the server goes away.
            match stream.read(&mut buffer) {
                Ok(read @ 1..) => asked.extend_from_slice(&buffer[..read]),
                _ => return,
            }
        }
        let body = r#"{"name": "alice", "type": "user", "orgs": []}"#;
        let length = body.len();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n");
        write!(stream, "{head}connection: close\r\n\r\n{body}").unwrap();
        stream.conn.send_close_notify();
        stream.flush().unwrap();
    });
    format!("https://{address}")
}

/// Settings of an environment with those certificates.
fn settings(endpoint: &str, certificates: Option<PathBuf>) -> Settings {
    let variable = |name: &str| match name {
        "HF_ENDPOINT" => Some(endpoint.to_owned()),
        "HF_HOME" => Some("/nonexistent".to_owned()),
        "SSL_CERT_FILE" => certificates.as_ref().map(|file| file.display().to_string()),
        _ => None,
    };
    let mut settings = Settings::from_variables(&variable).unwrap();
    settings.token = Some(Token::new("hf_test").unwrap());
    settings
}

#[test]
fn a_server_with_a_certificate_that_is_trusted() {
    let hub = Hub::new(settings(&serve(), Some(file("authority.pem")))).unwrap();
    assert_eq!(hub.whoami().unwrap().name, "alice");
}

#[test]
fn a_server_with_a_certificate_of_its_own() {
    let endpoint = serve();
    let transport: Arc<dyn Transport> = Arc::new(direct(Duration::from_secs(5)));
    // It is not asked again: nobody would listen then, and the error would say that.
    let retry = Retry::default().first_wait(Duration::from_millis(1));
    let hub = Hub::with_transport(settings(&endpoint, None), transport).retry(retry);
    let error = hub.whoami().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Network { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("certificate") && text.contains("SSL_CERT_FILE"),
        "{text}"
    );
}

#[test]
fn certificates_that_cannot_be_had() {
    for name in ["none.pem", "server.key"] {
        let error = Hub::new(settings("https://127.0.0.1", Some(file(name)))).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Settings { .. }),
            "{error}"
        );
        assert!(error.to_string().contains(name), "{error}");
    }
}
