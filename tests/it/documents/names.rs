//! What documents name exists: settings, routes, events, error codes, tools and files.
//!
//! Commands are compared with the command line itself, in `xtask/src/verify/docs/commands.rs`.

mod paths;
mod routes;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use djinn_core::error_code::ErrorCode;
use djinn_protocol::refusal::http_status;
use djinn_settings::PREFIX;
use djinn_settings::table::TABLES;
use serde_json::Value;

use super::markdown::{Document, LineKind, Piece, code_spans, split_code};
use super::repository::Repository;
use super::{complain, none};
use routes::Routes;

/// What these documents name that is nowhere.
pub(super) fn check(repository: &Repository) -> Vec<String> {
    let routes = Routes::read();
    let check = |document| check_document(repository, &routes, document);
    repository.documents.iter().flat_map(check).collect()
}

fn check_document(repository: &Repository, routes: &Routes, document: &Document) -> Vec<String> {
    let mut problems = Vec::new();
    for line in &document.lines {
        let mut found = unknown_settings(&line.text);
        found.extend(routes.unknown_urls(&line.text));
        if !matches!(line.kind, LineKind::Code | LineKind::Fence | LineKind::Definition) {
            for span in code_spans(&line.text) {
                found.extend(routes.unknown_route(span));
                found.extend(unknown_event(repository, span));
                found.extend(paths::missing_path(repository, document, span));
            }
            let pieces = split_code(&line.text);
            found.extend(unknown_codes(&pieces));
            found.extend(unknown_tools(repository, &pieces));
        }
        problems.extend(found.into_iter().map(|what| complain(document, line.number, what)));
    }
    problems
}

/// Names that begin with `DJINN_` and are no setting. The beginning of some name stands for all of these.
fn unknown_settings(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let rows = || {
        let rows = TABLES.iter().flat_map(|table| table.rows);
        rows.flat_map(|row| [row.override_name(), Some(row.name.to_owned())]).flatten()
    };
    let names = text.split(|c: char| !is_part(c)).filter(|word| word.starts_with(PREFIX));
    let unknown = names.filter(|name| {
        if name.ends_with('_') {
            !rows().any(|row| row.starts_with(name))
        } else {
            !rows().any(|row| row == *name)
        }
    });
    unknown.map(|name| format!("{name} is no setting")).collect()
}

/// The names of all events that clients see.
static EVENTS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let schema = serde_json::from_str(include_str!("../../../docs/events.schema.json")).unwrap();
    let mut names = BTreeSet::new();
    collect_dotted(&schema, &mut names);
    names
});

fn collect_dotted(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::String(text) if text.split('.').count() == 2 && is_word(text) => {
            names.insert(text.clone());
        }
        Value::Object(members) => {
            members.values().for_each(|value| collect_dotted(value, names));
        }
        Value::Array(values) => values.iter().for_each(|value| collect_dotted(value, names)),
        _ => {}
    }
}

/// Whether a text is small letters with underscores and dots between them.
fn is_word(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_' || c == '.';
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(is_part)
}

/// A `noun.verb_past` that no client sees and no journal has.
fn unknown_event(repository: &Repository, span: &str) -> Option<String> {
    let (_, verb) = span.split_once('.').filter(|_| is_word(span))?;
    let is_event = !verb.contains('.') && verb.split('_').any(|word| word.ends_with("ed"));
    let is_known = || EVENTS.contains(span) || repository.code.contains(&format!("\"{span}\""));
    (is_event && !is_known()).then(|| format!("`{span}` is no event"))
}

