//! Compares the commands in documents with the actual command line.

use std::collections::BTreeSet;

use clap::CommandFactory as _;

use super::{blocks, list_documents};
use crate::{CommandLine, soak, verify, workspace};

/// Cargo's own commands, and commands of programs installed by `cargo verify`.
const CARGO: [&str; 12] = [
    "add", "build", "check", "clean", "clippy", "deny", "doc", "fmt", "lambda", "run", "test",
    "update",
];

/// The tokens that end a command in a shell line.
const ENDS: [&str; 6] = ["|", "&&", "||", ";", "#", ">"];

#[test]
fn the_commands_of_documents_exist() {
    let root = workspace::root();
    let mut problems = Vec::new();
    for path in list_documents(root).unwrap() {
        let text = std::fs::read_to_string(root.join(&path)).unwrap();
        let commands = named_commands(&text).into_iter();
        let unknown = commands.filter_map(|(line, words)| {
            unknown_word(&words).map(|what| format!("{path}:{line}: `{}`: {what}", words.join(" ")))
        });
        problems.extend(unknown);
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

/// Returns every `cargo …` of a document with the line number, from code spans and shell blocks.
fn named_commands(text: &str) -> Vec<(usize, Vec<String>)> {
    let blocks = blocks::fenced_blocks(text);
    let is_shell = |language: &str| matches!(language, "console" | "sh" | "bash" | "shell");
    let inside: BTreeSet<usize> =
        blocks.iter().flat_map(|block| block.line..=block.line + block.lines.len() + 1).collect();
    let spans = (1..).zip(text.lines()).filter(|(line, _)| !inside.contains(line));
    let spans = spans.flat_map(|(line, text)| {
        text.split('`').skip(1).step_by(2).map(move |span| (line, span.to_owned()))
    });
    let scripts = blocks.iter().filter(|block| is_shell(&block.language)).flat_map(|block| {
        let text = block.text().replace("\\\n", "  ");
        let lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.into_iter().map(|line| (block.line, line))
    });
    spans.chain(scripts).filter_map(|(line, text)| Some((line, cargo_words(&text)?))).collect()
}

/// Returns the words after `cargo` up to the end of the command; `None` for other programs.
fn cargo_words(text: &str) -> Option<Vec<String>> {
    let is_variable =
        |word: &&str| word.split_once('=').is_some_and(|(name, _)| name == name.to_uppercase());
    let mut words = text.trim_start_matches("$ ").split_whitespace().skip_while(is_variable);
    if words.next() != Some("cargo") {
        return None;
    }
    let words = words
        .take_while(|word| !ENDS.contains(word))
        .map(|word| word.trim_matches(|c: char| "[]…".contains(c)).to_owned());
    Some(words.filter(|word| !word.is_empty()).collect())
}

/// Returns the problem of a command's words.
fn unknown_word(words: &[String]) -> Option<String> {
    let (first, rest) = words.split_first()?;
    let (name, rest) = match (first.as_str(), rest.split_first()) {
        ("own-tool", _) => return None,
        ("xtask", Some((name, rest))) => (name.as_str(), rest),
        ("xtask", None) => return None,
        (name, _) if name.starts_with('-') || CARGO.contains(&name) => return None,
        (name, _) => (name, rest),
    };
    let line = CommandLine::command();
    let Some(command) = line.find_subcommand(name) else {
        return Some(format!("no command {name}"));
    };
    let below = rest.first().and_then(|word| command.find_subcommand(word)).unwrap_or(command);
    let has_option = |option: &str| {
        option == "help"
            || below.get_arguments().any(|argument| argument.get_long() == Some(option))
    };
    let options = rest.iter().filter(|word| word.starts_with("--") && word.len() > 2);
    let unknown = options
        .map(|word| word.trim_start_matches('-').split(['=', '\\', '|']).next().unwrap_or_default())
        .find(|option| !has_option(option));
    unknown.map(|option| format!("no option --{option}")).or_else(|| unknown_step(name, rest))
}

/// Returns an unknown step after `--only`; names in capitals match any step.
fn unknown_step(name: &str, words: &[String]) -> Option<String> {
    let command = match name {
        "verify" => verify::VERIFY,
        "soak" => soak::SOAK,
        _ => return None,
    };
    let step_names = words.windows(2).filter_map(|pair| match pair {
        [option, step] if option == "--only" => Some(step),
        _ => None,
    });
    let is_placeholder = |step: &str| step.chars().all(|c| c.is_ascii_uppercase());
    let mut unknown = step_names.filter(|step| {
        !is_placeholder(step) && command.all_steps().all(|other| other.name != **step)
    });
    unknown.next().map(|step| format!("no step {step}"))
}

#[test]
fn commands_are_found_in_spans_and_scripts() {
    for (text, commands) in [
        (
            "Run `cargo dev` or `cargo xtask docs`, not `npm ci`.",
            &[(1, "dev"), (1, "xtask docs")][..],
        ),
        ("```console\n$ A=1 cargo dev \\\n    --port 1 # x\nout\n```", &[(1, "dev --port 1")]),
        ("```sh\ncargo test | less\n```\n```rust\ncargo dev\n```", &[(1, "test")]),
        ("`cargo dev ask \"…\" [--deep]`", &[(1, "dev ask \"…\" --deep")]),
    ] {
        let actual: Vec<_> =
            named_commands(text).into_iter().map(|(line, words)| (line, words.join(" "))).collect();
        let actual: Vec<_> = actual.iter().map(|(line, words)| (*line, words.as_str())).collect();
        assert_eq!(actual, commands, "{text}");
    }
}

#[test]
fn what_is_no_command_is_noticed() {
    let unknown = |text: &str| unknown_word(&cargo_words(text).unwrap());
    for text in [
        "cargo dev --port 9001",
        "cargo dev ask \"a\" --deep --file b.csv",
        "cargo verify --only docs --only STEP",
        "cargo xtask template",
        "cargo test -p CRATE NAME",
        "cargo --version",
        "cargo",
    ] {
        assert_eq!(unknown(text), None, "{text}");
    }
    for (text, problem) in [
        ("cargo verfy", "no command verfy"),
        ("cargo xtask document", "no command document"),
        ("cargo dev --prot 9001", "no option --prot"),
        ("cargo dev ask \"a\" --ui=b", "no option --ui"),
        ("cargo verify --only doc", "no step doc"),
    ] {
        assert_eq!(unknown(text).as_deref(), Some(problem), "{text}");
    }
}
