//! `nnx scan`: checks whether files are safe to unpickle.

mod remote;
mod report;
mod text;

use nnx::checkpoint::scan;

use self::report::{FileLine, ReportLines};
use crate::arguments::Scan;
use crate::json;
use crate::outcome::Outcome;
use crate::parallel;
use crate::progress::{Progress, Unit};
use crate::size;
use crate::terminal::Page;

pub(crate) fn run(arguments: &Scan) -> Outcome {
    let mut files = Vec::new();
    let mut here = Vec::new();
    for path in &arguments.paths {
        if let Some(url) = crate::remote::remote_url(path) {
            files.extend(remote::scan(url));
            continue;
        }
        match crate::hub::local(path) {
            Ok(path) => here.push(path.into_owned()),
            Err(failure) => files.push(FileLine::not_fetched(path, failure)),
        }
    }
    let candidates = scan::candidates(&here);
    let progress = Progress::new(candidates.len() as u64, Unit::Files, "scanning");
    let scanned = parallel::map(&candidates, |candidate| {
        let line = FileLine::new(&candidate.scan());
        progress.advance(1);
        Ok::<_, std::convert::Infallible>(line)
    });
    drop(progress);
    let Ok(scanned) = scanned;
    files.extend(scanned);
    let report = ReportLines::new(files);
    let output = if arguments.json {
        json::object(&report)
    } else {
        text::render(&report, &Page::for_stdout())
    };
    let outcome = Outcome::new(output, report.status());
    match report.counts.unjudged {
        0 => outcome,
        unjudged => {
            let files = size::count(report.files.len(), "file");
            outcome.with_error(&format!("could not judge {unjudged} of {files}"))
        }
    }
}
