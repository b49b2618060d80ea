//! What became of a run in bad weather, and what must be true of it, whatever the weather was. The
//! numbers are those of ARCHITECTURE.md's invariants.

use std::collections::{BTreeMap, BTreeSet};

use djinn_core::effect::{Delivery, Effect};
use djinn_core::entry::{Entry, Event};
use djinn_core::error_code::ErrorCode;
use djinn_core::human::{HumanResponse, ResponseRecord};
use djinn_core::id::{Path, UserId};
use djinn_core::input::Input;
use djinn_core::journal::{Journal, Record};
use djinn_core::status::RunStatus;
use djinn_core::tool::{ToolFailure, ToolResult as CallOutcome};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::mailbox::{Mail, Mailbox};
use djinn_runtime::serve::ResponseStatus;
use djinn_testkit::contract::chain::verify_stored;
use djinn_testkit::ledger::Ledger;
use djinn_testkit::memory::MemoryStore;
use djinn_testkit::sim::{Crowd, CrowdResponse, Sim};

use super::asking::{Decided, Unasked, answers};
use crate::market::{ONCE, expected, seen};

/// What comes of a run that nobody disturbs.
pub(super) struct Undisturbed {
    /// Its calls that must not be repeated.
    pub(super) once: Vec<&'static str>,
    /// What is seen, in order of its lines.
    pub(super) seen: Vec<String>,
    /// The status in which it ends.
    pub(super) status: RunStatus,
}

impl Undisturbed {
    /// The plan of which nobody is asked anything.
    pub(super) fn market() -> Self {
        Self { once: ONCE.to_vec(), seen: expected(&[]), status: RunStatus::Finished }
    }

    /// What is seen where nobody knows of these calls.
    fn seen(&self, uncertain: &[&str]) -> Vec<String> {
        let seen = self.seen.iter().map(|line| {
            let of = uncertain.iter().find(|call| line.starts_with(&format!("{call}.result")));
            of.map_or(as_skipped(line), |call| format!("{call}.result fails: uncertain"))
        });
        let mut seen: Vec<String> = seen.collect();
        seen.sort();
        seen
    }
}

/// The line of a call that is skipped by its user or at the timeout, whichever comes first in this weather.
fn as_skipped(line: &str) -> String {
    line.replace("fails: unanswered", "fails: skipped")
}

/// What people did in one seed's run.
pub(super) struct People {
    pub(super) crowd: Crowd,
    /// What was done that they had not consented to.
    pub(super) unasked: Unasked,
}

/// What became of one seed.
pub(super) struct Outcome {
    ended: Result<(), String>,
    undisturbed: Undisturbed,
    people: Option<People>,
    run: RunKey,
    entries: Vec<Entry>,
    journals: BTreeMap<RunKey, Vec<Record>>,
    mail: Vec<(RunKey, Mail)>,
    ledger: Ledger,
    clients: Vec<Vec<String>>,
    pub(super) log: Vec<String>,
}

impl Outcome {
    pub(super) async fn of(
        sim: &Sim,
        run: &RunKey,
        ended: Result<(), String>,
        ledger: &Ledger,
        undisturbed: Undisturbed,
    ) -> Self {
        let store = MemoryStore::clone(&sim.ports.store);
        let log = sim.points.log();
        let keys: BTreeSet<RunKey> = store.log().into_iter().filter_map(|op| op.run).collect();
        store.without_faults();
        let (mut journals, mut mail) = (BTreeMap::new(), Vec::new());
        for key in keys {
            let left = store.list_mail(&key).await.unwrap();
            mail.extend(left.into_iter().map(|mail| (key.clone(), mail)));
            let records = store.read_from(&key, 0).await.unwrap();
            if !records.is_empty() {
                let verified = verify_stored(&store, &key, 100).await;
                assert_eq!(verified.unwrap().records, records.len() as u64, "{key}");
                journals.insert(key, records);
            }
        }
        let frames = |frames: &djinn_testkit::sim::FrameLog| {
            frames.lock().unwrap().iter().map(|(_, frame)| frame.clone()).collect()
        };
        let clients = sim.clients.iter().map(frames).collect();
        let (run, ledger) = (run.clone(), ledger.clone());
        let entries = sim.read_history(&run).await.unwrap();
        let people = None;
        Self { ended, undisturbed, people, run, entries, journals, mail, ledger, clients, log }
    }

