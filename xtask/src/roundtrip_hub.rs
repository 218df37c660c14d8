//! `cargo xtask roundtrip --hub`: pushes models to a Hub and loads them back.
//!
//! Without other options it needs neither a network nor Python: the Hub is the project's own, on
//! the loopback interface. With `--python PATH` the official client does the other half, in both
//! directions, against that Hub and against `fakehub.py`, a Hub that was developed with the
//! official client.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nnx_hub::{Hub, LoadOptions, ModelHubMixin, PushOptions, Settings, Token};
use nnx_hub_server::{HubServer, WRITE_TOKEN};
use nnx_net::NNModel;

use crate::workspace::line_of;
use crate::{Arguments, Result, roundtrip_xet, workspace};

/// Models of each kind of net that both sides build.
const MODELS: &[&str] = &[
    "ff_relu",
    "ff_perlayer",
    "moe_top2",
    "conv_default",
    "transformer_tied",
    "transformer_untied",
    "vit",
    "recipe_lora",
];

/// The files that must be the same on both sides.
const FILES: [&str; 3] = ["README.md", "config.json", "model.safetensors"];

/// The script that runs the official client.
const SCRIPT: &str = include_str!("../python/roundtrip_hub.py");

/// A Hub, and the token for it.
struct Site<'a> {
    name: &'a str,
    endpoint: String,
    token: String,
    /// Whether large files may be sent by Xet, which the official client assumes.
    xet: bool,
}

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    let by_xet = arguments.flag("--xet");
    let python = arguments.value("--python")?.map(PathBuf::from);
    arguments.finish()?;
    if by_xet {
        return roundtrip_xet::run(python.as_deref());
    }
    let folder = tempfile::tempdir()?;
    let mut trip = Trip {
        folder: folder.path(),
        python: python.as_deref(),
        passed: 0,
        failed: 0,
    };
    let server = HubServer::start()?;
    trip.visit(&Site {
        name: "the project's own Hub",
        endpoint: server.endpoint().to_owned(),
        token: WRITE_TOKEN.to_owned(),
        xet: false,
    })?;
    if let Some(python) = &python {
        for (name, arguments) in [("fakehub.py", &[][..]), ("fakehub.py with Xet", &["--xet"])] {
            let fake = FakeHub::start(python, arguments)?;
            trip.visit(&Site {
                name,
                endpoint: fake.endpoint.clone(),
                token: fake.token.clone(),
                xet: !arguments.is_empty(),
            })?;
        }
    }
    println!("{} passed, {} failed", trip.passed, trip.failed);
    match trip.failed {
        0 => Ok(()),
        failed => Err(format!("{failed} trips failed").into()),
    }
}

struct Trip<'a> {
    folder: &'a Path,
    python: Option<&'a Path>,
    passed: usize,
    failed: usize,
}

