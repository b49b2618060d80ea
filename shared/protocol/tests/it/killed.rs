//! Clients that lived through kills and cuts, and clients that come afterwards: both show the same.

use std::collections::BTreeMap;

use djinn_core::agent::{AgentSpec, AnswerFormat};
use djinn_core::entry::{Entry, Event};
use djinn_core::id::{MessageKey, Path};
use djinn_core::input::Input;
use djinn_core::journal::Record;
use djinn_core::tool::{EffectClass, OfferedTool, ToolFailure, ToolResult};
use djinn_protocol::preview::{EarlyEntry, Live, Preview, TextKind};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::client::{Received, received};
use crate::projection::{Protocol, connection, last_id, live, page, show};
use crate::tree::{Told, helper};
use crate::{report, search, story};

/// The agent that the root calls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Agent {
    Report,
    /// A report whose rendering fails.
    BrokenReport,
    Search,
    BrokenSearch,
    Writer,
    Code,
    Helper,
}

const AGENTS: [Agent; 7] = [
    Agent::Report,
    Agent::BrokenReport,
    Agent::Search,
    Agent::BrokenSearch,
    Agent::Writer,
    Agent::Code,
    Agent::Helper,
];

/// What the writer writes.
pub(crate) const DOCUMENT: &str = "# Sales\n\nEast grew.";

/// A step of a story: an input, or the death of the driver.
fn tell(told: &mut Told, kills: &mut impl Iterator<Item = bool>, epoch: &mut u64, input: Input) {
    if kills.next().unwrap_or(false) {
        *epoch += 1;
        told.tell(story::died(*epoch));
    }
    told.tell(input);
}

/// The same reply where a tool or an agent of this name is offered, too.
fn offer(name: &str, effect: EffectClass, input: Input) -> Input {
    let Input::ModelReplied(mut replied) = input else { unreachable!("no reply") };
    let like = replied.offered[0].clone();
    replied.offered.push(OfferedTool { name: name.to_owned(), effect, visible: true, ..like });
    Input::ModelReplied(replied)
}

impl Agent {
    pub(crate) fn spec(self) -> AgentSpec {
        match self {
            Self::Report | Self::BrokenReport => report::writer(),
            Self::Search | Self::BrokenSearch => search::searcher(),
            Self::Writer => {
                AgentSpec { name: "writer".to_owned(), answer: AnswerFormat::File, ..helper() }
            }
            Self::Code => AgentSpec {
                name: "code_interpreter".to_owned(),
                tools: vec!["python".to_owned()],
                ..helper()
            },
            Self::Helper => helper(),
        }
    }

    /// The reply that calls it.
    fn call(self) -> Input {
        let reply = |call| story::replied("t1", "I have it done.", &[call]);
        match self {
            Self::Report | Self::BrokenReport => report::offer(reply(report::call())),
            Self::Search | Self::BrokenSearch => {
                search::offer(reply(("deep_search", json!({"query": "How warm is it?"}))))
            }
            Self::Writer => {
                let arguments = json!({"task": "Write.", "file_name": "sales.md"});
                offer("writer", EffectClass::Agent, reply(("writer", arguments)))
            }
            Self::Code => {
                let call = ("code_interpreter", json!({"task": "Sum it up."}));
                offer("code_interpreter", EffectClass::Agent, reply(call))
            }
            Self::Helper => reply(("helper", json!({"task": "look"}))),
        }
    }

    /// All that its run is told.
    pub(crate) fn inputs(self) -> Vec<Input> {
        let fails = |call: &str| {
            let reason = ToolFailure::Error;
            story::outcome(call, ToolResult::Failed { reason, detail: "No.".to_owned() })
        };
        let mut inputs = match self {
            Self::Report | Self::BrokenReport => report::inputs(),
            Self::Search | Self::BrokenSearch => search::inputs(),
            Self::Writer => vec![
                story::replied("t1", "I read first.", &[("read", json!({"of": "x"}))]),
                story::returned("t1.c1", "found"),
                story::replied("t2", DOCUMENT, &[]),
                Input::AnswerSaved { file: Some(story::file("sales.md")) },
            ],
            Self::Code => {
                let call = ("python", json!({"code": "print(4)"}));
                let calls = story::replied("t1", "I add.", &[call]);
                vec![
                    offer("python", EffectClass::Read, calls),
                    story::wrote("t1.c1", "sum.png"),
                    story::thought("t2", "So it is 4.", "It is 4, see ![sum](sum.png)."),
                ]
            }
            Self::Helper => vec![
                story::replied("t1", "", &[("read", json!({"of": "x"}))]),
                story::returned("t1.c1", "found"),
                story::thought("t2", "Is it 4?", "It is 4."),
            ],
        };
        // Attempts break off where the driver dies.
        inputs.retain(|input| !matches!(input, Input::AttemptFailed(_)));
        if matches!(self, Self::BrokenReport | Self::BrokenSearch) {
            inputs.pop();
            inputs.push(fails("after.c1"));
        }
        inputs
    }
}

