//! A search while it goes on, as JoyAgent's clients see it.

use djinn_core::agent::{AgentSpec, AnswerFormat};
use djinn_core::entry::Entry;
use djinn_core::id::{MessageId, Path};
use djinn_core::input::Input;
use djinn_core::tool::search::{QueryFindings, SearchedPage};
use djinn_core::tool::{EffectClass, OfferedTool, ResultView, ToolFailure, ToolOutput, ToolResult};
use djinn_protocol::preview::{EarlyEntry, Live, Preview, TextKind};
use serde_json::{Value, json};

use crate::client::received;
use crate::projection::{PROTOCOLS, Protocol, connection, live, page, show};
use crate::story;
use crate::tree::{Told, helper};

const ANSWER: &str = "It is 4 [1], or 9 [7].";
const CITED: &str = "It is 4 [1], or 9.\n\n## Sources\n\n- [1] [Heat](https://a.test)";

pub(crate) fn searcher() -> AgentSpec {
    AgentSpec {
        name: "deep_search".to_owned(),
        tools: vec!["search_round".to_owned()],
        before: Vec::new(),
        after: Some("cite".to_owned()),
        answer: AnswerFormat::Text,
        max_steps: 4,
        ..helper()
    }
}

/// The same reply where searches are offered, too.
pub(crate) fn offer(input: Input) -> Input {
    let Input::ModelReplied(mut replied) = input else { unreachable!("no reply") };
    let kinds = [
        ("deep_search", EffectClass::Agent, true),
        ("search_round", EffectClass::Read, true),
        ("cite", EffectClass::Idempotent, false),
    ];
    let like = replied.offered[0].clone();
    replied.offered.extend(kinds.map(|(name, effect, visible)| OfferedTool {
        name: name.to_owned(),
        effect,
        visible,
        ..like.clone()
    }));
    Input::ModelReplied(replied)
}

fn found(call: &str, queries: &[&str]) -> Input {
    let page = SearchedPage {
        title: "Heat".to_owned(),
        url: "https://a.test".to_owned(),
        excerpt: "Some words.".to_owned(),
    };
    let find =
        |query: &&str| QueryFindings { query: (*query).to_owned(), pages: vec![page.clone()] };
    let view = ResultView::Searched { results: queries.iter().map(find).collect() };
    story::outcome(call, ToolResult::Done(ToolOutput { view, ..ToolOutput::from_text("[1] Heat") }))
}

/// Two rounds, an answer, and what comes of checking its citations.
fn search(answer: &str, result: ToolResult) -> Vec<Input> {
    let round = |queries: &[&str]| ("search_round", json!({"queries": queries}));
    vec![
        offer(story::replied("t1", "I search.", &[round(&["gold", "iron"])])),
        found("t1.c1", &["gold", "iron"]),
        offer(story::replied("t2", "", &[round(&["zinc"])])),
        found("t2.c1", &["zinc"]),
        story::replied("t3", answer, &[]),
        offer(story::replied("after", answer, &[("cite", json!({"answer": answer}))])),
        story::outcome("after.c1", result),
    ]
}

/// What a run that searches is told.
pub(crate) fn inputs() -> Vec<Input> {
    search(ANSWER, ToolResult::Done(ToolOutput::from_text(CITED)))
}

fn piece(attempt: u32, offset: usize, text: &str) -> Live {
    Live::Preview(Preview {
        path: "t1.c1".parse::<Path>().unwrap(),
        message: MessageId::new("t3").unwrap(),
        attempt,
        kind: TextKind::Text,
        offset: offset as u64,
        text: text.to_owned(),
        at_ms: 1_000,
    })
}

/// A run that has a search made, and what is done below.
fn told(answer: &str, result: ToolResult) -> (Told, Vec<Entry>) {
    let mut asked = story::asked("How warm?");
    asked.settings.budget.steps = 200;
    let mut root = Told::of(asked);
    let call = ("deep_search", json!({"query": "How warm is it?"}));
    root.tell(offer(story::replied("t1", "I have it searched for.", &[call])));
    let mut child = root.called("t1.c1", searcher());
    search(answer, result).into_iter().for_each(|input| child.tell(input));
    root.tell(child.end());
    root.tell(story::replied("t2", "It is 4.", &[]));
    let path: Path = "t1.c1".parse().unwrap();
    let below = child.1[1..].iter().flat_map(|record| record.entries.clone());
    (root, below.map(|entry| entry.below(&path)).collect())
}