impl Trip<'_> {
    /// All round trips to one Hub.
    fn visit(&mut self, site: &Site<'_>) -> Result<()> {
        println!("--- {}", site.name);
        for model in MODELS {
            let outcome = self.rust_to_rust(site, model);
            self.line(model, "pushed by Rust, loaded by Rust", outcome);
        }
        let Some(python) = self.python else {
            return Ok(());
        };
        let what = "pushed by Rust, loaded by Python";
        let outcomes = self.rust_to_python(site, python)?;
        for (model, outcome) in MODELS.iter().zip(outcomes) {
            self.line(model, what, outcome);
        }
        let what = "pushed by Python, loaded by Rust";
        let outcomes = self.python_to_rust(site, python)?;
        for (model, outcome) in MODELS.iter().zip(outcomes) {
            self.line(model, what, outcome);
        }
        let outcome = self.one_cache(site, python);
        self.line("ff_relu", "one cache for both", outcome);
        Ok(())
    }

    fn line(&mut self, model: &str, what: &str, outcome: Result<()>) {
        match outcome {
            Ok(()) => {
                self.passed += 1;
                println!("ok    {model:<20} {what}");
            }
            Err(error) => {
                self.failed += 1;
                println!("FAIL  {model:<20} {what}: {error}");
            }
        }
    }

    fn rust_to_rust(&self, site: &Site<'_>, model: &str) -> Result<()> {
        let (id, fixture) = (id("rust", model), fixture(model));
        let hub = self.hub(site, "rust")?;
        let options = PushOptions::default().hub(hub.clone());
        let pushed = NNModel::from_pretrained(&fixture)?.push_to_hub_with(&id, &options)?;
        if !pushed.changed {
            return Err("nothing was pushed".into());
        }
        let again = NNModel::from_pretrained(&fixture)?.push_to_hub_with(&id, &options)?;
        if again.changed {
            return Err("the same was pushed twice".into());
        }
        self.load(&id, &LoadOptions::default().hub(hub), &fixture)
    }

    /// Loads a model, saves it and compares the files with those that were pushed.
    fn load(&self, id: &str, options: &LoadOptions, fixture: &Path) -> Result<()> {
        let saved = self.fresh()?;
        NNModel::from_pretrained_with(id, options)?.save_pretrained(&saved)?;
        same(fixture, &saved)
    }

    /// Loads in Python what [`rust_to_rust`](Self::rust_to_rust) has pushed.
    fn rust_to_python(&self, site: &Site<'_>, python: &Path) -> Result<Vec<Result<()>>> {
        let mut jobs = Vec::new();
        for model in MODELS {
            jobs.push(["pull".to_owned(), id("rust", model), text(&self.fresh()?)]);
        }
        let done = self.python(site, python, "python", &jobs, false)?;
        let compared = done.into_iter().zip(MODELS).zip(&jobs);
        Ok(compared
            .map(|((done, model), [.., saved])| {
                done.and_then(|()| same(&fixture(model), Path::new(saved)))
            })
            .collect())
    }

    fn python_to_rust(&self, site: &Site<'_>, python: &Path) -> Result<Vec<Result<()>>> {
        let jobs: Vec<_> = MODELS
            .iter()
            .map(|model| {
                [
                    "push".to_owned(),
                    text(&fixture(model)),
                    id("python", model),
                ]
            })
            .collect();
        let done = self.python(site, python, "python", &jobs, false)?;
        let load = LoadOptions::default().hub(self.hub(site, "rust")?);
        let compared = done.into_iter().zip(MODELS);
        Ok(compared
            .map(|(done, model)| {
                done.and_then(|()| self.load(&id("python", model), &load, &fixture(model)))
            })
            .collect())
    }

    /// Checks that each side finds the downloads of the other without a network.
    fn one_cache(&self, site: &Site<'_>, python: &Path) -> Result<()> {
        let (fixture, id) = (fixture("ff_relu"), id("rust", "ff_relu"));
        let raw = |home: &Path, offline: bool| {
            let copied = self.fresh()?;
            let jobs = [["raw".to_owned(), id.clone(), text(&copied)]];
            let done = self.python(site, python, &text(home), &jobs, offline)?;
            done.into_iter().collect::<Result<Vec<()>>>()?;
            same(&fixture, &copied)
        };
        // Rust first.
        let home = self.fresh()?;
        let load = LoadOptions::default().hub(self.hub(site, &text(&home))?);
        self.load(&id, &load, &fixture)?;
        raw(&home, true)?;
        let noted = listing(&home, &id)?;
        // Python first.
        let home = self.fresh()?;
        raw(&home, false)?;
        if listing(&home, &id)? != noted {
            return Err("the cache's note of what the repository has differs".into());
        }
        let local = LoadOptions::default()
            .hub(self.hub(site, &text(&home))?)
            .local_files_only(true);
        self.load(&id, &local, &fixture)
    }

    /// A client with a home folder of that name, for this Hub.
    fn hub(&self, site: &Site<'_>, home: &str) -> Result<Hub> {
        let home = self.home(site, home);
        let variable = |name: &str| match name {
            "HF_ENDPOINT" => Some(site.endpoint.clone()),
            "HF_HOME" => Some(home.to_string_lossy().into_owned()),
            _ => None,
        };
        let mut settings = Settings::from_variables(&variable)?;
        settings.token = Some(Token::new(&site.token)?);
        Ok(Hub::new(settings)?)
    }

    fn home(&self, site: &Site<'_>, name: &str) -> PathBuf {
        // A path that is given is used as it is.
        self.folder.join(site.name.replace(' ', "-")).join(name)
    }

    /// A folder that does not exist yet.
    fn fresh(&self) -> Result<PathBuf> {
        Ok(tempfile::tempdir_in(self.folder)?.keep().join("it"))
    }

    /// Runs jobs in the official client, and returns the result of each.
    fn python(
        &self,
        site: &Site<'_>,
        python: &Path,
        home: &str,
        jobs: &[[String; 3]],
        offline: bool,
    ) -> Result<Vec<Result<()>>> {
        let script = self.folder.join("roundtrip_hub.py");
        std::fs::write(&script, SCRIPT)?;
        let mut command = Command::new(python);
        command
            .arg("-I")
            .arg(&script)
            .args(jobs.iter().flatten())
            .env("HF_ENDPOINT", &site.endpoint)
            .env("HF_HOME", self.home(site, home))
            .env("HF_TOKEN", &site.token)
            .env("HF_HUB_OFFLINE", if offline { "1" } else { "0" })
            .env("HF_HUB_DISABLE_XET", if site.xet { "0" } else { "1" })
            .env("HF_HUB_DISABLE_TELEMETRY", "1")
            .env("HF_HUB_DISABLE_PROGRESS_BARS", "1");
        let output = command.stdin(Stdio::null()).output()?;
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let done: Vec<Result<()>> = lines
            .lines()
            .filter_map(|line| serde_json::from_str::<Option<String>>(line).ok())
            .map(|error| error.map_or(Ok(()), |error| Err(error.into())))
            .collect();
        if !output.status.success() || done.len() != jobs.len() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("`{}` failed: {said}", line_of(&command)).into());
        }
        Ok(done)
    }
}