/// A story of a root that calls an agent, with kills.
pub(crate) struct Story {
    root: Vec<Record>,
    /// The records of the agent's run.
    child: Vec<Record>,
    path: Path,
}

impl Story {
    /// Before each input of either run whose turn in `kills` is true its driver dies.
    pub(crate) fn new(agent: Agent, kills: &[bool], is_planned: bool) -> Self {
        let (mut kills, mut epoch) = (kills.iter().copied(), 1);
        let mut asked =
            if is_planned { story::asked_to_plan("Why?") } else { story::asked("Why?") };
        asked.settings.budget.steps = 200;
        let mut root = Told::of(asked);
        let name = agent.spec().name;
        let plan =
            json!({"command": "create", "title": "t", "steps": ["Do: it"], "agents": [name]});
        let (begin, child, ending) = if is_planned {
            let finish = story::planned("t2", &json!({"command": "finish"}));
            let ending = vec![finish, story::replied("summary", "All of it is done.", &[])];
            (story::planned("t1", &plan), "s1.1", ending)
        } else {
            (agent.call(), "t1.c1", vec![story::replied("t2", "All of it is done.", &[])])
        };
        tell(&mut root, &mut kills, &mut epoch, begin);
        let path = child.parse().unwrap();
        let mut child = root.called(child, agent.spec());
        let mut child_epoch = 1;
        for input in agent.inputs() {
            tell(&mut child, &mut kills, &mut child_epoch, input);
        }
        tell(&mut root, &mut kills, &mut epoch, child.end());
        ending.into_iter().for_each(|input| tell(&mut root, &mut kills, &mut epoch, input));
        Self { root: root.1, child: child.1, path }
    }

    /// The entries of the agent's run as they stand in the history of the root.
    fn below(&self) -> Vec<Entry> {
        let entries = self.child[1..].iter().flat_map(|record| record.entries.clone());
        entries.map(|entry| entry.below(&self.path)).collect()
    }

    /// All that happens to a client that was there, in order: pieces of each message, in every attempt at it.
    pub(crate) fn happenings(&self, pieces: &[u8]) -> Vec<Happening> {
        let mut pieces = pieces.iter().copied().chain(std::iter::repeat(0));
        let is_start = |record: &&Record| {
            record.entries.iter().any(|entry| matches!(entry.event, Event::ChildStarted { .. }))
        };
        let begun = self.root.iter().position(|record| is_start(&record)).unwrap();
        let (before, after) = self.root.split_at(begun + 1);
        let mut happenings = Vec::new();
        let records = |records: &[Record],
                       happenings: &mut Vec<Happening>,
                       pieces: &mut dyn Iterator<Item = u8>| {
            let mut attempts = BTreeMap::new();
            for (nth, record) in records.iter().enumerate() {
                happenings.extend(written_before(
                    &records[nth..],
                    &Path::default(),
                    &mut attempts,
                    pieces,
                ));
                happenings.push(Happening::Record(record.number));
            }
        };
        records(before, &mut happenings, &mut pieces);
        let mut attempts = BTreeMap::new();
        let mut index = 0;
        // The record that begins the run is shown early, too.
        for (nth, record) in self.child.iter().enumerate() {
            let written =
                written_before(&self.child[nth..], &self.path, &mut attempts, &mut pieces);
            happenings.extend(written);
            for (place, entry) in record.entries.iter().enumerate() {
                let ends_record = place + 1 == record.entries.len();
                let entry = entry.clone().below(&self.path);
                let early = EarlyEntry { index, ends_record, entry };
                happenings.push(Happening::Live(Live::Entry(Box::new(early))));
                index += 1;
            }
        }
        records(after, &mut happenings, &mut pieces);
        happenings
    }
}

/// Something that a client is shown.
#[derive(Debug, Clone)]
pub(crate) enum Happening {
    Live(Live),
    Record(u64),
}