/// The stream of a client that was there from the beginning; the first attempt at the answer broke off.
fn stream(protocol: Protocol, answer: &str, result: ToolResult) -> String {
    let (root, below) = told(answer, result);
    let mut connection = connection(protocol, true);
    let mut frames = Vec::new();
    let mut records = root.1.iter();
    for record in records.by_ref().take(2) {
        frames.extend(show(&mut connection, record, &[]));
    }
    let answered =
        below.iter().position(|entry| entry.id.to_string().starts_with("t1.c1.t3")).unwrap();
    for (index, entry) in below.iter().enumerate() {
        if index == answered {
            for (attempt, offset, text) in
                [(1, 0, "It is wro"), (2, 0, "It is"), (2, 5, " 4 [1], ")]
            {
                frames.extend(live(&mut connection, &piece(attempt, offset, text)));
            }
        }
        let early = EarlyEntry { index: index as u64, ends_record: true, entry: entry.clone() };
        frames.extend(live(&mut connection, &Live::Entry(Box::new(early))));
    }
    for (nth, record) in records.enumerate() {
        let below = if nth == 0 { below.as_slice() } else { &[] };
        frames.extend(show(&mut connection, record, below));
    }
    frames.concat()
}

#[test]
fn a_search_is_shown_round_by_round_and_its_report_as_it_is_written() {
    for protocol in PROTOCOLS {
        let cited = ToolResult::Done(ToolOutput::from_text(CITED));
        let frames = stream(protocol, ANSWER, cited);
        if let Some(page) = page(protocol, false, &frames) {
            page.check_unlocked();
        }
        let name = format!("search_{protocol:?}").to_lowercase();
        insta::assert_snapshot!(name, frames);
    }
}

const LINKED: &str =
    "It is 4 [[1]](https://a.test), or 9.\n\n## Sources\n\n- [1] [Heat](https://a.test)";

/// The reports that a page shows which adds to what it shows, each with whether it has ended. An event without
/// queries takes one back.
fn read_reports(frames: &str) -> Vec<(String, bool)> {
    let mut reports: Vec<(String, String, bool)> = Vec::new();
    for frame in received(frames) {
        let event: Value = serde_json::from_str(&frame.data).unwrap();
        let map = &event["resultMap"];
        if event["messageType"] != "deep_search" || map["answer"].is_null() {
            continue;
        }
        let (id, piece) = (event["messageId"].to_string(), map["answer"].as_str().unwrap());
        if map["messageType"] == "extend" {
            assert!(
                reports.iter().any(|(known, ..)| *known == id),
                "nothing to take back: {event}"
            );
            reports.retain(|(known, ..)| *known != id);
            continue;
        }
        let has_ended = map["isFinal"] == true;
        match reports.iter_mut().find(|(known, ..)| *known == id) {
            Some((_, text, ended)) => {
                assert!(!*ended, "more of a report that has ended: {event}");
                text.push_str(piece);
                *ended = has_ended;
            }
            None => reports.push((id, piece.to_owned(), has_ended)),
        }
    }
    reports.into_iter().map(|(_, text, ended)| (text, ended)).collect()
}

#[test]
fn page_that_adds_pieces_shows_the_cited_report_once() {
    let (line, listed) = (format!("{ANSWER}\n"), format!("{ANSWER}\n\n## Sources"));
    let done = |text: &str| ToolResult::Done(ToolOutput::from_text(text));
    let failed = ToolResult::Failed { reason: ToolFailure::Error, detail: "No.".to_owned() };
    for (answer, result, shown) in [
        (ANSWER, done(CITED), LINKED),
        // Where nothing was changed, only the rest follows.
        (ANSWER, done(&listed), &*listed),
        (&line, done(&listed), &*format!("{ANSWER}\n\n\n## Sources")),
        (ANSWER, failed, ANSWER),
    ] {
        let frames = stream(Protocol::Raw, answer, result.clone());
        assert_eq!(read_reports(&frames), [(shown.to_owned(), true)]);
        let chips = page(Protocol::Ui, false, &stream(Protocol::Ui, answer, result)).unwrap();
        let lanes = chips.lanes();
        let searched = lanes[0].chips.iter().filter(|chip| chip.kind == "deep_search");
        assert_eq!(searched.count(), 3, "two rounds and one report: {lanes:#?}");
    }
}
