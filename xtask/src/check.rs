//! `cargo xtask check`: checks a configuration folder.

use std::path::PathBuf;

use anyhow::{Result, bail};
use djinn_local::check_settings_file;
use djinn_tools::{agent_source, prompt_source};

use crate::terminal::print_line;

/// The folder to check.
#[derive(clap::Args)]
pub(crate) struct CheckArguments {
    /// Folder with `djinn.toml`, `agents/` and `prompts/`; each is optional.
    folder: PathBuf,
}

/// Checks the files of a configuration folder, and prints each problem with its file and line.
///
/// # Errors
/// Returns the number of problems, and an error for a path that is not a folder.
pub(crate) fn run(CheckArguments { folder }: &CheckArguments) -> Result<()> {
    if !folder.is_dir() {
        bail!("{} is not a folder", folder.display());
    }
    let mut problems = check_settings_file(folder, agent::check_settings);
    let agents = folder.join("agents");
    if agents.is_dir() {
        problems.extend(agent_source::make_manifest(&agents).err().map(|error| error.to_string()));
    }
    let prompts = folder.join("prompts");
    if prompts.is_dir() {
        problems
            .extend(prompt_source::make_manifest(&prompts).err().map(|error| error.to_string()));
    }
    problems.iter().for_each(|problem| print_line(problem));
    match problems.len() {
        0 => {
            print_line("The files are valid.");
            Ok(())
        }
        1 => bail!("1 problem"),
        count => bail!("{count} problems"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_problem_of_a_folder_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let arguments = CheckArguments { folder: folder.path().to_owned() };
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        run(&arguments).unwrap();
        write(
            "djinn.toml",
            "[models.main]\nprovider = \"openai\"\nmodel = \"gpt-4.1\"\nkey = \"env:NOT_SET_HERE\"\n",
        );
        write(
            "agents/pricing.md",
            "---\nname: pricing\ndescription: Knows prices.\n---\nYou know prices.\n",
        );
        write("prompts/en/react/system.md", "You are brief.");
        run(&arguments).unwrap();
        write("djinn.toml", "[limits]\nmax_steps = 0\n[limit]\n");
        write("prompts/en/react/sytem.md", "");
        let error = run(&arguments).unwrap_err().to_string();
        assert_eq!(error, "3 problems");
        write(
            "djinn.toml",
            "[limits]\nmax_usd = 1\n[models.main]\nprovider = \"openai\"\nmodel = \"mine\"\nkey = \"env:K\"\n",
        );
        let problems = check_settings_file(folder.path(), agent::check_settings);
        assert!(problems.concat().contains("no price for"), "{problems:?}");
    }
}