/// Pieces of the message that these records complete next, in the attempt that the first of them ends.
fn written_before(
    records: &[Record],
    path: &Path,
    attempts: &mut BTreeMap<MessageKey, u32>,
    pieces: &mut dyn Iterator<Item = u8>,
) -> Vec<Happening> {
    let completed =
        records.iter().flat_map(|record| &record.entries).find_map(|entry| match &entry.event {
            Event::MessageCompleted { message, text, reasoning, .. } => {
                Some((message, text, reasoning))
            }
            _ => None,
        });
    let ends_attempt = records[0].entries.iter().any(|entry| {
        matches!(
            entry.event,
            Event::RunResumed { .. } | Event::MessageReset { .. } | Event::MessageCompleted { .. }
        )
    });
    let Some((message, text, reasoning)) = completed.filter(|_| ends_attempt) else {
        return Vec::new();
    };
    // Nothing is written of what an agent's file has called.
    if message.turn_number().is_none() {
        return Vec::new();
    }
    let key = MessageKey { path: path.clone(), message: message.clone() };
    let attempt = attempts.entry(key).or_insert(0);
    *attempt += 1;
    let is_last = records[0]
        .entries
        .iter()
        .any(|entry| matches!(entry.event, Event::MessageCompleted { .. }));
    let (wrong, thought) = ("Wrong, but long".to_owned(), Some("Hm.".to_owned()));
    let (text, reasoning) = if is_last { (text, reasoning) } else { (&wrong, &thought) };
    let luck = pieces.next().unwrap_or_default();
    let piece = |kind, text: &str, from: usize, to: usize| {
        let text = text.get(from..to.min(text.len())).unwrap_or_default().to_owned();
        let (message, at_ms, attempt) = (message.clone(), 1_000, *attempt);
        Preview { path: path.clone(), message, attempt, kind, offset: from as u64, text, at_ms }
    };
    let mut written = Vec::new();
    if let Some(reasoning) = reasoning.as_ref().filter(|_| luck & 1 > 0) {
        written.push(piece(TextKind::Reasoning, reasoning, 0, 2));
    }
    if luck & 2 > 0 {
        written.push(piece(TextKind::Text, text, 0, 4));
        if luck & 4 > 0 {
            written.push(piece(TextKind::Text, text, 4, 9));
        }
    }
    let shown = written.into_iter().filter(|piece| !piece.text.is_empty());
    shown.map(|piece| Happening::Live(Live::Preview(piece))).collect()
}

/// The frames of one connection from its beginning, or from behind a record that its client has.
pub(crate) fn frames(
    protocol: Protocol,
    story: &Story,
    happenings: &[Happening],
    known: Option<u64>,
) -> Vec<Received> {
    let mut client = connection(protocol, true);
    let mut sent = Vec::new();
    if let Some(known) = known {
        story
            .root
            .iter()
            .filter(|record| record.number <= known)
            .for_each(|record| client.skip_record(record));
        client.resume();
    }
    for happening in happenings {
        match happening {
            Happening::Live(piece) => sent.extend(live(&mut client, piece)),
            Happening::Record(number) => {
                let record = story.root.iter().find(|record| record.number == *number).unwrap();
                let ends = record
                    .entries
                    .iter()
                    .any(|entry| matches!(entry.event, Event::ChildEnded { .. }));
                let below = if ends { story.below() } else { Vec::new() };
                sent.extend(show(&mut client, record, &below));
            }
        }
    }
    received(&sent.concat())
}

