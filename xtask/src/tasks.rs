//! Every task and its arguments.

use crate::{
    Arguments, Result, bench, boundary, charts, ci, convert, distributed, fuzz, loaders,
    python_env, realworld, roundtrip, runs, store, train,
};

/// One chore.
pub(crate) struct Task {
    pub(crate) name: &'static str,
    pub(crate) run: fn(Arguments) -> Result<()>,
    /// Its purpose, in one line.
    what: &'static str,
    /// Its arguments and options, each with its meaning.
    options: &'static [(&'static str, &'static str)],
}

const PYTHON: (&str, &str) = (
    "--python PATH",
    "an interpreter with the real NNx, as `cargo xtask python-env` prints it",
);

pub(crate) const TASKS: &[Task] = &[
    Task {
        name: "bench",
        run: bench::run,
        what: "times beside a lower bound and other libraries",
        options: &[
            (
                "checkpoint | hub | net | train",
                "what to measure [checkpoint]",
            ),
            (
                "--python PATH",
                "an interpreter with the real NNx; all but `checkpoint` need it",
            ),
            (
                "ROW…",
                "of `net`: only the rows whose names begin with one of the words",
            ),
            (
                "--part NAME",
                "the one part of the bench of checkpoints to run",
            ),
        ],
    },
    Task {
        name: "boundary",
        run: boundary::run,
        what: "check what the crates may depend on, name and contain",
        options: &[],
    },
    Task {
        name: "charts",
        run: charts::run,
        what: "charts of runs in a browser, by hand",
        options: &[
            (
                "DIR",
                "where the pictures go [`charts` beside the built command]",
            ),
            ("--python PATH", "an interpreter with Playwright [python3]"),
            ("--browser PATH", "a browser [Playwright's own]"),
        ],
    },
    Task {
        name: "ci",
        run: ci::run,
        what: "every check that a submission must pass",
        options: &[("--allow-dirty", "allow uncommitted files; not if CI is set")],
    },
    Task {
        name: "convert",
        run: convert::run,
        what: "converted files, judged by Python's libraries",
        options: &[
            (
                "DIR",
                "where the files are made [the system's temporary folder]",
            ),
            (
                "--python PATH",
                "an interpreter with the real NNx [that of `cargo xtask python-env`]",
            ),
            ("--large", "files of 1 and 4 GiB instead of the fixtures"),
        ],
    },
    Task {
        name: "distributed",
        run: distributed::run,
        what: "checkpoints of several processes, joined here and by PyTorch",
        options: &[
            PYTHON,
            ("--seed N", "the seed of random choices [the time]"),
            (
                "--rounds N",
                "how many sets of processes save checkpoints [10]",
            ),
            ("--kills N", "how many conversions are killed [100]"),
        ],
    },
    Task {
        name: "fuzz",
        run: fuzz::run,
        what: "fuzz bodies on damaged fixtures",
        options: &[
            ("BODY", "the one body to run [all]"),
            ("--seconds N", "how long each body runs [10]"),
            ("--seed N", "the seed of random choices [the time]"),
            (
                "--libfuzzer",
                "guided by coverage, which needs a nightly compiler",
            ),
        ],
    },
    Task {
        name: "loaders",
        run: loaders::run,
        what: "converted models, opened by the loaders of other tools",
        options: &[
            (
                "DIR",
                "where the files are made [the system's temporary folder]",
            ),
            (
                "--python PATH",
                "an interpreter with PyTorch [that of `cargo xtask python-env`]",
            ),
        ],
    },
    Task {
        name: "python-env",
        run: python_env::run,
        what: "make or find a Python with the real NNx, print its path",
        options: &[
            ("DIR", "where it is [in the user's cache]"),
            ("--library VERSION", "the release of NNx [the newest known]"),
        ],
    },
    Task {
        name: "realworld",
        run: realworld::run,
        what: "published checkpoints from PyPI, tensor for tensor",
        options: &[("DIR", "where the files are kept [in the user's cache]")],
    },
    Task {
        name: "roundtrip",
        run: roundtrip::run,
        what: "real checkpoints in both directions, or models to and from a Hub",
        options: &[
            (
                "--hub",
                "models to and from a Hub; only `--python` and `--xet` may be added",
            ),
            (
                "--xet",
                "with `--hub`: files to and from the storage server of Xet instead",
            ),
            PYTHON,
            ("--library VERSION", "the release of NNx [the newest known]"),
            ("--seed N", "the seed of random choices [the time]"),
        ],
    },
    Task {
        name: "runs",
        run: runs::run,
        what: "runs shared with the real NNx, writers killed",
        options: &[
            PYTHON,
            ("--kills N", "how many writers are killed [400]"),
            (
                "--rounds N",
                "saves of one checkpoint, in turn with Python [100]",
            ),
            ("--seed N", "the seed of random choices [0]"),
        ],
    },
    Task {
        name: "store",
        run: store::run,
        what: "checkpoints in servers of S3 and Azure, uploads killed",
        options: &[
            (
                "--python PATH",
                "an interpreter with moto [one that is installed in the user's cache]",
            ),
            (
                "--azurite PATH",
                "the program of Azurite; without it only S3",
            ),
            (
                "--kills N",
                "how many uploads are killed, with Azurite at most 20 [100]",
            ),
        ],
    },
    Task {
        name: "train",
        run: train::run,
        what: "trainings that the real NNx and `nnx` share",
        options: &[
            PYTHON,
            ("--seed N", "the seed of random choices [the time]"),
            (
                "--kills N",
                "kill so many trainings of `nnx train` instead; needs no Python",
            ),
        ],
    },
];

