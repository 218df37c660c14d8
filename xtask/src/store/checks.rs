//! The checks of `nnx` with a bucket.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::servers::Environment;
use crate::Result;
use crate::workspace::{output, root};

/// Checkpoints that are put into the store: one of NNx in a PyTorch file, and a safetensors file.
const FIXTURES: &[&str] = &[
    "nnx-0.4.1/checkpoints/ff_relu.pt",
    "nnx-0.4.1/hub/ff_relu/model.safetensors",
];
/// Bytes of the tensor of an upload that is killed: several parts.
const BYTES: usize = 20 << 20;
const WORKERS: usize = 3;
/// Tensors of the source that workers share, and bytes of each. A shard takes two of them.
const TENSORS: usize = 8;
const TENSOR_BYTES: usize = 100_000;
const SHARD: &str = "250KB";
const SHARDS: usize = 4;
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

    /// A safetensors file of so many tensors of so many bytes, which begin with this one and then count
    /// up.
    fn safetensors(&self, name: &str, tensors: usize, len: usize, first: u8) -> Result<PathBuf> {
        let entries: Vec<String> = (0..tensors)
            .map(|at| {
                let (start, end) = (at * len, (at + 1) * len);
                format!(
                    "\"w{at}\":{{\"dtype\":\"U8\",\"shape\":[{len}],\"data_offsets\":[{start},{end}]}}"
                )
            })
            .collect();
        let header = format!("{{{}}}", entries.join(","));
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        for tensor in (first..).take(tensors) {
            bytes.resize(bytes.len() + len, tensor);
        }
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
            if self.hashes(&path)? != self.hashes(&copy)? {
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

    /// The tensors of a checkpoint, with the hashes of their bytes.
    fn hashes(&self, path: &str) -> Result<serde_json::Value> {
        let text = self.succeed(&["inspect", "--hash", "--json", path])?;
        Ok(serde_json::from_str::<serde_json::Value>(&text)?["tensors"].take())
    }

    /// Several workers write the shards of one conversion into the store: the shards that one process
    /// writes on the disk. Returns how many there are.
    pub(super) fn shares(&self) -> Result<usize> {
        let source = self.safetensors("shared.safetensors", TENSORS, TENSOR_BYTES, 1)?;
        let source = source.to_string_lossy();
        let alone = self.scratch.join("alone");
        let target = self.url("shared/");
        let options = [
            "--to",
            "safetensors",
            "--max-shard-size",
            SHARD,
            "--overwrite",
        ];
        self.succeed(
            &[
                &["convert", &*source, &*alone.to_string_lossy()][..],
                &options,
            ]
            .concat(),
        )?;
        let base = [&["convert", &*source, &*target][..], &options].concat();
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
        self.succeed(&["diff", &source, &target])?;
        let mut shards = 0;
        for entry in fs::read_dir(&alone)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !name.ends_with(".safetensors") {
                continue;
            }
            let url = format!("{target}{name}");
            if self.hashes(&path.to_string_lossy())? != self.hashes(&url)? {
                return Err(format!("{url} is not the shard that one process writes").into());
            }
            shards += 1;
        }
        if shards != SHARDS {
            return Err(format!("expected {SHARDS} shards, found {shards}").into());
        }
        Ok(shards)
    }

    /// Kills uploads at so many moments: the object is the old one or the new one. The last upload
    /// is finished. Returns how often it was which.
    pub(super) fn kill(&self, kills: u32) -> Result<(u32, u32)> {
        let sources = [
            self.safetensors("a.safetensors", 1, BYTES, b'a')?,
            self.safetensors("b.safetensors", 1, BYTES, b'b')?,
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
        if kills > 0 && old == 0 {
            return Err("no upload was killed in time".into());
        }
        Ok((old, new))
    }
}
