//! `nnx inspect`: shows what a checkpoint contains.

mod contents;
mod fields;
mod hash;
mod nn_checkpoint;
mod tensors;
mod text;
mod tree;
mod values;

use serde::Serialize;

use self::contents::Contents;
use self::tree::Tree;
use crate::arguments::{Distributed, Inspect};
use crate::failure::Failure;
use crate::json;
use crate::opened::{Opened, part_of};
use crate::outcome::Outcome;
use crate::terminal::Page;

pub(crate) fn run(arguments: &Inspect) -> Outcome {
    match read(arguments) {
        Ok(contents) if arguments.json => {
            let tree = arguments.tree.then(|| Tree::new(&contents.tensors));
            let object = WithTree {
                contents: &contents,
                tree,
            };
            Outcome::success(json::object(&object))
        }
        Ok(contents) => {
            let page = Page::for_stdout();
            Outcome::success(text::render(&contents, arguments.tree, &page))
        }
        Err(failure) => Outcome::failure(&failure, arguments.json),
    }
}

/// The contents and, if requested, the tree of their names.
#[derive(Serialize)]
struct WithTree<'a> {
    #[serde(flatten)]
    contents: &'a Contents,
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<Tree<'a>>,
}

fn read(arguments: &Inspect) -> Result<Contents, Failure> {
    let Distributed { part, tag } = &arguments.distributed;
    let path = part_of(&arguments.path, *part, tag.as_deref())?;
    let opened = if arguments.hash {
        Opened::open_whole(&path, part.unwrap_or_default())?
    } else {
        Opened::open(&path, part.unwrap_or_default())?
    };
    let prefix = arguments.select.as_deref().unwrap_or_default();
    let mut contents = Contents::new(&opened, &arguments.path, prefix);
    contents.nn_checkpoint = nn_checkpoint::read(&opened);
    if arguments.hash {
        hash::add(&opened, &mut contents.tensors)?;
    }
    Ok(contents)
}
