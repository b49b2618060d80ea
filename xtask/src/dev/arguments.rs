//! The words after `cargo dev`.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value, json};

use super::USAGE;

/// What is to be done.
#[derive(Debug, PartialEq)]
pub(super) enum DevCommand {
    /// The system runs on this port of 127.0.0.1, with the built UI of a directory if given.
    Serve { port: u16, ui: Option<PathBuf> },
    /// Run the functions under `cargo lambda watch`.
    Watch { port: u16 },
    /// The words after `ask` are one question to a system, with its options.
    Ask(AskOptions),
}

/// A question comes with the options of `cargo dev ask`; those not given are `None` or empty.
#[derive(Debug, Default, PartialEq)]
pub(super) struct AskOptions {
    pub(super) question: String,
    pub(super) files: Vec<PathBuf>,
    pub(super) session: Option<String>,
    pub(super) request: Option<String>,
    /// Where `cargo dev` will listen, if that is told.
    pub(super) port: Option<u16>,
    /// Whether it is planned and worked on by several agents.
    pub(super) deep: bool,
    /// When people are asked: the members of `human_feedback`.
    pub(super) feedback: Map<String, Value>,
}

/// Where the system listens, unless it is told otherwise.
pub(super) const PORT: u16 = 9000;

/// Where a system on this port is.
pub(super) fn url_at(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

impl DevCommand {
    pub(super) fn parse(words: &[&str]) -> Result<Self> {
        match words {
            ["ask", rest @ ..] => AskOptions::parse(rest).map(Self::Ask),
            ["watch", rest @ ..] => parse_watch(rest),
            rest => parse_serve(rest),
        }
    }
}

fn parse_serve(words: &[&str]) -> Result<DevCommand> {
    let (mut at, mut ui) = (PORT, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--port" => at = parse_port(option_value(&mut words, word)?)?,
            "--ui" => ui = Some(PathBuf::from(option_value(&mut words, word)?)),
            other => bail!("`{other}` is not known here\n\n{USAGE}"),
        }
    }
    if let Some(dir) = ui.as_ref().filter(|dir| !dir.join("index.html").is_file()) {
        bail!("{} holds no index.html: --ui takes the directory of a built UI", dir.display());
    }
    Ok(DevCommand::Serve { port: at, ui })
}

fn parse_watch(words: &[&str]) -> Result<DevCommand> {
    match words {
        [] => Ok(DevCommand::Watch { port: PORT }),
        ["--port", value] => Ok(DevCommand::Watch { port: parse_port(value)? }),
        _ => bail!("`cargo dev watch` takes nothing but --port\n\n{USAGE}"),
    }
}

fn parse_port(value: &str) -> Result<u16> {
    value.parse().with_context(|| format!("`{value}` is no port"))
}

impl AskOptions {
    fn parse(words: &[&str]) -> Result<Self> {
        let mut ask = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--deep" => ask.deep = true,
                "--approve" => drop(ask.feedback.insert("enabled".to_owned(), json!(true))),
                "--clarify" => drop(ask.feedback.insert("clarify".to_owned(), json!(true))),
                "--confirm" => {
                    let (name, on) = parse_confirm(option_value(&mut words, word)?)?;
                    ask.feedback.insert(name.to_owned(), on);
                }
                "--port" => ask.port = Some(parse_port(option_value(&mut words, word)?)?),
                "--file" => ask.files.push(PathBuf::from(option_value(&mut words, word)?)),
                "--session" => ask.session = Some(option_value(&mut words, word)?.to_owned()),
                "--request-id" => ask.request = Some(option_value(&mut words, word)?.to_owned()),
                option if option.starts_with("--") => {
                    bail!("`{option}` is not known here\n\n{USAGE}")
                }
                question if ask.question.is_empty() => ask.question = question.to_owned(),
                more => bail!("put the whole question in quotes; `{more}` is one word too many"),
            }
        }
        if ask.question.trim().is_empty() {
            bail!("what is the question?\n\n{USAGE}");
        }
        Ok(ask)
    }
}

/// What is shown to a person before a plan goes on, as a member of `human_feedback`.
fn parse_confirm(what: &str) -> Result<(&'static str, Value)> {
    Ok(match what {
        "plan" => ("confirm_plan", json!(true)),
        "steps" => ("confirm_steps", json!(["*"])),
        "results" => ("confirm_results", json!(true)),
        other => bail!("--confirm takes plan, steps or results, not `{other}`\n\n{USAGE}"),
    })
}

fn option_value<'a>(words: &mut std::slice::Iter<'_, &'a str>, option: &str) -> Result<&'a str> {
    words.next().copied().with_context(|| format!("{option} needs a value\n\n{USAGE}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_may_stand_before_or_after_its_options() {
        let wanted = AskOptions {
            question: "why?".into(),
            files: vec!["a.csv".into(), "b.csv".into()],
            session: Some("s".into()),
            request: Some("r".into()),
            port: Some(9100),
            deep: true,
            feedback: Map::from_iter([
                ("enabled".into(), json!(true)),
                ("clarify".into(), json!(true)),
                ("confirm_steps".into(), json!(["*"])),
            ]),
        };
        let options = [
            "--file",
            "a.csv",
            "--deep",
            "--approve",
            "--clarify",
            "--confirm",
            "steps",
            "--session",
            "s",
            "--port",
            "9100",
            "--request-id",
            "r",
            "--file",
            "b.csv",
        ];
        let before = [&["ask", "why?"], options.as_slice()].concat();
        let after = [&["ask"], options.as_slice(), &["why?"]].concat();
        for words in [before, after] {
            let DevCommand::Ask(ask) = DevCommand::parse(&words).unwrap() else {
                panic!("{words:?}")
            };
            assert_eq!(ask, wanted);
        }
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        for (words, part) in [
            (&["ask"][..], "what is the question"),
            (&["ask", "two", "words"], "in quotes"),
            (&["ask", "q", "--fiel", "x"], "`--fiel` is not known"),
            (&["ask", "q", "--confirm", "all"], "plan, steps or results"),
            (&["--port", "many"], "`many` is no port"),
            (&["ask", "q", "--port", "70000"], "`70000` is no port"),
            (&["--port"], "--port needs a value"),
            (&["watch", "--ui", "dist"], "nothing but --port"),
            (&["--ui", "/nowhere"], "index.html"),
        ] {
            let error = DevCommand::parse(words).unwrap_err().to_string();
            assert!(error.contains(part), "{words:?}: {error}");
        }
    }
}