/// All tasks, one in each line.
pub(crate) fn help() -> String {
    let lines = TASKS
        .iter()
        .map(|task| format!("  {:<12} {}\n", task.name, task.what));
    format!(
        "cargo xtask <task>\n\n{}\n`cargo xtask <task> --help` lists its arguments.\n",
        lines.collect::<String>()
    )
}

impl Task {
    /// The task, with each argument and option; brackets contain the default.
    pub(crate) fn help(&self) -> String {
        let words: String = self
            .options
            .iter()
            .map(|(word, _)| format!(" [{word}]"))
            .collect();
        let mut help = format!("cargo xtask {}{words}\n\n{}\n", self.name, self.what);
        let widest = self.options.iter().map(|(word, _)| word.len()).max();
        let widest = widest.unwrap_or_default();
        for (index, (word, what)) in self.options.iter().enumerate() {
            let before = if index == 0 { "\n" } else { "" };
            help.push_str(&format!("{before}  {word:<widest$}  {what}\n"));
        }
        help
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCES: [(&str, &str); 15] = [
        ("bench", include_str!("bench.rs")),
        ("boundary", include_str!("boundary.rs")),
        ("charts", include_str!("charts.rs")),
        ("ci", include_str!("ci.rs")),
        ("convert", include_str!("convert.rs")),
        ("distributed", include_str!("distributed.rs")),
        ("fuzz", include_str!("fuzz.rs")),
        ("loaders", include_str!("loaders.rs")),
        ("python-env", include_str!("python_env.rs")),
        ("realworld", include_str!("realworld.rs")),
        ("roundtrip", include_str!("roundtrip.rs")),
        ("roundtrip", include_str!("roundtrip_hub.rs")),
        ("runs", include_str!("runs.rs")),
        ("store", include_str!("store.rs")),
        ("train", include_str!("train.rs")),
    ];

    /// The options that the source of a task reads.
    fn asked(source: &str) -> Vec<&str> {
        let calls = ["arguments.value(\"", "arguments.flag(\"", "number(\""];
        let asked = calls.iter().flat_map(|call| source.split(call).skip(1));
        asked.filter_map(|rest| rest.split('"').next()).collect()
    }

    #[test]
    fn every_option_of_every_task_is_documented() {
        let mut asked_in_all = 0;
        for task in TASKS {
            let sources = SOURCES.iter().filter(|(name, _)| *name == task.name);
            let asked: Vec<&str> = sources.flat_map(|(_, source)| asked(source)).collect();
            let is_documented = |option: &str| {
                let words = task.options.iter().map(|(word, _)| word.split(' ').next());
                words.flatten().any(|word| word == option)
            };
            for option in &asked {
                assert!(is_documented(option), "{}: {option}", task.name);
            }
            for (word, _) in task
                .options
                .iter()
                .filter(|(word, _)| word.starts_with('-'))
            {
                let option = word.split(' ').next().unwrap();
                assert!(asked.contains(&option), "{}: {option}", task.name);
            }
            asked_in_all += asked.len();
        }
        assert!(asked_in_all >= 15, "{asked_in_all} options");
    }

    #[test]
    fn help_says_what_each_option_is() {
        let runs = TASKS.iter().find(|task| task.name == "runs").unwrap();
        let help = runs.help();
        assert!(help.starts_with("cargo xtask runs [--python PATH] [--kills N]"));
        assert!(help.contains("\n  --kills N      how many writers are killed [400]\n"));
    }
}
