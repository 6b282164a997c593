//! `portico generate man|completions DIR`: files for packages. Hidden from the help: it is not needed to run a
//! service.

use std::path::PathBuf;

use clap::{Args, Command, ValueEnum};
use clap_complete::Shell;

use crate::cli::common::Failure;

#[derive(Args, Debug)]
pub(super) struct Generate {
    /// What to write.
    what: What,
    /// The folder to write to; made if it does not exist.
    dir: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// A page of section 1 for each command.
    Man,
    /// Scripts for bash, fish and zsh.
    Completions,
}

pub(super) fn run(generate: &Generate, mut command: Command) -> Result<(), Failure> {
    let dir = &generate.dir;
    let failed = |error: std::io::Error| Failure::io(format_args!("{} cannot be written to", dir.display()), error);
    std::fs::create_dir_all(dir).map_err(failed)?;
    match generate.what {
        What::Man => clap_mangen::generate_to(command, dir).map_err(failed),
        What::Completions => [Shell::Bash, Shell::Fish, Shell::Zsh].into_iter().try_for_each(|shell| {
            clap_complete::generate_to(shell, &mut command, "portico", dir).map(drop).map_err(failed)
        }),
    }
}
