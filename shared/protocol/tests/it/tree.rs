//! A tree of runs is watched from a log that may lose or double what is in it, by clients who leave after
//! any frame and come back: all end up with the same.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use djinn_core::agent::{AgentContext, AgentSpec, AnswerFormat, ToolChoiceRule};
use djinn_core::entry::{Entry, Event};
use djinn_core::id::{ChildId, MessageId, Path};
use djinn_core::input::{Input, RunSpec};
use djinn_core::journal::{Journal, Record};
use djinn_core::settings::{Machine, Role};
use djinn_core::tool::Risk;
use djinn_protocol::call_progress::CallProgress;
use djinn_protocol::connection::Connection;
use djinn_protocol::preview::{EarlyEntry, Live, Preview, TextKind};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::client::received;
use crate::early::{folded, is_told_once};
use crate::projection::{PROTOCOLS, Protocol, connection, live, show};
use crate::report;
use crate::story;

/// A run below the root, and those that it calls.
struct Branch {
    path: Path,
    records: Vec<Record>,
    below: Vec<Self>,
}

/// The records of the root, and the runs below it by their paths.
struct Tree {
    records: Vec<Record>,
    branches: Vec<Branch>,
    /// What each run below says in the live log, as it stands in the history of the root.
    early: BTreeMap<Path, Vec<EarlyEntry>>,
}

static TREE: LazyLock<Tree> = LazyLock::new(Tree::new);

pub(crate) fn helper() -> AgentSpec {
    AgentSpec {
        name: "helper".to_owned(),
        description: "Helps.".to_owned(),
        prompt: "Help.".to_owned(),
        parameters: json!({"type": "object"}),
        tools: vec!["read".to_owned(), "helper".to_owned()],
        model: Role::Executor,
        machine: Machine::React,
        max_steps: 100,
        max_calls: None,
        before: Vec::new(),
        after: None,
        max_result_chars: None,
        first_tool: None,
        answer: AnswerFormat::Text,
        context: AgentContext::None,
        risk: Risk::Low,
        entry: false,
        title: None,
        agent_type: None,
        tool_choice: ToolChoiceRule::Auto,
        stop_at: Vec::new(),
        hands_over: Vec::new(),
        review: None,
        workflow: None,
    }
}

/// A journal that is told one input a record.
pub(crate) struct Told(Journal, pub(crate) Vec<Record>);

impl Told {
    pub(crate) fn of(spec: RunSpec) -> Self {
        let (journal, first) = Journal::open(spec, 1, story::write(0), 1_000);
        Self(journal, vec![first])
    }

    pub(crate) fn tell(&mut self, input: Input) {
        let n = self.0.next_number();
        // Each record has a moment of its own.
        let at_ms = 1_000 + i64::try_from(n).unwrap() * 500;
        let told = format!("{input:?}");
        let decided = self.0.decide_record(vec![input], 1, story::write(n), at_ms);
        let (next, record) = decided.unwrap_or_else(|| panic!("nobody waits for {told}"));
        self.0 = next;
        self.1.push(record);
    }

    pub(crate) fn called(&self, child: &str, agent: AgentSpec) -> Self {
        let spec = self.0.run().child_spec(&ChildId::new(child).unwrap());
        Self::of(spec.expect("the child is owed").with_agent(agent))
    }

    pub(crate) fn end(&self) -> Input {
        Input::ChildEnded(Box::new(self.0.child_result().expect("it has ended")))
    }

    fn into_branch(self, path: &str, below: Vec<Branch>) -> Branch {
        Branch { path: path.parse().unwrap(), records: self.1, below }
    }
}

/// One that reads, breaks off once and answers.
fn work(told: &mut Told, answer: &str) {
    told.tell(story::replied("t1", "I look.", &[("read", json!({"of": answer}))]));
    told.tell(story::returned("t1.c1", "found"));
    told.tell(story::broke_off("t2", 1));
    told.tell(story::replied("t2", answer, &[]));
}

