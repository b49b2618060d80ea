//! `cargo xtask check`: checks a configuration folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use djinn_local::{CheckedFolder, Djinn, check_folder, find_python};

use crate::dev::home_dir;
use crate::process::command_output;
use crate::terminal::print_line;
use crate::workspace;

/// The script that uses the files for documents, each once.
const CHECK_TEMPLATES: &str = "infra/sandbox/check_templates.py";

/// The folder to check.
#[derive(clap::Args)]
pub(crate) struct CheckArguments {
    /// Folder with `djinn.toml`, `agents/`, `modes/` and `prompts/`; each is optional.
    pub(crate) folder: PathBuf,
    /// Tool of the deployment besides Djinn's own, which agents may use; can be repeated.
    #[arg(long = "tool", value_name = "NAME")]
    pub(crate) tools: Vec<String>,
}

impl CheckArguments {
    /// Checks the files, and prints each problem and each warning with its file and line.
    ///
    /// # Errors
    /// Returns the number of problems, and an error for a path that is not a folder.
    pub(crate) fn check_files(&self) -> Result<CheckedFolder> {
        let Self { folder, tools } = self;
        if !folder.is_dir() {
            bail!("{} is not a folder", folder.display());
        }
        let djinn = Djinn::new().with_settings_check(djinn_local::check_settings);
        let checked = check_folder(&djinn, folder, tools).or_else(|problems| fail(&problems))?;
        let templates = folder.join("templates");
        if templates.is_dir() {
            check_templates(&templates)?;
        }
        checked.warnings.iter().for_each(|warning| print_line(&format!("warning: {warning}")));
        Ok(checked)
    }
}

/// Prints the problems, and returns their number as an error.
fn fail<T>(problems: &[String]) -> Result<T> {
    problems.iter().for_each(|problem| print_line(problem));
    match problems.len() {
        1 => bail!("1 problem"),
        count => bail!("{count} problems"),
    }
}

/// Checks the logo and the Office files of documents with the Python of a sandbox, which `cargo dev` or `cargo xtask
/// reports` has installed.
fn check_templates(templates: &Path) -> Result<()> {
    let places = [home_dir().join("python"), workspace::target_dir().join("sandbox-python")];
    let Some(python) = places.iter().find_map(|place| find_python(place)) else {
        print_line("warning: templates/ is checked only after `cargo dev` has installed Python");
        return Ok(());
    };
    let script = workspace::root().join(CHECK_TEMPLATES);
    let faults = command_output(Command::new(python).arg(script).arg(templates))?;
    let faults: Vec<_> = faults.lines().map(str::to_owned).collect();
    if faults.is_empty() { Ok(()) } else { fail(&faults) }
}

/// Checks the files of a configuration folder.
///
/// # Errors
/// Returns the number of problems, and an error for a path that is not a folder.
pub(crate) fn run(arguments: &CheckArguments) -> Result<()> {
    arguments.check_files()?;
    print_line("The files are valid.");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_example_is_valid_as_a_whole() {
        let folder = workspace::root().join("examples/config");
        let arguments = CheckArguments { folder, tools: Vec::new() };
        let checked = arguments.check_files().unwrap();
        let expected = [
            "agents/pricing.md",
            "agents/regions.md",
            "djinn.toml",
            "modes/price_check.md",
            "prompts/en/style/table.md",
            "prompts/zh/style/table.md",
            "workflows/brief.yaml",
            "workflows/weekly.yaml",
        ];
        assert_eq!(checked.files, expected);
    }

    /// The file of an agent with these keys.
    fn agent_file(name: &str, keys: &str) -> String {
        format!("---\nname: {name}\ndescription: Knows.\n{keys}---\nYou know.\n")
    }

    #[test]
    fn problems_between_files_are_named_with_file_and_line() {
        let file = agent_file;
        let model = "[models.main]\nprovider = \"openai\"\nmodel = \"mine\"\nkey = \"env:K\"\n";
        for (name, text, says) in [
            ("agents/a.md", file("a", "tools: [pyton]\n"), "agents/a.md:4: `tools` names `pyton`"),
            ("agents/a.md", file("a", "tools: [a]\n"), "agents/a.md:4: "),
            ("agents/react.md", file("react", ""), "agents/react.md:2: `name` is `react`, a mode"),
            ("agent/a.md", file("a", ""), "agent/:1: it is neither djinn.toml nor a file in "),
            ("agents/a.txt", file("a", ""), "agents/a.txt:1: it is not named agents/NAME.md"),
            ("modes/a b.md", file("a", ""), "modes/a b.md:1: it is not named modes/NAME.md"),
            (
                "djinn.toml",
                "[agents]\noffered = \"b\"\n".to_owned(),
                "djinn.toml:2: agents.offered",
            ),
            (
                "djinn.toml",
                format!("{model}[limits]\nmax_usd = 1\n"),
                "a budget in US dollars is set",
            ),
            (
                "djinn.toml",
                format!("{model}{}", model.replace("main", "b")),
                "djinn.toml: default is",
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            let djinn = Djinn::new().with_settings_check(djinn_local::check_settings);
            let problems = check_folder(&djinn, folder.path(), &[]).unwrap_err();
            let home = format!("{}/", folder.path().display());
            assert!(problems[0].replace(&home, "").starts_with(says), "{problems:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("agents")).unwrap();
        fs::write(folder.path().join("agents/a.md"), file("a", "tools: [price_list]\n")).unwrap();
        let mut arguments = CheckArguments {
            folder: folder.path().to_owned(),
            tools: vec!["price_list".to_owned()],
        };
        run(&arguments).unwrap();
        arguments.tools.clear();
        assert_eq!(run(&arguments).unwrap_err().to_string(), "1 problem");
    }

    #[test]
    fn each_problem_of_a_folder_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let arguments = CheckArguments { folder: folder.path().to_owned(), tools: Vec::new() };
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        run(&arguments).unwrap();
        write("djinn.toml", "[limits]\nmax_steps = 0\n[limit]\n");
        write("prompts/en/react/sytem.md", "");
        assert_eq!(run(&arguments).unwrap_err().to_string(), "3 problems");
        fs::remove_dir_all(folder.path().join("prompts")).unwrap();
        write("djinn.toml", "");
        run(&arguments).unwrap();
        write("tools/weather.toml", "trust = \"some\"\n");
        write("agents/a.md", &agent_file("a", "tools: [weather]\n"));
        assert_eq!(run(&arguments).unwrap_err().to_string(), "4 problems");
        write("tools/weather.toml", include_str!("../../examples/tools/weather.toml"));
        run(&arguments).unwrap();
        write(
            "tools/servers/notes.toml",
            "url = \"http://127.0.0.1:9181/mcp\"\ntrust = \"none\"\n",
        );
        let warnings = arguments.check_files().unwrap().warnings;
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(
            warning.contains("tools/servers/notes.toml:1: tools/servers.lock.json does not have")
        );
        let elsewhere = CheckArguments { folder: folder.path().join("none"), tools: Vec::new() };
        assert!(run(&elsewhere).unwrap_err().to_string().ends_with("is not a folder"));
    }
}