    pub(super) fn with_people(self, people: Option<People>) -> Self {
        Self { people, ..self }
    }

    pub(super) fn check(&self) {
        // 11, 12: it goes on and comes to its end; no alarm is left, and nothing is alive.
        assert_eq!(self.ended, Ok(()));
        self.journals_are_sound();
        self.history_is_whole();
        self.nothing_is_owed();
        self.once_is_once();
        self.the_client_saw_it_all();
        self.no_mail_is_unheard();
        if let Some(people) = &self.people {
            assert_eq!(*people.unasked.lock().unwrap(), [""; 0]);
            // 12: one that waits for people alone costs nothing.
            assert!(
                people.crowd.quiet_operations().is_none_or(|operations| operations == 0),
                "it is not quiet"
            );
            people.crowd.given_responses().iter().for_each(|told| self.one_answer_wins(told));
        }
    }

    /// What somebody is told of an answer is what the history says became of it.
    fn one_answer_wins(&self, told: &CrowdResponse) {
        let is_about = |answered: &&ResponseRecord| {
            answered.request == told.request || answered.request.group() == told.request
        };
        let won: Vec<&ResponseRecord> = answers(&self.entries).filter(is_about).collect();
        let is_its = |answered: &&&ResponseRecord| answered.id == told.id;
        match &told.outcome {
            Ok(ResponseStatus::Accepted) => {
                let its = won.iter().find(is_its).unwrap_or_else(|| panic!("{told:?}: {won:?}"));
                assert_eq!(its.answer, told.answer);
                assert_eq!(its.by.as_ref().unwrap().as_str(), told.by);
            }
            // It may be heard of later, or come too late then.
            Ok(ResponseStatus::Pending) => {}
            Err(failure) if failure.code == ErrorCode::RequestResolved => {
                let named = |answered: &ResponseRecord| {
                    let by = answered.by.as_ref().map(UserId::as_str).unwrap_or("no one in time");
                    format!("{} ({by})", answered.answer.as_str())
                };
                let ended = self.entries.last().and_then(|entry| entry.event.run_result());
                let has_ended = ended.is_some_and(|end| end.status.as_str() == failure.detail);
                let is_named = won.iter().any(|won| named(won) == failure.detail);
                assert!(has_ended || is_named, "{told:?}: {won:?}");
            }
            Err(failure) => {
                let codes = [
                    ErrorCode::RequestNotFound,
                    ErrorCode::RequestStale,
                    ErrorCode::StoreUnavailable,
                ];
                assert!(codes.contains(&failure.code), "{told:?}");
            }
        }
    }

