//! The commands behind the aliases in `.cargo/config.toml`: one module each.

mod bench;
mod check;
mod deny;
mod dev;
mod documents;
mod eval;
mod journal;
mod key;
mod node_packages;
mod page;
mod picture;
mod process;
mod profile;
mod publish;
mod recording;
mod replay;
mod reports;
mod signature;
mod smoke;
mod soak;
mod steps;
mod template;
mod terminal;
mod time;
mod tools;
mod venv;
mod verify;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What the aliases lead to.
#[derive(Parser)]
#[command(bin_name = "cargo", disable_help_subcommand = true)]
struct CommandLine {
    #[command(subcommand)]
    command: TaskCommand,
}

#[derive(Subcommand)]
enum TaskCommand {
    /// Runs the whole system on this machine, or asks it a question.
    Dev(dev::DevArguments),
    /// Runs all CI steps, or the named ones.
    Verify(steps::StepArguments),
    /// Runs long checks: the deployable build, and longer versions of the steps of verify.
    Soak(steps::StepArguments),
    /// Measures speed and size, and compares the figures with their targets.
    BenchRun(bench::BenchArguments),
    /// Compares `Cargo.lock` with the `RustSec` database.
    #[command(override_usage = "cargo xtask advisories [DATABASE]")]
    Advisories(deny::AdvisoryArguments),
    /// Generates the documents in docs/ that come from the code.
    #[command(override_usage = "cargo xtask docs")]
    Docs,
    /// Asks questions with known answers, and reports which facts and citations are correct.
    #[command(
        override_usage = "cargo xtask eval --suite SUITE [--base-url URL [--key KEY]] [--only N] [--require SHARE]"
    )]
    Eval(eval::EvalArguments),
    /// Shows the journal of a run: the input and the resulting facts of each record. Or verifies the records.
    #[command(override_usage = "cargo xtask journal RUN|FILE [--tree] [--json] [--verify]")]
    Journal(journal::JournalArguments),
    /// Checks a configuration folder: settings, models, agents, modes and prompts.
    #[command(override_usage = "cargo xtask check FOLDER")]
    Check(check::CheckArguments),
    /// Creates an API key, and its line for `DJINN_API_KEYS`.
    #[command(override_usage = "cargo xtask key --tenant TENANT --user USER")]
    Key(key::KeyArguments),
    /// Builds the web page into target/web.
    #[command(override_usage = "cargo xtask page")]
    Page,
    /// Takes a picture of the web page from a real run of the demo model.
    #[command(override_usage = "cargo xtask picture [--out FILE]")]
    Picture(picture::PictureArguments),
    /// Profiles the agent, and prints the largest owners of processor time, memory, its program and the first build.
    #[command(override_usage = "cargo xtask profile SUBJECT")]
    Profile(profile::ProfileArguments),
    /// Checks a configuration folder, and copies it into the bucket of a deployment.
    #[command(override_usage = "cargo xtask publish FOLDER [--bucket NAME]")]
    Publish(publish::PublishArguments),
    /// Runs a planned question and writes its output as an animated SVG.
    #[command(override_usage = "cargo xtask recording [--out FILE]")]
    Recording(recording::RecordingArguments),
    /// Replays the records of a run and of its child runs, and shows the first difference.
    #[command(override_usage = "cargo xtask replay RUN|FILE [--save FILE]")]
    Replay(replay::ReplayArguments),
    /// Renders sample reports in all forms into target/reports, and prints their measurable faults.
    #[command(override_usage = "cargo xtask reports")]
    Reports,
    /// Checks a running deployment for less than a cent: a question, its stream, a resume, a file.
    #[command(override_usage = "cargo xtask smoke URL [--token TOKEN] [--sign]")]
    Smoke(smoke::SmokeArguments),
    /// Deploys template.yaml to an emulator of AWS, and keeps the stack until a key is pressed.
    #[command(override_usage = "cargo xtask stack")]
    Stack,
    /// Accepts the tools of MCP servers for a configuration folder.
    #[command(
        override_usage = "cargo xtask tools lock [SERVER] [--folder FOLDER] [--yes | --check]"
    )]
    Tools(tools::ToolsArguments),
    /// Checks template.yaml, and writes target/template.json and the example's template.
    #[command(override_usage = "cargo xtask template [--example]")]
    Template(template::TemplateArguments),
}

fn main() -> ExitCode {
    let outcome = match std::env::var_os(djinn_settings::table::contributor::RUSTDOC.name) {
        Some(_) => {
            let words: Vec<String> = std::env::args().skip(1).collect();
            verify::rustdoc::run_rustdoc(&words.iter().map(String::as_str).collect::<Vec<_>>())
        }
        None => run_command(CommandLine::parse().command),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::print_line(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run_command(command: TaskCommand) -> anyhow::Result<()> {
    match command {
        TaskCommand::Advisories(arguments) => deny::run_advisories(arguments),
        TaskCommand::BenchRun(arguments) => bench::run_bench(&arguments),
        TaskCommand::Check(arguments) => check::run(&arguments),
        TaskCommand::Dev(arguments) => dev::run(arguments),
        TaskCommand::Docs => documents::write(),
        TaskCommand::Eval(arguments) => eval::run(&arguments),
        TaskCommand::Journal(arguments) => journal::run(arguments),
        TaskCommand::Key(arguments) => key::run(arguments),
        TaskCommand::Page => page::build().map(drop),
        TaskCommand::Picture(arguments) => picture::take(&arguments),
        TaskCommand::Profile(arguments) => profile::run_profile(&arguments),
        TaskCommand::Publish(arguments) => publish::run(&arguments),
        TaskCommand::Recording(arguments) => recording::run(&arguments),
        TaskCommand::Replay(arguments) => replay::run(arguments),
        TaskCommand::Reports => reports::render_samples(),
        TaskCommand::Smoke(arguments) => smoke::run(arguments),
        TaskCommand::Soak(arguments) => soak::run(&arguments),
        TaskCommand::Stack => verify::keep_stack(),
        TaskCommand::Template(arguments) => template::run(&arguments),
        TaskCommand::Tools(arguments) => tools::run(arguments),
        TaskCommand::Verify(arguments) => verify::run(&arguments),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    /// Checks the command line with clap's own assertions.
    #[test]
    fn the_commands_fit_together() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn every_command_says_how_it_is_called() {
        for words in [
            &["--help"][..],
            &["dev", "--help"],
            &["dev", "ask", "-h"],
            &["verify", "--help"],
            &["advisories", "--help"],
        ] {
            let words = ["cargo"].iter().chain(words);
            let help = CommandLine::try_parse_from(words).err().unwrap();
            assert_eq!(help.kind(), clap::error::ErrorKind::DisplayHelp);
            assert!(help.to_string().contains("Usage: cargo"), "{help}");
        }
    }

    #[test]
    fn the_help_of_dev_lists_the_settings() {
        let long = CommandLine::try_parse_from(["cargo", "dev", "--help"]).err().unwrap();
        assert!(long.to_string().contains("DJINN_LIMITS__MAX_STEPS"), "{long}");
        let short = CommandLine::try_parse_from(["cargo", "dev", "-h"]).err().unwrap();
        assert!(!short.to_string().contains("DJINN_LIMITS__MAX_STEPS"), "{short}");
    }

    #[test]
    fn what_is_misspelt_is_refused_with_what_there_is() {
        let refused = CommandLine::try_parse_from(["cargo", "verfy"]).err().unwrap().to_string();
        assert!(refused.contains("'verify'"), "{refused}");
    }
}