/// Codes behind a status that are none, or that have another: 409 `run_ended`, or a row of a table.
fn unknown_codes(pieces: &[Piece<'_>]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut status = None;
    for piece in pieces {
        match (piece, status) {
            (Piece::Text(text), known) => {
                status = last_status(text).or_else(|| known.filter(|_| is_list(text)));
            }
            (Piece::Code(code), Some(status)) if is_word(code) && code.contains('_') => {
                let known = ErrorCode::ALL.iter().find(|known| known.as_str() == *code);
                match known.map(|known| http_status(*known)) {
                    None => problems.push(format!("`{code}` is no error code")),
                    Some(real) if real == status => {}
                    Some(real) => problems.push(format!("`{code}` has {real}, not {status}")),
                }
            }
            (Piece::Code(_), _) => {}
        }
    }
    problems
}

/// The HTTP status that a text ends with.
fn last_status(text: &str) -> Option<u16> {
    let text = text.trim_end_matches([' ', '|', '(', ':']);
    let word = text.rsplit(|c: char| !c.is_alphanumeric()).next()?;
    word.parse().ok().filter(|status| (400..600).contains(status))
}

/// Whether a text only stands between the items of a list.
fn is_list(text: &str) -> bool {
    matches!(text.trim_matches([' ', ',', '/']), "" | "and" | "or")
}

/// What is called a tool and has no place in the code.
fn unknown_tools(repository: &Repository, pieces: &[Piece<'_>]) -> Vec<String> {
    let text_of = |piece: Option<&Piece<'_>>| match piece {
        Some(Piece::Text(text)) => (*text).to_owned(),
        _ => String::new(),
    };
    let mut problems = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let Piece::Code(name) = piece else { continue };
        let before = text_of(at.checked_sub(1).and_then(|at| pieces.get(at)));
        let behind = text_of(pieces.get(at + 1));
        let is_called = before.ends_with("tool ")
            || before.ends_with("tools ")
            || behind.starts_with(" tool ")
            || behind.starts_with(" tool.");
        let is_known = || repository.code.contains(&format!("\"{name}\""));
        if is_called && is_word(name) && !name.contains('.') && !is_known() {
            problems.push(format!("`{name}` is no tool"));
        }
    }
    problems
}

/// What is wrong in a document of a small workspace.
fn problems_of(text: &str) -> Vec<String> {
    let mut repository = Repository::of(&[("docs/a.md", text), ("shared/core/src/run.rs", "")]);
    repository.documents.truncate(1);
    repository.code = "\"file_tool\" \"model.replied\"".to_owned();
    check(&repository)
}

#[test]
fn what_exists_may_be_named() {
    for text in [
        "`DJINN_LIMITS__MAX_STEPS`, DJINN_HOME=x, all of `DJINN_LIMITS__` and `DJINN_` itself.",
        "`run.started`, `run.handed_over`, the record `model.replied`; `run.rs`, `plan.title`, `a.b.ed`.",
        "409 `run_ended`, 404 (`run_not_found`) or 400 `too_long`, `bad_id` or `unknown_style`.",
        "| 409 | `run_ended` |",
        "The tool `file_tool`, the `file_tool` tool and the tools `Read`.",
        "`max_tokens` is 500 and `run_maker` a word.",
    ] {
        none(problems_of(text));
    }
}

#[test]
fn what_does_not_exist_is_noticed() {
    for (text, problem) in [
        ("`DJINN_MAX_STEP` is 4.", "docs/a.md:1: DJINN_MAX_STEP is no setting"),
        ("```sh\nDJINN_NOTHING=1 cargo dev\n```", "docs/a.md:2: DJINN_NOTHING is no setting"),
        ("All of `DJINN_NO_`.", "DJINN_NO_ is no setting"),
        ("`run.finished` comes.", "`run.finished` is no event"),
        ("`task.started` comes.", "`task.started` is no event"),
        ("409 `run_over`.", "`run_over` is no error code"),
        ("404 `run_ended`.", "`run_ended` has 409, not 404"),
        ("404 `run_not_found` or `run_over`.", "`run_over` is no error code"),
        ("| 404 | `run_ended` |", "`run_ended` has 409"),
        ("The tool `web_look`.", "`web_look` is no tool"),
        ("The `web_look` tool.", "`web_look` is no tool"),
    ] {
        let problems = problems_of(text);
        assert!(
            matches!(&problems[..], [found] if found.contains(problem)),
            "{problem}: {problems:?}"
        );
    }
}
