//! `nnx inspect`: what a checkpoint holds.

mod contents;
mod fields;
mod hash;
mod nn_checkpoint;
mod tensors;
mod text;
mod tree;

use self::contents::Contents;
use crate::arguments::Inspect;
use crate::failure::Failure;
use crate::json;
use crate::opened::Opened;
use crate::outcome::Outcome;
use crate::terminal::Page;

pub(crate) fn run(arguments: &Inspect) -> Outcome {
    match read(arguments) {
        Ok(contents) if arguments.json => Outcome::success(json::object(&contents)),
        Ok(contents) => {
            let page = Page::of_stdout();
            Outcome::success(text::render(&contents, arguments.tree, &page))
        }
        Err(failure) => Outcome::failure(&failure, arguments.json),
    }
}

fn read(arguments: &Inspect) -> Result<Contents, Failure> {
    let opened = Opened::open(&arguments.path)?;
    let prefix = arguments.select.as_deref().unwrap_or_default();
    let mut contents = Contents::of(&opened, &arguments.path, prefix);
    contents.nn_checkpoint = nn_checkpoint::read(opened.reader(), &arguments.path);
    if arguments.hash {
        hash::add(&opened, &mut contents.tensors)?;
    }
    Ok(contents)
}
