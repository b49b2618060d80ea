//! What a run asks people, answered from the keyboard.

use std::collections::BTreeMap;
use std::io::{BufRead as _, stdin};

use anyhow::{Result, bail};
use djinn_core::budget::dollars;
use djinn_core::feedback::{ASK_USER, questions};
use serde_json::{Map, Value, json};

use super::client::{Event, Server};
use super::json::{list, number, text};
use super::show::{Screen, printable};

/// Characters of an argument that are shown.
const MAX_SHOWN: usize = 200;

/// What is asked and not answered, by its ids.
#[derive(Default)]
pub(super) struct Asked(BTreeMap<String, Value>);

impl Asked {
    /// Takes an event of the run.
    pub(super) fn hear(&mut self, event: &Event) {
        match event.name.as_str() {
            "feedback.asked" => {
                for ask in list(&event.data, "/asks") {
                    self.0.insert(text(ask, "/id").to_owned(), ask.clone());
                }
            }
            "feedback.answered" => {
                self.0.remove(text(&event.data, "/feedback"));
            }
            "call.completed" => {
                let (within, call) = (text(&event.data, "/within"), text(&event.data, "/call"));
                self.0.retain(|_, ask| text(ask, "/task") != within || text(ask, "/call") != call);
            }
            "task.ended" => {
                let task = text(&event.data, "/task");
                self.0.retain(|_, ask| text(ask, "/task") != task);
            }
            "run.ended" => self.0.clear(),
            _ => {}
        }
    }

    /// Has the next of them answered. Returns whether there was one.
    pub(super) async fn answer(
        &mut self,
        server: &Server,
        run: &str,
        screen: &mut Screen,
    ) -> Result<bool> {
        let Some((id, ask)) = self.0.pop_first() else { return Ok(false) };
        show(&ask, screen);
        let Some(body) = said(&ask, screen).await? else {
            bail!(
                "the run waits for your answer to {id}; ask again with the same --request-id, or \
                 POST it to /api/feedback/{run}"
            );
        };
        // One who was late is told so, and the run goes on as it was decided.
        if let Err(refused) = server.post(&format!("/api/feedback/{run}"), &body).await {
            screen.line(&format!("({refused})"));
            // What was mistyped is asked again.
            let waiting = server.get(&format!("/api/feedback/pending/{run}")).await?;
            if waiting.pointer("/data").and_then(|asks| asks.get(&id)).is_some() {
                self.0.insert(id, ask);
            }
        }
        Ok(true)
    }
}

/// What is asked, why, and what it may cost.
fn show(ask: &Value, screen: &mut Screen) {
    let (tool, risk) = (text(ask, "/tool"), text(ask, "/risk"));
    let task = text(ask, "/task");
    let of = if task.is_empty() { String::new() } else { format!(" (task {task})") };
    let (step, details) = (number(ask, "/step"), printable(text(ask, "/details")));
    match (text(ask, "/about"), ask.get("interrupt")) {
        ("budget", _) => {
            let spent = text(ask, "/used_up/detail");
            screen.line(&format!("? the budget of {spent} is used up; go on with more?"));
            for (name, value) in &parameters(ask) {
                screen.line(&format!("    {name}: {value}"));
            }
        }
        ("step", _) => screen.line(&format!("? may step s{step} begin? {details}")),
        ("result", _) => {
            screen.line(&format!("? step s{step} is done: {details}"));
            screen.line(&printable(text(ask, "/text")));
            let files: Vec<&str> = list(ask, "/files").filter_map(Value::as_str).collect();
            if !files.is_empty() {
                screen.line(&format!("    files: {}", printable(&files.join(", "))));
            }
        }
        (_, Some(interrupt)) => {
            let (code, message) = (text(interrupt, "/code"), text(interrupt, "/message"));
            let what = if tool.is_empty() { "the model" } else { tool };
            screen.line(&format!("? {what}{of} stopped: {} ({code})", printable(message)));
        }
        (_, None) if is_question(ask) => {
            screen.line("? the model asks you:");
            for question in
                ask.get("arguments").and_then(Value::as_object).map_or_else(Vec::new, questions)
            {
                screen.line(&format!("    {}", printable(&question)));
            }
        }
        (_, None) => {
            screen.line(&format!("? {tool}{of}: {risk} risk, {}", estimate(ask)));
        }
    }
    let arguments = ask.get("arguments").and_then(Value::as_object);
    for (name, value) in arguments.filter(|_| !is_question(ask)).into_iter().flatten() {
        screen.line(&format!("    {name}: {}", shown(value)));
    }
    let link = text(ask, "/link");
    if !link.is_empty() {
        screen.line(&format!("    or let somebody answer at {link}"));
    }
}

