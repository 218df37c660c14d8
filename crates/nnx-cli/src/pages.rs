//! Completions and manual pages, made from the declaration of the arguments.

use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::outcome::Outcome;

/// The completion script of a shell.
pub(crate) fn completions(shell: Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "nnx", &mut script);
    Outcome::success(String::from_utf8_lossy(&script).into_owned())
}

/// The manual page of `nnx`, or of one of its commands.
pub(crate) fn manual(name: Option<&str>) -> Outcome {
    let mut all = Arguments::command();
    all.build();
    let command = match name {
        None => Some(&all),
        Some(name) => all.find_subcommand(name),
    };
    let Some(command) = command else {
        let message = format!("no such command: `{}`", name.unwrap_or_default());
        return Outcome::failure(&Failure::usage(&message), false);
    };
    let title = match name {
        None => "nnx".to_owned(),
        Some(name) => format!("nnx-{name}"),
    };
    let mut page = Vec::new();
    // Writing to a vector cannot fail.
    let _ = Man::new(command.clone()).title(title).render(&mut page);
    Outcome::success(String::from_utf8_lossy(&page).into_owned())
}