impl Tree {
    /// The root calls two: the first calls two in turn, the second of which calls another; the second writes a
    /// report.
    fn new() -> Self {
        let call = |count| vec![("helper", json!({"task": "look"})); count];
        let mut asked = story::asked("why?");
        asked.settings.budget.steps = 200;
        let mut root = Told::of(asked);
        let both = [call(1).remove(0), report::call()];
        root.tell(report::offer(story::replied("t1", "Two look.", &both)));
        let mut chief = root.called("t1.c1", helper());
        let mut branches = Vec::new();
        chief.tell(story::replied("t1", "One looks.", &call(1)));
        let mut first = chief.called("t1.c1", helper());
        work(&mut first, "The first is done.");
        chief.tell(first.end());
        branches.push(first.into_branch("t1.c1.t1.c1", Vec::new()));
        chief.tell(story::replied("t2", "Another looks.", &call(1)));
        let mut second = chief.called("t2.c1", helper());
        second.tell(story::replied("t1", "A third looks.", &call(1)));
        let mut third = second.called("t1.c1", helper());
        work(&mut third, "The third is done.");
        second.tell(third.end());
        second.tell(story::replied("t2", "The second is done.", &[]));
        chief.tell(second.end());
        let third = third.into_branch("t1.c1.t2.c1.t1.c1", Vec::new());
        branches.push(second.into_branch("t1.c1.t2.c1", vec![third]));
        chief.tell(story::replied("t3", "They have looked.", &[]));
        let mut side = root.called("t1.c2", report::writer());
        report::write(&mut side);
        root.tell(side.end());
        root.tell(chief.end());
        root.tell(story::replied("t2", "All is done.", &[]));
        let branches =
            vec![chief.into_branch("t1.c1", branches), side.into_branch("t1.c2", Vec::new())];
        let mut early = BTreeMap::new();
        branches.iter().for_each(|branch| branch.add_early(&mut early));
        Self { records: root.1, branches, early }
    }

    /// A record as whoever shows it does, with what was done below.
    fn show(&self, connection: &mut Connection, record: &Record) -> Vec<String> {
        show(connection, record, &entries_below(&self.branches, &Path::default(), record))
    }

    /// The next entry of a run below, and the piece of text that is written before it, or while a call is at work.
    fn live(&self, run: usize, nth: usize) -> (Option<Live>, Option<Live>) {
        let Some((path, entries)) = self.early.iter().nth(run) else { return (None, None) };
        let Some(early) = entries.get(nth) else { return (None, None) };
        let piece = match &early.entry.event {
            Event::MessageCompleted { message, text, .. } => {
                Some(Live::Preview(piece(path, message, text)))
            }
            Event::CallCompleted { call, .. } => Some(Live::Progress(CallProgress {
                path: path.clone(),
                call: call.clone(),
                began_at_ms: 0,
                offset: 0,
                text: "At work.\n".to_owned(),
                is_cut: false,
                at_ms: 0,
            })),
            _ => None,
        };
        (piece, Some(Live::Entry(Box::new(early.clone()))))
    }
}

/// The end of a run, as older versions wrote it.
fn without_count(mut live: Live) -> Live {
    if let Live::Entry(early) = &mut live
        && let Event::ChildEnded { entry_count, .. } = &mut early.entry.event
    {
        *entry_count = None;
    }
    live
}

/// The beginning of a message, in its second attempt if it broke off.
fn piece(path: &Path, message: &MessageId, text: &str) -> Preview {
    Preview {
        path: path.clone(),
        message: message.clone(),
        attempt: if message.turn_number() == Some(2) { 2 } else { 1 },
        kind: TextKind::Text,
        offset: 0,
        text: text.chars().take(4).collect(),
        at_ms: 0,
    }
}

/// The entries of the runs that ended with a record, those below each where they ended.
fn entries_below(branches: &[Branch], path: &Path, record: &Record) -> Vec<Entry> {
    let ended = record.entries.iter().filter_map(|entry| match &entry.event {
        Event::ChildEnded { child, .. } => Some(path.with_child(child.clone())),
        _ => None,
    });
    let branch = |ended: Path| branches.iter().find(|branch| branch.path == ended).unwrap();
    ended.flat_map(|ended| branch(ended).all_entries()).collect()
}

impl Branch {
    fn all_entries(&self) -> Vec<Entry> {
        let of_record = |record: &Record| {
            let own = record.entries.iter().map(|entry| entry.clone().below(&self.path));
            let mut entries = entries_below(&self.below, &self.path, record);
            entries.extend(own);
            entries
        };
        self.records[1..].iter().flat_map(of_record).collect()
    }

