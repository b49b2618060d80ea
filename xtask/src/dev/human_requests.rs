//! Human requests of a run, with responses from the keyboard.

use std::collections::BTreeMap;
use std::io::{BufRead as _, stdin};

use anyhow::{Result, bail};
use djinn_core::budget::format_dollars;
use djinn_core::human::{ASK_USER, parse_questions};
use serde_json::{Map, Value, json};

use super::advice::RunFailure;
use super::client::{ServerClient, StreamEvent};
use super::json::{list_at, number_at, text_at};
use super::show::{Screen, to_printable};

/// Maximum characters of a displayed argument.
const MAX_SHOWN: usize = 200;

/// The open human requests by id.
#[derive(Default)]
pub(super) struct OpenRequests(BTreeMap<String, Value>);

/// Returns true if a path equals the other path or is below.
fn is_below(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl OpenRequests {
    /// Handles an event of the run.
    pub(super) fn apply_event(&mut self, event: &StreamEvent) {
        match event.name.as_str() {
            "human.requested" => {
                for ask in list_at(&event.data, "/requests") {
                    self.0.insert(text_at(ask, "/id").to_owned(), ask.clone());
                }
            }
            "human.resolved" => {
                self.0.remove(text_at(&event.data, "/request"));
            }
            "call.completed" => {
                let path = text_at(&event.data, "/path");
                let call = text_at(&event.data, "/call");
                self.0.retain(|_, ask| {
                    text_at(ask, "/path") != path || text_at(ask, "/call") != call
                });
            }
            "child.ended" => {
                let child = text_at(&event.data, "/child");
                self.0.retain(|_, ask| !is_below(text_at(ask, "/path"), child));
            }
            "run.ended" => self.0.clear(),
            _ => {}
        }
    }

    /// Asks the user for the next response. Returns false without an open request.
    pub(super) async fn answer_next(
        &mut self,
        server: &ServerClient,
        run: &str,
        screen: &mut Screen,
    ) -> Result<bool> {
        let Some((id, ask)) = self.0.pop_first() else { return Ok(false) };
        show_request(&ask, screen);
        let Some(body) = read_response(&ask, screen).await? else {
            bail!(
                "the run is waiting for your response to {id}; ask again with the same --request-id, or \
                 POST it to /runs/{run}/requests/{id}/response"
            );
        };
        // A late response is rejected with a message, and the run continues by the earlier decision.
        let path = format!("/runs/{run}/requests/{id}/response");
        if let Err(refusal) = server.post_json(&path, &body).await {
            screen.print_line(&format!("({refusal})"));
            // An invalid response is asked for again.
            let open = server.get_json(&format!("/runs/{run}/requests")).await?;
            if list_at(&open, "/requests").any(|request| text_at(request, "/id") == id) {
                self.0.insert(id, ask);
            }
        }
        Ok(true)
    }
}

/// Shows a human request with the reason and the estimated cost.
fn show_request(ask: &Value, screen: &mut Screen) {
    let tool = text_at(ask, "/tool");
    let risk = text_at(ask, "/risk");
    let path = text_at(ask, "/path");
    let of = if path.is_empty() { String::new() } else { format!(" ({path})") };
    let step = number_at(ask, "/step");
    let details = to_printable(text_at(ask, "/details"));
    match (text_at(ask, "/about"), ask.get("interrupt")) {
        ("budget_extension", _) => {
            let spent = text_at(ask, "/used_up/detail");
            screen.print_line(&format!("? the budget of {spent} is used up; extend it?"));
            for (name, value) in &editable_fields(ask) {
                screen.print_line(&format!("    {name}: {value}"));
            }
        }
        ("step_review", _) => screen.print_line(&format!("? start step s{step}? {details}")),
        ("result_review", _) => {
            screen.print_line(&format!("? step s{step} is done: {details}"));
            screen.print_line(&to_printable(text_at(ask, "/text")));
            let files: Vec<&str> = list_at(ask, "/files").filter_map(Value::as_str).collect();
            if !files.is_empty() {
                screen.print_line(&format!("    files: {}", to_printable(&files.join(", "))));
            }
        }
        (_, Some(interrupt)) => {
            let code = text_at(interrupt, "/code");
            let message = text_at(interrupt, "/message");
            let what = if tool.is_empty() { "the model" } else { tool };
            screen.print_line(&format!("? {what}{of} stopped: {} ({code})", to_printable(message)));
            let code = serde_json::from_value(Value::from(code)).ok();
            screen.advise_on(&RunFailure { code, sentence: message.to_owned() });
        }
        (_, None) if is_question(ask) => {
            screen.print_line("? the model asks you:");
            for question in ask
                .get("arguments")
                .and_then(Value::as_object)
                .map_or_else(Vec::new, parse_questions)
            {
                screen.print_line(&format!("    {}", to_printable(&question.to_string())));
            }
        }
        (_, None) => {
            screen.print_line(&format!("? {tool}{of}: {risk} risk, {}", format_estimate(ask)));
        }
    }
    let arguments = ask.get("arguments").and_then(Value::as_object);
    for (name, value) in arguments.filter(|_| !is_question(ask)).into_iter().flatten() {
        screen.print_line(&format!("    {name}: {}", display_value(value)));
    }
    let link = text_at(ask, "/link");
    if !link.is_empty() {
        screen.print_line(&format!("    or let someone respond at {link}"));
    }
}

/// Returns true if the model asks for information from the user.
fn is_question(ask: &Value) -> bool {
    text_at(ask, "/tool") == ASK_USER
}

fn format_estimate(ask: &Value) -> String {
    let of = |name: &str| number_at(ask, &format!("/estimate/{name}"));
    let from = match of("samples") {
        0 => "as declared by the tool".to_owned(),
        samples => format!("from {samples} calls"),
    };
    let tokens = of("tokens");
    let seconds = of("ms").div_ceil(1_000);
    let calls = of("calls");
    let money = ask.pointer("/estimate/micro_usd").and_then(Value::as_u64);
    let money =
        money.map_or_else(String::new, |money| format!(", {} dollars", format_dollars(money)));
    format!("about {tokens} tokens, {seconds} s, {calls} calls{money} ({from})")
}

fn display_value(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let cut: String = text.chars().take(MAX_SHOWN).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    to_printable(&format!("{cut}{more}")).replace('\n', "\\n")
}

/// Returns the response to send; `None` without input from the keyboard.
async fn read_response(ask: &Value, screen: &mut Screen) -> Result<Option<Value>> {
    let question = match (text_at(ask, "/about"), ask.get("interrupt")) {
        (_, Some(_)) => "continue, skip or stop?",
        _ if is_question(ask) => "your answer, skip or stop?",
        ("result_review", _) => {
            "is this what you wanted? confirm, modify, stop, or what to do otherwise?"
        }
        _ => "confirm, modify, skip, stop, or what to do instead?",
    };
    let words = loop {
        screen.prompt(question);
        let Some(line) = read_line().await? else { return Ok(None) };
        if !line.is_empty() {
            break line;
        }
    };
    let digest = text_at(ask, "/digest");
    if is_question(ask) || !words.eq_ignore_ascii_case("modify") {
        return Ok(Some(json!({"response": words, "digest": digest})));
    }
    let mut arguments = Map::new();
    for (name, value) in &editable_fields(ask) {
        screen.prompt(&format!("{name} [{}]", display_value(value)));
        let Some(line) = read_line().await? else { return Ok(None) };
        arguments.insert(name.clone(), edit_value(value, &line));
    }
    Ok(Some(json!({"response": "modify", "parameters": arguments, "digest": digest})))
}

/// Returns the editable fields of the request's subject.
fn editable_fields(ask: &Value) -> Map<String, Value> {
    let one =
        |name: &str| Map::from_iter([(name.to_owned(), json!(text_at(ask, &format!("/{name}"))))]);
    match text_at(ask, "/about") {
        "step_review" => one("details"),
        "result_review" => one("text"),
        "budget_extension" => {
            ask.get("offer").and_then(Value::as_object).cloned().unwrap_or_default()
        }
        _ => ask.get("arguments").and_then(Value::as_object).cloned().unwrap_or_default(),
    }
}

/// Returns an edited value: text for a text, JSON for other values, and the old value for an empty line.
fn edit_value(value: &Value, line: &str) -> Value {
    match (line, value) {
        ("", _) => value.clone(),
        (_, Value::String(_)) => Value::String(line.to_owned()),
        _ => serde_json::from_str(line).unwrap_or_else(|_| Value::String(line.to_owned())),
    }
}

/// Returns the next line of the keyboard.
async fn read_line() -> Result<Option<String>> {
    tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        let bytes = stdin().lock().read_line(&mut line)?;
        Ok((bytes > 0).then(|| line.trim().to_owned()))
    })
    .await?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_kind_when_they_are_edited() {
        let cases = [
            (json!("a.md"), "", json!("a.md")),
            (json!("a.md"), "b.md", json!("b.md")),
            (json!("1"), "2", json!("2")),
            (json!(1), "2", json!(2)),
            (json!([1]), "[2, 3]", json!([2, 3])),
            (json!(1), "two", json!("two")),
        ];
        for (value, line, expected) in cases {
            assert_eq!(edit_value(&value, line), expected, "{line:?} over {value}");
        }
    }

    #[test]
    fn what_is_answered_is_not_asked_again() {
        let event = |name: &str, data| StreamEvent { id: None, name: name.to_owned(), data };
        let mut asked = OpenRequests::default();
        let asks = json!({"requests": [{"id": "t1.c1"}, {"id": "t1.c2"}]});
        asked.apply_event(&event("human.requested", asks));
        asked.apply_event(&event("human.resolved", json!({"request": "t1.c1"})));
        assert_eq!(asked.0.keys().collect::<Vec<_>>(), ["t1.c2"]);
        asked.apply_event(&event("run.ended", json!({})));
        assert!(asked.0.is_empty());
    }
}