    /// Whether the history can be compared: what a model is told besides makes it another.
    fn was_told(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry.event, Event::UserMessageAdded { .. }))
    }

    /// 10: what is left in a mailbox says nothing new, and only stays where something went wrong
    /// between its putting and its deletion. The mailbox of a task may hold a stop: a task that a stop
    /// came before is stopped should it ever be invoked, and one that ended in the same second does
    /// not look again.
    fn no_mail_is_unheard(&self) {
        for (key, mail) in &self.mail {
            if !key.is_root() && matches!(mail, Mail::Stop { .. }) {
                continue;
            }
            let records = self.journals.get(key).unwrap_or_else(|| panic!("{mail:?} to nobody"));
            let journal = Journal::fold(records).unwrap();
            let (input, write) = (mail.clone().into_input(None), records[0].write.clone());
            let decided = journal.decide_record(vec![input], journal.epoch(), write, 0);
            assert!(decided.is_none(), "{key} has not heard {mail:?}");
            // One that was driven with its caller was heard at once, and a caller that ends before it
            // looks into its mailbox leaves it to expire.
            if !key.is_root() && matches!(mail, Mail::ChildEnded { .. }) {
                continue;
            }
            // Nobody waits for the deletion when a task ends.
            let slow = " DeleteMail: Late";
            let troubles = [": NotDone", ": ReplyLost", ": it Dies", ": it Freezes", slow];
            let failed =
                self.log.iter().any(|line| troubles.iter().any(|what| line.contains(what)));
            assert!(failed, "{key} has kept {mail:?}");
        }
    }

    fn inputs(&self, key: &RunKey) -> impl Iterator<Item = &Input> {
        self.journals.get(key).into_iter().flatten().flat_map(|record| &record.inputs)
    }

    fn is_stopped(&self) -> bool {
        self.inputs(&self.run).any(|input| match input {
            Input::StopRequested { .. } => true,
            // Its task heard of it first.
            Input::ChildEnded(ended) => ended.status == RunStatus::Stopped,
            _ => false,
        }) || answers(&self.entries).any(|answered| answered.answer == HumanResponse::Stop)
    }

    /// 2, 3, 5: records follow one another, and deciding again gives the same; a driver that was
    /// taken over from writes no more.
    fn journals_are_sound(&self) {
        for (key, records) in &self.journals {
            let mut journal = Journal::fold(&records[..1]).unwrap();
            for record in &records[1..] {
                assert!(record.epoch >= journal.epoch(), "{key}: an old driver wrote {record:?}");
                for input in &record.inputs {
                    if let Input::Resumed { epoch, .. } = input {
                        let epochs = (*epoch, record.epoch);
                        assert!(*epoch > journal.epoch() && epochs.0 == epochs.1, "{record:?}");
                    }
                }
                let Record { inputs, epoch, write, at_ms, hash, .. } = record.clone();
                let decided = journal.decide_record(inputs, epoch, write, at_ms);
                let (mut next, again) = decided.unwrap_or_else(|| panic!("{key}: {record:?}"));
                assert_eq!(Record { hash: hash.clone(), ..again }, *record, "{key}");
                next.set_head(hash.unwrap());
                journal = next;
            }
            let writes: BTreeSet<_> = records.iter().map(|record| &record.write).collect();
            assert_eq!(writes.len(), records.len(), "{key}: a write was recorded twice");
        }
    }

    /// Effects that took down three drivers were given up, which is as it should be, but changes what
    /// happens.
    fn gave_up(&self) -> bool {
        let entries = self.entries.iter();
        let gave_up = |entry: &Entry| match &entry.event {
            Event::CallCompleted {
                result: CallOutcome::Failed { reason: ToolFailure::Crashed, .. },
                ..
            } => true,
            Event::ChildEnded { failure: Some(failure), .. } => failure.code == ErrorCode::Crashed,
            Event::RunEnded(ending) => {
                ending.failure.as_ref().is_some_and(|failure| failure.code == ErrorCode::Crashed)
            }
            _ => false,
        };
        let gave_up = entries.clone().any(gave_up);
        let crashes = |key: &RunKey| {
            self.inputs(key).filter(|input| matches!(input, Input::Resumed { .. })).count()
        };
        let most = self.journals.keys().map(crashes).max().unwrap_or_default();
        assert!(!gave_up || most >= 3, "given up after {most} crashes");
        gave_up
    }

    /// 13, 16: the history is that of a run nobody disturbed, entry by entry.
    fn history_is_whole(&self) {
        let ids: BTreeSet<_> = self.entries.iter().map(|entry| &entry.id).collect();
        assert_eq!(ids.len(), self.entries.len(), "an entry comes twice");
        let is_end = |entry: &&Entry| matches!(entry.event, Event::RunEnded(_));
        assert_eq!(self.entries.iter().filter(is_end).count(), 1);
        let last = self.entries.last().unwrap();
        let Event::RunEnded(ending) = &last.event else { panic!("{last:?} is the last") };
        if self.gave_up() {
            return;
        }
        if self.is_stopped() {
            assert_eq!(ending.status, RunStatus::Stopped);
            return self.what_was_done_is_kept();
        }
        if !self.was_told() {
            assert_eq!(ending.status, self.undisturbed.status, "{ending:?}");
            let uncertain = self.uncertain();
            // Whoever knows nothing of a call does not know of its interrupts.
            let is_again = |line: &str| {
                uncertain.iter().any(|call| line.starts_with(&format!("{call}.again")))
            };
            let certain = |lines: Vec<String>| {
                lines.into_iter().filter(|line| !is_again(line)).collect::<Vec<_>>()
            };
            let expected = certain(self.undisturbed.seen(&uncertain));
            assert_eq!(certain(self.seen()), expected);
        }
    }

    fn seen(&self) -> Vec<String> {
        seen(&self.entries).iter().map(|line| as_skipped(line)).collect()
    }

    /// A stopped run's history is the beginning of the other, and how what was open ended.
    fn what_was_done_is_kept(&self) {
        let whole = self.undisturbed.seen(&self.uncertain());
        for line in self.seen() {
            let ended = [
                "(cut)",
                "fails: stopped",
                "task stopped: ",
                "is Blocked",
                "fails: uncertain",
                " hears stop",
                // Whoever says so after another person has is told to the run.
                "is told: continue",
            ];
            let is_ended = ended.iter().any(|end| line.contains(end));
            assert!(whole.contains(&line) || is_ended, "{line}");
        }
    }

    /// What came of a call that must not be repeated, if anything was said of it.
    fn outcome_of(&self, call: &str) -> Option<&CallOutcome> {
        let id = format!("{call}.result");
        self.entries.iter().find(|entry| entry.id.to_string() == id).and_then(|entry| match &entry
            .event
        {
            Event::CallCompleted { result: outcome, .. } => Some(outcome),
            _ => None,
        })
    }

    /// The calls that nobody knows of; 8: each was begun by a driver that died.
    fn uncertain(&self) -> Vec<&'static str> {
        let is_uncertain = |call: &&&str| {
            let outcome = self.outcome_of(call);
            matches!(outcome, Some(CallOutcome::Failed { reason: ToolFailure::Uncertain, .. }))
        };
        self.undisturbed.once.iter().filter(is_uncertain).copied().collect()
    }

    /// 8: what must not be repeated was not, and nothing is said to be done or left that was not.
    fn once_is_once(&self) {
        for call in &self.undisturbed.once {
            let (line, with) = (format!("send {call}"), format!("send {call} {{"));
            let lines = self.ledger.lines();
            let times = lines.iter().filter(|it| **it == line || it.starts_with(&with)).count();
            assert!(times <= 1, "{call} was sent {times} times");
            match self.outcome_of(call) {
                Some(CallOutcome::Done(_)) => assert_eq!(times, 1, "{call} is said to be done"),
                Some(CallOutcome::Failed {
                    reason: ToolFailure::Skipped | ToolFailure::Unanswered | ToolFailure::Answered,
                    ..
                }) => assert_eq!(times, 0, "{call} is said to be left"),
                Some(CallOutcome::Failed { .. } | CallOutcome::PlanRefused { .. }) | None => {}
            }
        }
    }

    /// 5, 10: the end of every run below was heard by the one above it, once; what is owed still has
    /// happened.
    fn nothing_is_owed(&self) {
        let mut heard = BTreeSet::new();
        for key in self.journals.keys() {
            for input in self.inputs(key) {
                if let Input::ChildEnded(ended) = input {
                    let child = key.with_child(ended.report.child.clone());
                    assert!(heard.insert(child.clone()), "{child} ended twice");
                }
            }
        }
        let stopped = self.is_stopped() || self.gave_up();
        for (key, records) in &self.journals {
            let journal = Journal::fold(records).unwrap();
            let run = journal.run();
            let is_heard = heard.contains(key);
            // A process that died right after a delivery recorded it nowhere; nobody comes for that.
            let has_happened = |effect: &Effect| match effect {
                Effect::Deliver(Delivery::AlarmRemoval) => key.is_root(),
                Effect::Deliver(Delivery::ChildResult) => is_heard || stopped,
                _ => stopped && !key.is_root(),
            };
            let due = run.due();
            let owed: Vec<_> = due.iter().filter(|effect| !has_happened(effect)).collect();
            assert!(owed.is_empty(), "{key} owes {owed:?}");
        }
    }

    /// 15: over all its connections the client was sent every entry of the history, and no cursor
    /// went back within one.
    fn the_client_saw_it_all(&self) {
        let mut had = BTreeSet::new();
        for frames in &self.clients {
            let mut newest = 0;
            for frame in frames {
                if let Some(id) = frame.strip_prefix("id: ") {
                    let record = id.lines().next().unwrap().rsplit(':').next().unwrap();
                    let record: u64 = record.parse().unwrap();
                    assert!(record >= newest, "{frame} after {newest}");
                    newest = record;
                }
                let is_entry = !frame.contains("event: preview\n");
                let id =
                    frame.split_once("data:{\"id\":\"").or(frame.split_once("data: {\"id\":\""));
                if let (true, Some((_, id))) = (is_entry, id) {
                    had.insert(id.split('"').next().unwrap().to_owned());
                }
            }
        }
        let mut history: BTreeSet<_> =
            self.entries.iter().map(|entry| entry.id.to_string()).collect();
        // What a task did until its run gave it up is told by its records' times, so that one written
        // at that moment may come too late for a viewer.
        for task in self.given_up() {
            let of_task =
                |id: &String| id.starts_with(&format!("{task}.")) && *id != format!("{task}.end");
            had.retain(|id| !of_task(id));
            history.retain(|id| !of_task(id));
        }
        assert_eq!(had, history);
    }

    /// The runs below that were at work when the one above them was stopped.
    fn given_up(&self) -> Vec<Path> {
        let heard = |way: &Path| {
            let key = RunKey { path: way.clone(), ..self.run.clone() };
            let is_it = |input: &Input| matches!(input, Input::ChildEnded(e) if Some(&e.report.child) == way.last());
            key.parent().is_some_and(|above| self.inputs(&above).any(is_it))
        };
        let is_end = |entry: &&Entry| matches!(entry.event, Event::ChildEnded { .. });
        let ended = self.entries.iter().filter(is_end).map(|entry| entry.id.path().clone());
        ended.filter(|way| !heard(way)).collect()
    }

    fn decided(&self) -> Decided {
        let Some(People { crowd, .. }) = &self.people else { return Decided::default() };
        let told = crowd.given_responses();
        let is_late = |told: &&CrowdResponse| matches!(&told.outcome, Err(failure) if failure.code == ErrorCode::RequestResolved);
        let late = told.iter().filter(is_late).count();
        let quiet = usize::from(crowd.quiet_operations().is_some());
        Decided { late, quiet, ..Decided::of(&self.entries) }
    }

    /// What this seed tried.
    pub(super) fn tally(&self) -> Tally {
        let count = |what: &str| self.log.iter().filter(|line| line.contains(what)).count();
        let resumed = |key| self.inputs(key).filter(|i| matches!(i, Input::Resumed { .. })).count();
        Tally {
            seeds: 1,
            deaths: count(": it Dies"),
            freezes: count(": it Freezes"),
            refused: count(": NotDone"),
            replies_lost: count(": ReplyLost"),
            visits: self.clients.len(),
            takeovers: self.journals.keys().map(resumed).sum(),
            uncertain: self.uncertain().len(),
            stopped: usize::from(self.is_stopped()),
            given_up: usize::from(self.gave_up()),
            decided: self.decided(),
        }
    }
}