    fn add_early(&self, all: &mut BTreeMap<Path, Vec<EarlyEntry>>) {
        let mut early = Vec::new();
        for record in &self.records {
            for (nth, entry) in record.entries.iter().enumerate() {
                let ends_record = nth + 1 == record.entries.len();
                let entry = entry.clone().below(&self.path);
                early.push(EarlyEntry { index: early.len() as u64, ends_record, entry });
            }
        }
        all.insert(self.path.clone(), early);
        self.below.iter().for_each(|branch| branch.add_early(all));
    }
}

/// What happens to one piece of the live log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Luck {
    Kept,
    Lost,
    Doubled,
}

/// One client over all of its connections.
struct Viewer<'a> {
    tree: &'a Tree,
    protocol: Protocol,
    connection: Connection,
    frames: String,
    of_connection: String,
    /// The next record of the root.
    next: usize,
    /// The next entry of each run below.
    at: Vec<usize>,
}

impl<'a> Viewer<'a> {
    fn new(tree: &'a Tree, protocol: Protocol) -> Self {
        let at = vec![0; tree.early.len()];
        let (frames, of_connection) = (String::new(), String::new());
        let connection = connection(protocol, true);
        Self { tree, protocol, connection, frames, of_connection, next: 0, at }
    }

    fn take(&mut self, happens: Option<&Live>, luck: Luck) {
        let times = match luck {
            Luck::Kept => 1,
            Luck::Lost => 0,
            Luck::Doubled => 2,
        };
        for happens in happens.into_iter().flat_map(|happens| std::iter::repeat_n(happens, times)) {
            self.of_connection.extend(live(&mut self.connection, happens));
        }
    }

    /// The next of what a run below does.
    fn hear(&mut self, run: usize, text: Luck, entry: Luck) {
        let (piece, early) = self.tree.live(run, self.at[run]);
        self.take(piece.as_ref(), text);
        self.take(early.as_ref(), entry);
        self.at[run] += 1;
    }

    /// A piece of a run below comes late, or again.
    fn hear_late(&mut self, run: usize, nth: usize) {
        let (piece, _) = self.tree.live(run, nth);
        self.take(piece.as_ref(), Luck::Kept);
    }

    fn show_next(&mut self) {
        let Some(record) = self.tree.records.get(self.next) else { return };
        self.of_connection.extend(self.tree.show(&mut self.connection, record));
        self.next += 1;
    }

    /// Leaves and comes back: the log is read from its beginning.
    fn come_back(&mut self) {
        self.connection = connection(self.protocol, true);
        let shown = &self.tree.records[..self.next];
        shown.iter().for_each(|record| self.connection.skip_record(record));
        if self.next > 0 {
            self.connection.resume();
        }
        self.at.fill(0);
        self.end_connection();
    }

    fn end_connection(&mut self) {
        if self.protocol == Protocol::Native {
            assert_eq!(frames_after_end(&self.of_connection), [""; 0]);
        }
        assert!(is_told_once(self.protocol, &self.of_connection), "{}", self.of_connection);
        self.frames.push_str(&std::mem::take(&mut self.of_connection));
    }

    /// What it ends up with, once it has seen the rest.
    fn end(mut self) -> String {
        self.tree.records.iter().for_each(|_| self.show_next());
        self.end_connection();
        folded(self.protocol, &self.frames)
    }
}

/// The native frames of runs whose `child.ended` was sent before, on one connection.
fn frames_after_end(frames: &str) -> Vec<String> {
    let mut ended: Vec<String> = Vec::new();
    let mut late = Vec::new();
    for frame in received(frames) {
        let event: Value = serde_json::from_str(&frame.data).unwrap();
        let path = event["path"].as_str().unwrap_or_default();
        let is_within = |end: &String| path == end || path.starts_with(&format!("{end}."));
        if ended.iter().any(is_within) {
            late.push(frame.data.clone());
        }
        if event["type"] == "child.ended" {
            ended.push(event["child"].as_str().unwrap().to_owned());
        }
    }
    late
}

/// What a client ends up with that is shown nothing early.
fn undisturbed(tree: &Tree, protocol: Protocol) -> String {
    Viewer::new(tree, protocol).end()
}

