//! Servers of object stores, which stop with the task.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::Result;
use crate::workspace::output;

/// Attempts to reach a server that is starting, ten in a second.
const ATTEMPTS: u32 = 600;
/// The account and the key that Azurite documents for everybody.
const AZURITE_ACCOUNT: &str = "devstoreaccount1";
const AZURITE_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// A process that ends with its owner.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(command: &mut Command, port: u16) -> Result<Self> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut server = Self { child, port };
        for _ in 0..ATTEMPTS {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(server);
            }
            if let Some(status) = server.child.try_wait()? {
                return Err(format!("the server ended with {status}").into());
            }
            thread::sleep(Duration::from_millis(100));
        }
        Err("the server does not answer after a minute".into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that nobody uses now.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Variables of the environment.
pub(super) type Environment = Vec<(&'static str, String)>;

/// The server of S3.
pub(super) struct Moto(Server);

impl Moto {
    pub(super) fn start(python: &Path) -> Result<Self> {
        let port = free_port()?;
        let mut command = Command::new(python);
        command.args(["-m", "moto.server", "-H", "127.0.0.1", "-p"]);
        command.arg(port.to_string());
        Server::start(&mut command, port).map(Self)
    }

    pub(super) fn environment(&self) -> Environment {
        vec![
            ("AWS_ACCESS_KEY_ID", "key".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            (
                "AWS_ENDPOINT_URL",
                format!("http://127.0.0.1:{}", self.0.port),
            ),
        ]
    }

    /// Makes a bucket; moto asks for no signature.
    pub(super) fn make_bucket(&self, name: &str) -> Result<()> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.0.port))?;
        write!(
            stream,
            "PUT /{name} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\ncontent-length: 0\r\n\
             connection: close\r\n\r\n",
            self.0.port
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let is_made = answer
            .lines()
            .next()
            .is_some_and(|line| line.contains("200"));
        if is_made { Ok(()) } else { Err(answer.into()) }
    }
}

/// The server of Azure.
pub(super) struct Azurite(Server);

impl Azurite {
    pub(super) fn start(program: &Path, folder: &Path) -> Result<Self> {
        let port = free_port()?;
        let mut command = Command::new(program);
        command.args(["--silent", "--skipApiVersionCheck", "--inMemoryPersistence"]);
        command.args(["--blobHost", "127.0.0.1", "--blobPort"]);
        command.arg(port.to_string()).current_dir(folder);
        Server::start(&mut command, port).map(Self)
    }

    fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}/{AZURITE_ACCOUNT}", self.0.port)
    }

    pub(super) fn environment(&self) -> Environment {
        vec![
            ("AZURE_STORAGE_ACCOUNT_NAME", AZURITE_ACCOUNT.to_owned()),
            ("AZURE_STORAGE_ACCOUNT_KEY", AZURITE_KEY.to_owned()),
            ("AZURE_STORAGE_ENDPOINT", self.endpoint()),
        ]
    }

    /// Makes a container with Azure's own client.
    pub(super) fn make_container(&self, python: &Path, name: &str) -> Result<()> {
        let script = "import sys; from azure.storage.blob import BlobServiceClient as Client; \
                      Client(sys.argv[1], credential=sys.argv[2]).create_container(sys.argv[3])";
        let mut command = Command::new(python);
        command.args(["-c", script, &self.endpoint(), AZURITE_KEY, name]);
        output(&mut command).map(|_| ())
    }
}
