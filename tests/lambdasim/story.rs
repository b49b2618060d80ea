//! What the scripted model says.

use std::time::Duration;

use djinn_scripted::Response;
use serde_json::json;

/// A ReAct run that writes so many parts, one a turn, and sums up. `pace` is waited before every
/// chunk but a reply's first; a turn has five of them.
pub(crate) fn parts(count: usize, pace: Duration) -> impl Fn(&str) -> Response {
    move |message| {
        let response = match turn(message) {
            None => Response::default().reply(format!("There are {count} parts.$$$part-1.md")),
            Some(turn) if turn > count => Response::default().reply("All parts are written."),
            Some(turn) => write(&format!("part-{turn}.md")),
        };
        response.delta_chars(10_000).delay(pace)
    }
}

fn turn(message: &str) -> Option<usize> {
    message.strip_prefix('t').and_then(|turn| turn.parse().ok())
}

/// Says that it writes a file, and does.
pub(crate) fn write(name: &str) -> Response {
    Response::default().say(format!("I write {name}.")).call(
        "file_tool",
        json!({
            "command": "upload", "filename": name, "description": "A part",
            "content": format!("This is {name}."),
        }),
    )
}