#[test]
fn a_viewer_may_leave_after_every_frame_of_a_tree_whatever_becomes_of_its_previews() {
    let tree = &*TREE;
    let total: usize = tree.early.values().map(Vec::len).sum();
    assert!(total > 30 && tree.early.len() == 5, "{total}");
    for protocol in PROTOCOLS {
        let expected = undisturbed(tree, protocol);
        for luck in [Luck::Kept, Luck::Lost, Luck::Doubled] {
            // Two records of the root, then what is done below until each of the others.
            for cut in 0..=total {
                let mut viewer = Viewer::new(tree, protocol);
                viewer.show_next();
                viewer.show_next();
                let all = tree.early.values().enumerate();
                let order = all.flat_map(|(run, entries)| vec![run; entries.len()]);
                for (nth, run) in order.enumerate() {
                    if nth == cut {
                        viewer.come_back();
                        for (run, entries) in tree.early.values().enumerate() {
                            (0..entries.len()).for_each(|_| viewer.hear(run, luck, Luck::Kept));
                        }
                        break;
                    }
                    viewer.hear(run, luck, Luck::Kept);
                }
                assert_eq!(viewer.end(), expected, "{protocol:?} {luck:?}, cut after {cut}");
            }
        }
    }
}

#[test]
fn text_whose_end_comes_late_is_not_void_before_that() {
    let tree = &*TREE;
    let place = |path: &str| tree.early.keys().position(|known| known.to_string() == path).unwrap();
    let (chief, helper) = (place("t1.c1"), place("t1.c1.t1.c1"));
    for protocol in [Protocol::Raw, Protocol::Ui] {
        let mut viewer = Viewer::new(tree, protocol);
        viewer.show_next();
        viewer.show_next();
        // The chief calls the helper.
        let is_end = |entry: &EarlyEntry| matches!(entry.entry.event, Event::ChildEnded { .. });
        let end = tree.early[&"t1.c1".parse().unwrap()].iter().position(is_end).unwrap();
        (0..end).for_each(|_| viewer.hear(chief, Luck::Kept, Luck::Kept));
        // Of the helper's last words the beginning comes, and their end after that of its run.
        let count = tree.early[&"t1.c1.t1.c1".parse().unwrap()].len();
        (0..count - 1).for_each(|_| viewer.hear(helper, Luck::Kept, Luck::Kept));
        let shown = viewer.of_connection.clone();
        viewer.hear(helper, Luck::Kept, Luck::Lost);
        let begun = viewer.of_connection.strip_prefix(&shown).unwrap();
        assert!(begun.contains(r#""toolThought":"The ""#), "{begun}");
        let shown = viewer.of_connection.clone();
        // In records of older versions nobody knows how much is missing before the end.
        let (_, end) = tree.live(chief, viewer.at[chief]);
        viewer.take(end.map(without_count).as_ref(), Luck::Kept);
        viewer.at[chief] += 1;
        let ended = viewer.of_connection.strip_prefix(&shown).unwrap();
        assert!(!ended.contains("t1.c1.t1.c1.t2"), "{ended}");
        assert_eq!(viewer.end(), undisturbed(tree, protocol));
    }
}

/// What happens next: a run below does something, of which text and entry are kept, lost or doubled; a
/// record of the root is shown; the client leaves and comes back.
#[derive(Debug, Clone)]
enum Step {
    Hear { run: usize, text: Luck, entry: Luck },
    Late { run: usize, nth: usize },
    Record,
    Cut,
}

fn any_luck() -> impl Strategy<Value = Luck> {
    prop_oneof![6 => Just(Luck::Kept), 1 => Just(Luck::Lost), 1 => Just(Luck::Doubled)]
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        16 => (0usize..5, any_luck(), any_luck())
            .prop_map(|(run, text, entry)| Step::Hear { run, text, entry }),
        4 => (0usize..5, 0usize..15).prop_map(|(run, nth)| Step::Late { run, nth }),
        2 => Just(Step::Record),
        1 => Just(Step::Cut),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn a_viewer_of_a_tree_ends_up_with_the_same_whatever_the_live_log_does(
        steps in proptest::collection::vec(any_step(), 0..150),
        protocol in proptest::sample::select(PROTOCOLS.to_vec()),
    ) {
        let mut viewer = Viewer::new(&TREE, protocol);
        for step in steps {
            match step {
                Step::Hear { run, text, entry } => viewer.hear(run, text, entry),
                Step::Late { run, nth } => viewer.hear_late(run, nth),
                Step::Record => viewer.show_next(),
                Step::Cut => viewer.come_back(),
            }
        }
        prop_assert_eq!(viewer.end(), undisturbed(&TREE, protocol));
    }
}
