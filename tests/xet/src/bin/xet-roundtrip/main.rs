//! `cargo xtask roundtrip --hub --xet`: files that one client sends to a Hub by way of Xet and the
//! other one fetches, and the bytes that are sent for a file of which a hundredth changed.

#![expect(clippy::print_stdout, reason = "the result is what it prints")]

mod client;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use client::Client;
use nnx_hub_server::{HubServer, Seen};
use nnx_xet_tests::{XetStorage, noise};

type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

const REPO: &str = "alice/files";
const KIB_64: usize = 64 << 10;
/// The file of which a part changes.
const LARGE: (&str, usize) = ("large.bin", 300_000_000);
/// All other files: no byte, one, and about as many as a part of a file in the storage has.
const SMALL: [(&str, usize); 5] = [
    ("0.bin", 0),
    ("1.bin", 1),
    ("65535.bin", KIB_64 - 1),
    ("65536.bin", KIB_64),
    ("65537.bin", KIB_64 + 1),
];
/// The number of places where the large file changes; together they are a hundredth of it.
const PLACES: usize = 10;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let python = match (words.next(), words.next()) {
        (Some(option), Some(path)) if option == "--python" => Some(PathBuf::from(path)),
        _ => None,
    };
    match run(python.as_deref()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("FAIL  {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether all went well.
fn run(python: Option<&Path>) -> Result<bool> {
    let clients: Vec<Client<'_>> = [Some(Client::Rust), python.map(Client::Python)]
        .into_iter()
        .flatten()
        .collect();
    let (mut passed, mut failed) = (0, 0);
    for sender in &clients {
        let trip = Trip::new(*sender)?;
        let states = [
            ("6 files", trip.fill()?),
            ("1 % of the large file changed", trip.change()?),
        ];
        for (what, files) in states {
            let started = Instant::now();
            let mut outcomes = vec![(
                format!("{what}, pushed by {}", sender.name()),
                trip.push(&files),
                started.elapsed(),
            )];
            for reader in &clients {
                let started = Instant::now();
                let outcome = trip.pull(*reader, &files);
                let line = format!("{what}, pulled by {}", reader.name());
                outcomes.push((line, outcome, started.elapsed()));
            }
            for (line, outcome, time) in outcomes {
                let seconds = time.as_secs_f64();
                match outcome {
                    Ok(bytes) => {
                        passed += 1;
                        println!("ok    {line:<50} {bytes:>11} bytes of bodies {seconds:5.1} s");
                    }
                    Err(error) => {
                        failed += 1;
                        println!("FAIL  {line}: {error}");
                    }
                }
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok(failed == 0)
}

/// A Hub with a storage of its own, so that no client finds there what another one has sent.
struct Trip<'a> {
    sender: Client<'a>,
    server: HubServer,
    folder: tempfile::TempDir,
}

/// The files of a repository.
type Files = Vec<(&'static str, Vec<u8>)>;

impl<'a> Trip<'a> {
    fn new(sender: Client<'a>) -> Result<Self> {
        let server = HubServer::start_with_xet(Arc::new(XetStorage::start()?))?;
        let folder = tempfile::tempdir()?;
        Ok(Self {
            sender,
            server,
            folder,
        })
    }

    fn fill(&self) -> Result<Files> {
        let sizes = SMALL.into_iter().chain([LARGE]);
        Ok(sizes
            .map(|(name, size)| (name, noise(size, size as u64)))
            .collect())
    }

    fn change(&self) -> Result<Files> {
        let mut files = self.fill()?;
        let (_, large) = files.last_mut().ok_or("there is a large file")?;
        let (apart, len) = (large.len() / PLACES, large.len() / PLACES / 100);
        for place in 0..PLACES {
            let new = noise(len, place as u64 + 1);
            let old = large.get_mut(place * apart..place * apart + len);
            old.ok_or("a place is in the file")?.copy_from_slice(&new);
        }
        Ok(files)
    }

    /// Pushes files and returns how many bytes went to the storage.
    fn push(&self, files: &Files) -> Result<usize> {
        let folder = self.folder.path().join("pushed");
        std::fs::create_dir_all(&folder)?;
        for (name, bytes) in files {
            std::fs::write(folder.join(name), bytes)?;
        }
        self.server.calm();
        let before = self.server.commits(REPO).len();
        let home = self.folder.path().join("home");
        self.sender
            .push(self.server.endpoint(), &home, &folder, REPO)?;
        // The first commit of a repository is that of the Hub.
        let made = self.server.commits(REPO).len() - before.max(1);
        if made != 1 {
            return Err(format!("{made} commits in place of one").into());
        }
        for (name, bytes) in files {
            if self.server.xet_hash(REPO, name).is_some() == bytes.is_empty() {
                return Err(format!("`{name}` is not where it belongs").into());
            }
        }
        self.only_xet()?;
        Ok(self.of_xet().map(|seen| seen.sent).sum())
    }

    /// Pulls files with a new home folder, compares them, and returns how many bytes the storage sent.
    fn pull(&self, reader: Client<'_>, files: &Files) -> Result<usize> {
        let home = tempfile::tempdir_in(self.folder.path())?;
        let target = home.path().join("pulled");
        self.server.calm();
        reader.pull(self.server.endpoint(), home.path(), REPO, &target)?;
        for (name, bytes) in files {
            if std::fs::read(target.join(name))? != *bytes {
                return Err(format!("`{name}` differs").into());
            }
        }
        self.only_xet()?;
        Ok(self.of_xet().map(|seen| seen.received).sum())
    }

    /// # Errors
    /// When a large file was transferred the ordinary way, or none by way of Xet.
    fn only_xet(&self) -> Result<()> {
        let seen = self.server.seen();
        match seen.iter().find(|seen| !seen.hub && !seen.xet) {
            Some(seen) => Err(format!("{} {} was asked", seen.method, seen.target).into()),
            None if !seen.iter().any(|seen| seen.xet) => Err("the storage was not asked".into()),
            None => Ok(()),
        }
    }

    /// The requests to the storage.
    fn of_xet(&self) -> impl Iterator<Item = Seen> + use<> {
        self.server.seen().into_iter().filter(|seen| seen.xet)
    }
}