/// The listing of a repository's files in a cache.
fn listing(home: &Path, id: &str) -> Result<Vec<u8>> {
    let folder = format!("hub/models--{}/trees", id.replace('/', "--"));
    let folder = home.join(folder);
    let mut files = std::fs::read_dir(&folder)?;
    let file = files
        .next()
        .ok_or("the cache has no note of what the repository has")??;
    Ok(std::fs::read(file.path())?)
}

/// The repository of a model.
fn id(by: &str, model: &str) -> String {
    format!("alice/{by}-{}", model.replace('_', "-"))
}

fn fixture(model: &str) -> PathBuf {
    let fixtures = workspace::root().join("tests/fixtures/nnx-0.4.1/hub");
    fixtures.join(model)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// # Errors
/// When a file differs.
fn same(expected: &Path, found: &Path) -> Result<()> {
    for name in FILES {
        if std::fs::read(expected.join(name))? != std::fs::read(found.join(name))? {
            return Err(format!("`{name}` differs").into());
        }
    }
    Ok(())
}

/// A Hub that was developed with the official client.
struct FakeHub {
    child: Child,
    endpoint: String,
    token: String,
}

impl FakeHub {
    /// # Errors
    /// When it does not start.
    fn start(python: &Path, arguments: &[&str]) -> Result<Self> {
        let script = workspace::root().join("tests/hub-server/fakehub.py");
        let mut command = Command::new(python);
        command
            .arg("-I")
            .arg(script)
            .arg("--until-stdin-closes")
            .args(arguments);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot run `{}`: {error}", line_of(&command)))?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let about: serde_json::Value = serde_json::from_str(&line)?;
        let text = |pointer: &str| {
            let text = about.pointer(pointer).and_then(serde_json::Value::as_str);
            text.map(str::to_owned).ok_or("fakehub.py says nothing")
        };
        Ok(Self {
            endpoint: text("/endpoint")?,
            token: text("/tokens/0")?,
            child,
        })
    }
}

impl Drop for FakeHub {
    fn drop(&mut self) {
        // It ends when its standard input is closed.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
