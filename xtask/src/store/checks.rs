//! The checks of `nnx` with a bucket.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::servers::Environment;
use crate::Result;
use crate::workspace::{output, root};

/// Checkpoints that are put into the store: of each container one, and an NNx checkpoint.
const FIXTURES: &[&str] = &[
    "nnx-0.4.1/checkpoints/ff_relu.pt",
    "nnx-0.4.1/hub/ff_relu/model.safetensors",
];
/// Bytes of the tensor of an upload that is killed: several parts.
const BYTES: usize = 20 << 20;
const WORKERS: usize = 3;
/// Readings of an object that changes.
const RETRIES: u32 = 10;

/// A bucket, and the command that reads and writes it.
pub(super) struct Bucket<'a> {
    command: &'a Path,
    url: &'a str,
    environment: Environment,
    scratch: &'a Path,
}

impl<'a> Bucket<'a> {
    pub(super) fn new(
        command: &'a Path,
        url: &'a str,
        environment: Environment,
        scratch: &'a Path,
    ) -> Self {
        Self {
            command,
            url,
            environment,
            scratch,
        }
    }

    fn nnx(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.command);
        command.args(arguments).envs(self.environment.clone());
        command
    }

    fn succeed(&self, arguments: &[&str]) -> Result<String> {
        output(&mut self.nnx(arguments))
    }

    fn url(&self, name: &str) -> String {
        format!("{}/{name}", self.url)
    }

    fn safetensors(&self, name: &str, byte: u8) -> Result<PathBuf> {
        let header = format!(
            "{{\"w\":{{\"dtype\":\"U8\",\"shape\":[{BYTES}],\"data_offsets\":[0,{BYTES}]}}}}"
        );
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.resize(bytes.len() + BYTES, byte);
        let path = self.scratch.join(name);
        fs::write(&path, bytes)?;
        Ok(path)
    }

    /// Puts fixtures into the store, reads them there and takes them back.
    pub(super) fn exchange(&self) -> Result<usize> {
        for fixture in FIXTURES {
            let path = root().join("tests/fixtures").join(fixture);
            let path = path.to_string_lossy();
            let name = fixture.replace('/', "_");
            let url = self.url(&format!("exchange/{name}"));
            let to = if name.ends_with(".pt") {
                "torch"
            } else {
                "safetensors"
            };
            let (copy, back) = (self.url(&format!("copy/{name}")), self.scratch.join(&name));
            let back = back.to_string_lossy();
            self.succeed(&["convert", &path, &url, "--to", to, "--overwrite"])?;
            self.succeed(&["diff", &path, &url])?;
            self.succeed(&["convert", &url, &copy, "--to", to, "--overwrite"])?;
            self.succeed(&["convert", &copy, &back, "--to", to, "--overwrite"])?;
            self.succeed(&["diff", &path, &back])?;
            self.succeed(&["scan", &copy])?;
            let hashes = |path: &str| -> Result<serde_json::Value> {
                let text = self.succeed(&["inspect", "--hash", "--json", path])?;
                Ok(serde_json::from_str::<serde_json::Value>(&text)?["tensors"].take())
            };
            if hashes(&path)? != hashes(&copy)? {
                return Err(format!("{copy} has other tensors than {path}").into());
            }
            if self
                .nnx(&["convert", &url, &copy])
                .output()?
                .status
                .success()
            {
                return Err(format!("{copy} was replaced without `--overwrite`").into());
            }
        }
        Ok(FIXTURES.len())
    }

    /// Several workers write the shards of one conversion into the store.
    pub(super) fn shares(&self) -> Result<()> {
        let fixture = root().join("tests/fixtures").join(FIXTURES[1]);
        let fixture = fixture.to_string_lossy();
        let target = self.url("shared/");
        let options = [
            "--to",
            "safetensors",
            "--max-shard-size",
            "1KB",
            "--overwrite",
        ];
        let base = [&["convert", &*fixture, &*target][..], &options].concat();
        let children: Vec<Child> = (0..WORKERS)
            .map(|worker| {
                let worker = format!("{worker}/{WORKERS}");
                let mut command = self.nnx(&[&base[..], &["--worker", &worker]].concat());
                Ok(command.stdout(Stdio::null()).spawn()?)
            })
            .collect::<Result<_>>()?;
        for mut child in children {
            if !child.wait()?.success() {
                return Err("a worker failed".into());
            }
        }
        self.succeed(&[&base[..], &["--index-only"]].concat())?;
        self.succeed(&["diff", &fixture, &target])?;
        Ok(())
    }

    /// Kills uploads at so many moments: the object is the old one or the new one. The last upload
    /// is finished. Returns how often it was which.
    pub(super) fn kill(&self, kills: u32) -> Result<(u32, u32)> {
        let sources = [
            self.safetensors("a.safetensors", b'a')?,
            self.safetensors("b.safetensors", b'b')?,
        ];
        let target = self.url("killed/model.safetensors");
        let start = |source: &Path| -> Result<Child> {
            let source = source.to_string_lossy();
            let mut command = self.nnx(&["convert", &source, &target, "--overwrite"]);
            Ok(command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?)
        };
        let hash = || -> Result<String> {
            let mut text = self.succeed(&["inspect", "--hash", "--json", &target]);
            for _ in 0..RETRIES {
                // The server may finish what a killed client asked for last.
                match &text {
                    Err(error) if error.to_string().contains("changed while it was read") => {
                        text = self.succeed(&["inspect", "--hash", "--json", &target]);
                    }
                    _ => break,
                }
            }
            let told: serde_json::Value = serde_json::from_str(&text?)?;
            Ok(told["tensors"][0]["sha256"].to_string())
        };
        let mut hashes = Vec::new();
        let mut usual = Duration::ZERO;
        for source in &sources {
            let begin = Instant::now();
            if !start(source)?.wait()?.success() {
                return Err("an upload failed".into());
            }
            usual = begin.elapsed();
            hashes.push(hash()?);
        }
        if hashes[0] == hashes[1] {
            return Err("two files have one hash".into());
        }
        let (mut old, mut new, mut now) = (0, 0, hashes[1].clone());
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        for turn in 0..kills {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let other = usize::from(now == hashes[0]);
            let mut child = start(&sources[other])?;
            sleep(usual.mul_f64((random >> 11) as f64 / (1u64 << 53) as f64));
            child.kill()?;
            child.wait()?;
            let found = hash()?;
            if found == now {
                old += 1;
            } else if found == hashes[other] {
                new += 1;
            } else {
                return Err(format!("kill {turn}: the object is neither old nor new").into());
            }
            now = found;
        }
        for (source, expected) in sources.iter().zip(&hashes) {
            if !start(source)?.wait()?.success() || hash()? != *expected {
                return Err("an upload after the kills did not finish".into());
            }
        }
        if old == 0 {
            return Err("no upload was killed in time".into());
        }
        Ok((old, new))
    }
}