/// What many seeds tried.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    seeds: usize,
    deaths: usize,
    freezes: usize,
    refused: usize,
    replies_lost: usize,
    visits: usize,
    takeovers: usize,
    uncertain: usize,
    stopped: usize,
    given_up: usize,
    decided: Decided,
}

impl Tally {
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            seeds: self.seeds + other.seeds,
            deaths: self.deaths + other.deaths,
            freezes: self.freezes + other.freezes,
            refused: self.refused + other.refused,
            replies_lost: self.replies_lost + other.replies_lost,
            visits: self.visits + other.visits,
            takeovers: self.takeovers + other.takeovers,
            uncertain: self.uncertain + other.uncertain,
            stopped: self.stopped + other.stopped,
            given_up: self.given_up + other.given_up,
            decided: self.decided.and(other.decided),
        }
    }

    /// Weather that is never bad tells nothing, and neither does one in which nothing is finished.
    pub(super) fn is_telling(&self) {
        println!("{self:?}");
        let each = [self.deaths, self.freezes, self.refused, self.replies_lost, self.takeovers];
        assert!(each.iter().all(|count| *count > self.seeds / 5), "{self:?}");
        assert!(self.uncertain > 0 && self.stopped > 0, "{self:?}");
        self.decided.is_telling();
        assert!(self.stopped < self.seeds / 2 && self.given_up < self.seeds / 10, "{self:?}");
    }
}