/// Whether the model asks for what only the user can say.
fn is_question(ask: &Value) -> bool {
    text(ask, "/tool") == ASK_USER
}

fn estimate(ask: &Value) -> String {
    let of = |name: &str| number(ask, &format!("/estimate/{name}"));
    let from = match of("samples") {
        0 => "as the tool declares".to_owned(),
        samples => format!("from {samples} calls"),
    };
    let (tokens, seconds, calls) = (of("tokens"), of("ms").div_ceil(1_000), of("calls"));
    let money = ask.pointer("/estimate/micro_usd").and_then(Value::as_u64);
    let money = money.map_or_else(String::new, |money| format!(", {} dollars", dollars(money)));
    format!("about {tokens} tokens, {seconds} s, {calls} calls{money} ({from})")
}

fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let cut: String = text.chars().take(MAX_SHOWN).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    printable(&format!("{cut}{more}")).replace('\n', "\\n")
}

/// The answer as it is sent; `None` if nobody is at the keyboard.
async fn said(ask: &Value, screen: &mut Screen) -> Result<Option<Value>> {
    let question = match (text(ask, "/about"), ask.get("interrupt")) {
        (_, Some(_)) => "continue, skip or stop?",
        _ if is_question(ask) => "your answer, skip or stop?",
        ("result", _) => "is this what you wanted? confirm, modify, stop, or what to do otherwise?",
        _ => "confirm, modify, skip, stop, or what to do instead?",
    };
    let words = loop {
        screen.prompt(question);
        let Some(line) = line().await? else { return Ok(None) };
        if !line.is_empty() {
            break line;
        }
    };
    let (id, digest) = (text(ask, "/id"), text(ask, "/digest"));
    if is_question(ask) || !words.eq_ignore_ascii_case("modify") {
        return Ok(Some(json!({"feedbackId": id, "feedback": words, "digest": digest})));
    }
    let mut arguments = Map::new();
    for (name, value) in &parameters(ask) {
        screen.prompt(&format!("{name} [{}]", shown(value)));
        let Some(line) = line().await? else { return Ok(None) };
        arguments.insert(name.clone(), edited(value, &line));
    }
    Ok(Some(json!({
        "feedbackId": id, "feedback": "modify", "parameters": arguments, "digest": digest,
    })))
}

/// What can be changed of what is asked about.
fn parameters(ask: &Value) -> Map<String, Value> {
    let one =
        |name: &str| Map::from_iter([(name.to_owned(), json!(text(ask, &format!("/{name}"))))]);
    match text(ask, "/about") {
        "step" => one("details"),
        "result" => one("text"),
        "budget" => ask.get("more").and_then(Value::as_object).cloned().unwrap_or_default(),
        _ => ask.get("arguments").and_then(Value::as_object).cloned().unwrap_or_default(),
    }
}

/// What was typed over a value: a text for a text, JSON for the rest, nothing to keep it.
fn edited(value: &Value, line: &str) -> Value {
    match (line, value) {
        ("", _) => value.clone(),
        (_, Value::String(_)) => Value::String(line.to_owned()),
        _ => serde_json::from_str(line).unwrap_or_else(|_| Value::String(line.to_owned())),
    }
}

/// The next line of the keyboard.
async fn line() -> Result<Option<String>> {
    tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        let read = stdin().lock().read_line(&mut line)?;
        Ok((read > 0).then(|| line.trim().to_owned()))
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
            assert_eq!(edited(&value, line), expected, "{line:?} over {value}");
        }
    }

    #[test]
    fn what_is_answered_is_not_asked_again() {
        let event = |name: &str, data| Event { id: None, name: name.to_owned(), data };
        let mut asked = Asked::default();
        let asks = json!({"asks": [{"id": "t1.c1"}, {"id": "t1.c2"}]});
        asked.hear(&event("feedback.asked", asks));
        asked.hear(&event("feedback.answered", json!({"feedback": "t1.c1"})));
        assert_eq!(asked.0.keys().collect::<Vec<_>>(), ["t1.c2"]);
        asked.hear(&event("run.ended", json!({})));
        assert!(asked.0.is_empty());
    }
}