/// What a client of the raw protocol keeps: its texts by their ids, without those that were taken back.
fn raw_state(frames: &[Received]) -> BTreeMap<String, Value> {
    let mut state: BTreeMap<String, Value> = BTreeMap::new();
    for frame in frames {
        let mut event: Value = serde_json::from_str(&frame.data).unwrap();
        let id = event["messageId"].as_str().unwrap().to_owned();
        // Deltas have the time of their first piece.
        event["messageTime"].take();
        let kind = event["messageType"].as_str().unwrap().to_owned();
        let (is_final, map) = (event["isFinal"] == true, event["resultMap"].clone());
        let known = state.get_mut(&id);
        match (kind.as_str(), known) {
            ("plan_thought", Some(known)) if !is_final => {
                add_text(&mut known["planThought"], &event["planThought"]);
            }
            ("tool_thought", Some(known)) if !is_final => {
                add_text(&mut known["toolThought"], &event["toolThought"]);
            }
            ("html" | "markdown", Some(known)) if map["isFinal"] == false => {
                add_text(&mut known["resultMap"]["data"], &map["data"]);
            }
            ("deep_search", Some(_))
                if map["messageType"] == "extend" && map["searchResult"]["query"] == json!([]) =>
            {
                state.remove(&id);
            }
            ("deep_search", None)
                if map["messageType"] == "extend" && map["searchResult"]["query"] == json!([]) => {}
            ("deep_search", Some(known)) if map["messageType"] == "report" => {
                let mut whole = known["resultMap"]["answer"].clone();
                add_text(&mut whole, &map["answer"]);
                event["resultMap"]["answer"] = whole;
                state.insert(id, event);
            }
            _ => {
                state.insert(id, event);
            }
        }
    }
    state.retain(|_, event| {
        let has_file =
            event["resultMap"]["fileInfo"].as_array().is_some_and(|files| !files.is_empty());
        event["toolThought"] != ""
            && event["planThought"] != ""
            && (event["resultMap"]["data"] != "" || has_file)
    });
    // The last event of each text says whether more follows; that no text was taken back half, the texts say.
    state.values_mut().for_each(|event| drop(event["isFinal"].take()));
    state
}

fn add_text(known: &mut Value, more: &Value) {
    *known = format!("{}{}", known.as_str().unwrap_or_default(), more.as_str().unwrap()).into();
}

/// What the page shows, in no order: a lane is shared by runs that work at the same time.
fn shown_chips(is_planned: bool, frames: &[Received]) -> Vec<String> {
    let text: String = frames.iter().map(|frame| format!("data:{}\n\n", frame.data)).collect();
    let shown = page(Protocol::Ui, is_planned, &text).unwrap();
    shown.check_unlocked();
    let chips = shown.lanes().into_iter().flat_map(|lane| lane.chips);
    let mut chips: Vec<String> = chips
        .map(|chip| format!("{} {} {:?} {}", chip.kind, chip.text, chip.files, chip.panel))
        .collect();
    chips.sort();
    chips.push(shown.thought);
    chips
}

fn any_agent() -> impl Strategy<Value = Agent> {
    proptest::sample::select(AGENTS.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn page_that_lived_through_kills_shows_what_a_later_one_shows(
        agent in any_agent(),
        is_planned in any::<bool>(),
        kills in proptest::collection::vec(prop::bool::weighted(0.3), 0..14),
        pieces in proptest::collection::vec(0u8..8, 30),
    ) {
        // A step that fails is tried again.
        let is_planned = is_planned && !matches!(agent, Agent::BrokenReport | Agent::BrokenSearch);
        let story = Story::new(agent, &kills, is_planned);
        let later: Vec<Happening> = story.root.iter().map(|record| Happening::Record(record.number)).collect();
        let lived = frames(Protocol::Ui, &story, &story.happenings(&pieces), None);
        prop_assert_eq!(shown_chips(is_planned, &lived), shown_chips(is_planned, &frames(Protocol::Ui, &story, &later, None)));
    }

    #[test]
    fn raw_client_that_was_cut_off_and_lived_through_kills_equals_a_later_one(
        agent in any_agent(),
        is_planned in any::<bool>(),
        kills in proptest::collection::vec(prop::bool::weighted(0.3), 0..14),
        pieces in proptest::collection::vec(0u8..8, 30),
        cuts in proptest::collection::vec(0usize..50, 0..4),
    ) {
        // A step that fails is tried again.
        let is_planned = is_planned && !matches!(agent, Agent::BrokenReport | Agent::BrokenSearch);
        let story = Story::new(agent, &kills, is_planned);
        let happenings = story.happenings(&pieces);
        let later: Vec<Happening> = story.root.iter().map(|record| Happening::Record(record.number)).collect();
        let expected = raw_state(&frames(Protocol::Raw, &story, &later, None));
        let mut kept: Vec<Received> = Vec::new();
        for cut in cuts.into_iter().map(Some).chain([None]) {
            let known = last_id(&kept).map(|cursor| cursor.record);
            // Who comes back reads the live log from its beginning.
            let sent = frames(Protocol::Raw, &story, &happenings, known);
            let count = cut.map_or(sent.len(), |cut| cut.min(sent.len()));
            kept.extend_from_slice(&sent[..count]);
        }
        prop_assert_eq!(raw_state(&kept), expected);
    }
}
