//! Streams and model requests as text for snapshots, without what differs from run to run.

use std::fmt::Write as _;

use djinn_scripted::{MessageRole, RecordedMessage, RecordedRequest};
use serde_json::Value;

use super::Frame;

/// A line a frame: its cursor's record, its event, its payload.
pub(crate) fn shown(frames: &[Frame], origin: &str) -> String {
    let mut text = String::new();
    for frame in frames {
        match frame {
            Frame::Comment(comment) => writeln!(text, "-- : {comment}").unwrap(),
            Frame::Data(received) => {
                let id = received.id.as_deref().and_then(|id| id.rsplit_once(':'));
                let record = id.map_or_else(|| "--".to_owned(), |(_, n)| format!("{n:0>2}"));
                let event = received.event.as_deref().map(|event| format!("{event} "));
                let payload = normalised(&received.data, origin);
                writeln!(text, "{record} {}{payload}", event.unwrap_or_default()).unwrap();
            }
        }
    }
    text
}

/// A payload without times, run ids and ports.
pub(crate) fn normalised(data: &str, origin: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(data) else { return data.to_owned() };
    timeless(&mut value);
    runless(&value.to_string()).replace(origin, "http://djinn")
}

fn timeless(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match name.as_str() {
                    "at_ms" | "took_ms" | "useTimes" => *member = 0.into(),
                    "messageTime" => *member = "0".into(),
                    _ => timeless(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(timeless),
        _ => {}
    }
}

/// Replaces `run_` and its 32 digits.
fn runless(text: &str) -> String {
    let mut parts = text.split("run_");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits >= 32 {
            write!(shown, "run_…{}", &part[32..]).unwrap();
        } else {
            write!(shown, "run_{part}").unwrap();
        }
    }
    shown
}

/// All that the requests of a run told the model; what is as it was in the request before is not
/// repeated.
pub(crate) fn model_sees(requests: &[RecordedRequest]) -> String {
    let mut text = String::new();
    for (nth, request) in requests.iter().enumerate() {
        let before = nth.checked_sub(1).and_then(|before| requests.get(before));
        let call = runless(request.header("djinn-call").unwrap_or_default());
        write!(text, "{}\n{call}\n{}\n", "=".repeat(80), "=".repeat(80)).unwrap();
        let same = before.is_some_and(|before| before.system() == request.system());
        let system = if same { "(as before)".to_owned() } else { dateless(request.system()) };
        write!(text, "\n# system\n\n{system}\n").unwrap();
        request.messages().iter().for_each(|message| show_message(&mut text, message));
        show_tools(&mut text, request, before);
    }
    text
}

fn show_message(text: &mut String, message: &RecordedMessage) {
    let speaker = match message.role {
        MessageRole::User => "user",
        MessageRole::Assistant => "assistant",
        MessageRole::Tool => "tool",
    };
    write!(text, "\n# {speaker}\n").unwrap();
    for part in [&message.reasoning, &message.text].into_iter().filter(|text| !text.is_empty()) {
        write!(text, "\n{part}\n").unwrap();
    }
    for call in &message.calls {
        write!(text, "\ncall {}: {} {}\n", call.id, call.tool, call.arguments).unwrap();
    }
    for result in &message.results {
        write!(text, "\nresult of {}:\n{}\n", result.id, result.text).unwrap();
    }
}

fn show_tools(text: &mut String, request: &RecordedRequest, before: Option<&RecordedRequest>) {
    let choice = request.tool_choice().unwrap_or("not given");
    let temperature = request.temperature().map_or("not given".to_owned(), |t| t.to_string());
    write!(text, "\n# tools (choice {choice}, temperature {temperature})\n\n").unwrap();
    if !request.tools().is_empty() && before.is_some_and(|b| b.tools() == request.tools()) {
        text.push_str("(as before)\n\n");
        return;
    }
    for tool in request.tools() {
        let schema = serde_json::to_string_pretty(&tool.schema).unwrap();
        write!(text, "{}: {}\n{schema}\n\n", tool.name, tool.description).unwrap();
    }
}

/// Instructions without the day they were written on.
fn dateless(system: &str) -> String {
    let days = [("Today is ", ".\n"), ("今天是 ", "。\n")];
    days.into_iter().fold(system.to_owned(), |system, (before, after)| {
        let Some((start, rest)) = system.split_once(before) else { return system };
        let (_, rest) = rest.split_once(after).unwrap();
        format!("{start}{before}…{after}{rest}")
    })
}
