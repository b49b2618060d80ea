//! The words after `cargo dev`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value, json};

/// The default port of the system.
pub(super) const PORT: u16 = 9000;

/// Without a command the system runs on this machine.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, after_long_help = djinn_settings::write_help())]
pub(crate) struct DevArguments {
    #[command(subcommand)]
    pub(super) command: Option<DevCommand>,
    /// Port of 127.0.0.1 to listen on.
    #[arg(long, default_value_t = PORT)]
    pub(super) port: u16,
    /// Folder of a built web UI to serve.
    #[arg(long, value_name = "DIR", value_parser = parse_ui)]
    pub(super) ui: Option<PathBuf>,
}

#[derive(Subcommand)]
pub(super) enum DevCommand {
    /// Runs the functions under `cargo lambda watch`, with local stores and timers.
    Watch {
        /// Port of 127.0.0.1 to listen on.
        #[arg(long, default_value_t = PORT)]
        port: u16,
    },
    /// Writes a first configuration folder, `config` in the home of the system.
    Init,
    /// Asks one question and streams the answer.
    Ask(Box<AskOptions>),
}

/// The options of `cargo dev ask`; options that are not set are `None` or empty.
#[derive(Args, Debug, Default, PartialEq)]
pub(super) struct AskOptions {
    /// The question, in quotes; can be absent with `--arguments`.
    #[arg(value_parser = parse_question, required_unless_present = "arguments")]
    pub(super) question: Option<String>,
    /// Sends this file with the question; can be repeated.
    #[arg(long = "file", value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Id of the session to ask in.
    #[arg(long)]
    pub(super) session: Option<String>,
    /// Id of the request; the same id joins or continues its run.
    #[arg(long = "request-id", value_name = "ID")]
    pub(super) request: Option<String>,
    /// Port to use in links, for a later `cargo dev`.
    #[arg(long)]
    pub(super) port: Option<u16>,
    /// Plans the question, as `--mode plan_solve`; several agents work in parallel.
    #[arg(long, conflicts_with = "mode")]
    deep: bool,
    /// Name of the mode, as `GET /modes` lists it (default `react`).
    #[arg(long, value_name = "NAME")]
    mode: Option<String>,
    /// Arguments of the mode, as a JSON object.
    #[arg(long, value_name = "JSON", value_parser = parse_arguments)]
    pub(super) arguments: Option<Map<String, Value>>,
    /// Asks for your approval before risky calls.
    #[arg(long)]
    approve: bool,
    /// Lets the model ask you for missing information first.
    #[arg(long)]
    clarify: bool,
    /// Asks for your approval of the plan, of each step before it starts, or of each step's result.
    #[arg(long, value_name = "WHAT")]
    confirm: Vec<ConfirmSubject>,
}

/// The subject of a confirmation before a plan continues.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq)]
enum ConfirmSubject {
    Plan,
    Steps,
    Results,
}

/// Returns the URL of a system on this port.
pub(super) fn url_at(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

impl AskOptions {
    /// Returns the name of the question's mode.
    pub(super) fn mode(&self) -> &str {
        let default = if self.deep { "plan_solve" } else { "react" };
        self.mode.as_deref().unwrap_or(default)
    }

    /// Returns the settings of human requests: the fields of `human_requests`.
    pub(super) fn human_requests(&self) -> Map<String, Value> {
        let subjects = self.confirm.iter().map(|what| match what {
            ConfirmSubject::Plan => ("confirm_plan", json!(true)),
            ConfirmSubject::Steps => ("confirm_steps", json!(["*"])),
            ConfirmSubject::Results => ("confirm_results", json!(true)),
        });
        let flags = [("enabled", self.approve), ("clarify", self.clarify)];
        let flags = flags.into_iter().filter(|(_, on)| *on).map(|(name, on)| (name, json!(on)));
        flags.chain(subjects).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn parse_ui(path: &str) -> Result<PathBuf, String> {
    let dir = PathBuf::from(path);
    if dir.join("index.html").is_file() {
        Ok(dir)
    } else {
        Err("no index.html in this folder; pass the folder of a built UI".to_owned())
    }
}

fn parse_question(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("the question is empty".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

fn parse_arguments(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        dev: DevArguments,
    }

    fn parse(words: &[&str]) -> Result<DevArguments, clap::Error> {
        Words::try_parse_from(["dev"].iter().chain(words)).map(|words| words.dev)
    }

    #[test]
    fn a_question_may_stand_before_or_after_its_options() {
        let wanted = AskOptions {
            question: Some("why?".into()),
            files: vec!["a.csv".into(), "b.csv".into()],
            session: Some("s".into()),
            request: Some("r".into()),
            port: Some(9100),
            deep: true,
            mode: None,
            arguments: Some(Map::from_iter([("region".to_owned(), json!("East"))])),
            approve: true,
            clarify: true,
            confirm: vec![ConfirmSubject::Steps],
        };
        let options = "--file a.csv --deep --arguments {\"region\":\"East\"} --approve --clarify \
                       --confirm steps --session s --port 9100 --request-id r --file b.csv";
        let options: Vec<&str> = options.split_whitespace().collect();
        let before = [&["ask", "why?"], options.as_slice()].concat();
        let after = [&["ask"], options.as_slice(), &["why?"]].concat();
        for words in [before, after] {
            let Some(DevCommand::Ask(ask)) = parse(&words).unwrap().command else {
                panic!("{words:?}")
            };
            assert_eq!(*ask, wanted);
            let asks = json!({"enabled": true, "clarify": true, "confirm_steps": ["*"]});
            assert_eq!(Value::from(ask.human_requests()), asks);
        }
    }

    #[test]
    fn without_a_command_the_system_runs() {
        let DevArguments { command, port, ui } = parse(&["--port", "9100"]).unwrap();
        assert!(command.is_none() && port == 9100 && ui.is_none());
        assert_eq!(parse(&[]).unwrap().port, PORT);
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        for (words, part) in [
            (&["ask"][..], "<QUESTION>"),
            (&["ask", " "], "the question is empty"),
            (&["ask", "two", "words"], "'words'"),
            (&["ask", "q", "--fiel", "x"], "'--file'"),
            (&["ask", "q", "--confirm", "all"], "plan, steps, results"),
            (&["--port", "many"], "'many'"),
            (&["ask", "q", "--port", "70000"], "'70000'"),
            (&["--port"], "'--port <PORT>'"),
            (&["watch", "--ui", "dist"], "'--ui'"),
            (&["--ui", "/nowhere"], "index.html"),
        ] {
            let error = parse(words).err().unwrap().to_string();
            assert!(error.contains(part), "{words:?}: {error}");
        }
    }
}
