use std::sync::{Arc, Mutex};

use serde_json::json;

use super::*;

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn event(name: &str, data: Value) -> StreamEvent {
    StreamEvent { id: None, name: name.to_owned(), data }
}

#[test]
fn tasks_at_work_at_once_do_not_take_each_others_lines_apart() {
    let out = Shared::default();
    let mut screen = Screen::new(Box::new(out.clone()), false);
    let piece = |task: &str, offset: usize, piece: &str| {
        event(
            "preview",
            json!({
                "path": task, "message": "t1", "attempt": 1, "kind": "text", "offset": offset,
                "text": piece,
            }),
        )
    };
    let whole = |task: &str, text: &str| {
        event("message.completed", json!({"path": task, "message": "t1", "text": text}))
    };
    let plan = json!({"plan": {"title": "Prices", "steps": [
        {"id": "s1", "stage": "Gold", "details": "look", "status": "in_progress"},
        {"id": "s2", "stage": "", "details": "silver", "status": "not_started"},
    ]}});
    let started = json!({"child": "s1.1", "description": "Gold: look", "agent": "researcher"});
    let failed = json!({"child": "s2.1", "status": "failed", "text": "I looked at two mines.",
        "failure": {"code": "steps_used_up", "detail": "3"}});
    let ended = json!({"child": "s1.1", "status": "finished", "files": [{"name": "gold.md"}]});
    for event in [
        event("plan.changed", plan.clone()),
        event("plan.changed", plan),
        event("child.started", started),
        piece("s1.1", 0, "Gold is"),
        piece("s2.1", 0, "Silver\nis "),
        piece("s1.1", 7, " dear."),
        whole("s1.1", "Gold is dear."),
        whole("s2.1", "Silver\nis cheap."),
        event("child.ended", ended),
        event("child.ended", failed),
    ] {
        screen.show_event(&event);
    }
    let text = String::from_utf8(out.0.lock().unwrap().clone()).unwrap();
    let lines = "\nplan: Prices\n  ▶ s1 Gold: look\n  · s2 silver\n\n\
                 s1.1 ▶ Gold: look (researcher)\n\
                 s2.1 │ Silver\n\
                 s1.1 │ Gold is dear.\n\
                 s2.1 │ is cheap.\n\
                 s1.1 ✓ done\n\
                 s1.1 │ + gold.md\n\
                 s2.1 ✗ The step budget of 3 is used up. The results so far are above. \
                 Ask a follow-up question to continue.\n";
    assert_eq!(text, lines);
}

#[test]
fn what_is_wrong_with_files_of_agents_is_shown_first() {
    let out = Shared::default();
    let mut screen = Screen::new(Box::new(out.clone()), false);
    screen.show_event(&event("run.started", json!({"question": "Why?"})));
    let warnings = json!({"warnings": ["agents/a.md:1: it is not UTF-8"]});
    screen.show_event(&event("run.started", warnings));
    let text = String::from_utf8(out.0.lock().unwrap().clone()).unwrap();
    assert_eq!(text, "! agents/a.md:1: it is not UTF-8\n");
}

#[test]
fn an_answer_that_a_summary_says_again_is_shown_once() {
    let out = Shared::default();
    let mut screen = Screen::new(Box::new(out.clone()), false);
    let piece = |message: &str, offset: usize, piece: &str| {
        event(
            "preview",
            json!({
                "message": message, "attempt": 1, "kind": "text", "offset": offset, "text": piece,
            }),
        )
    };
    let whole = |message: &str, text: &str| {
        event("message.completed", json!({"message": message, "text": text}))
    };
    for event in [
        piece("t1", 0, "I look."),
        whole("t1", "I look."),
        piece("t2", 0, "Gold is"),
        whole("t2", "Gold is dear."),
        piece("summary", 0, "Gold"),
        piece("summary", 4, " is dear."),
        whole("summary", "Gold is dear."),
    ] {
        screen.show_event(&event);
    }
    screen.show_answer("Gold is dear.");
    let text = String::from_utf8(out.0.lock().unwrap().clone()).unwrap();
    assert_eq!(text, "I look.\nGold is dear.\n");
}

#[test]
fn a_text_that_starts_over_in_a_lane_is_shown_once() {
    let out = Shared::default();
    let mut screen = Screen::new(Box::new(out.clone()), false);
    let piece = |attempt: u64, piece: &str| {
        event(
            "preview",
            json!({
                "path": "s1.1", "message": "t1", "attempt": attempt, "kind": "text",
                "offset": 0, "text": piece,
            }),
        )
    };
    let whole = json!({"path": "s1.1", "message": "t1", "text": "Gold is dear."});
    for event in [
        piece(1, "Gold is"),
        event("run.resumed", json!({"path": "s1.1", "epoch": 2})),
        // Late, from the live log.
        piece(1, "Gold"),
        piece(2, "Gold is dear"),
        event("message.completed", whole),
    ] {
        screen.show_event(&event);
    }
    let text = String::from_utf8(out.0.lock().unwrap().clone()).unwrap();
    let died = "s1.1 │ (the process that worked on this crashed; another one continues)\n";
    assert_eq!(text, format!("{died}s1.1 │ Gold is dear.\n"));
}

#[test]
fn a_text_cannot_command_the_terminal() {
    let text = "a\tb\r\n\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{7f}界 é";
    assert_eq!(to_printable(text), "a\tb\n]0;owned[2J31m界 é");
}
