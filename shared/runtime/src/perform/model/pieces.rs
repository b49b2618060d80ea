//! The pieces of one reply: what viewers are shown while it comes.

use djinn_core::deny::{DenyList, Gate};
use djinn_core::effect::ModelCall;
use djinn_core::id::MessageId;
use djinn_core::input::Reply;
use djinn_core::preview::{Preview, TextKind};
use djinn_core::run::Deliverables;
use djinn_core::settings::Role;
use djinn_core::urls::{Expander, Urls};

use super::expanded::end_of;
use crate::port::model::Delta;

/// Makes previews of pieces, with the offsets that they have in the text of the journal.
pub(super) struct Pieces {
    message: MessageId,
    attempt: u32,
    /// Whether nobody is to see it: what sums up older turns is for the model alone, and of the
    /// roles of tools only what is read from them is shown.
    hidden: bool,
    text: Shown,
    reasoning: Shown,
    deliverables: Option<HiddenTail>,
}

/// A text as far as it is shown.
struct Shown {
    expander: Expander,
    gate: Gate,
    bytes: u64,
}

impl Pieces {
    /// What holds a phrase of `deny` is not shown from that phrase on, nor is the list of files that a
    /// summary ends in.
    pub(super) fn new(
        call: &ModelCall,
        urls: &Urls,
        deny: &DenyList,
        deliverables: &Deliverables,
    ) -> Self {
        let nothing = || {
            let gate = Gate::new(deny.clone());
            Shown { expander: Expander::new(urls.clone()), gate, bytes: 0 }
        };
        Self {
            message: call.message.clone(),
            attempt: call.attempt,
            hidden: matches!(call.role, Role::Compactor | Role::Employees),
            text: nothing(),
            reasoning: nothing(),
            deliverables: (call.role == Role::Summary)
                .then(|| HiddenTail::of(deliverables.clone())),
        }
    }

    pub(super) fn take(&mut self, delta: Delta<'_>, at_ms: i64) -> Option<Preview> {
        let text = self.shown(delta.kind).expander.push(delta.text);
        let text = self.for_reading(delta.kind, text);
        let text = self.shown(delta.kind).gate.push(&text);
        self.preview(delta.kind, text, at_ms)
    }

    /// What was held back, now that the reply is whole.
    pub(super) fn finish(&mut self, reply: &Reply, at_ms: i64) -> Vec<Preview> {
        let kinds = [TextKind::Reasoning, TextKind::Text].into_iter();
        let rest = kinds.filter_map(|kind| {
            let text = self.shown(kind).expander.finish(end_of(reply, kind));
            let mut text = self.for_reading(kind, text);
            if let (TextKind::Text, Some(tail)) = (kind, &mut self.deliverables) {
                text.push_str(&tail.finish());
            }
            let gate = &mut self.shown(kind).gate;
            let text = gate.push(&text) + &gate.finish();
            self.preview(kind, text, at_ms)
        });
        rest.collect()
    }

    pub(super) fn sent_any(&self) -> bool {
        self.text.bytes + self.reasoning.bytes > 0
    }

    fn shown(&mut self, kind: TextKind) -> &mut Shown {
        match kind {
            TextKind::Text => &mut self.text,
            TextKind::Reasoning => &mut self.reasoning,
        }
    }

    fn for_reading(&mut self, kind: TextKind, text: String) -> String {
        match (kind, &mut self.deliverables) {
            (TextKind::Text, Some(tail)) => tail.take(&text),
            (TextKind::Text, None) | (TextKind::Reasoning, _) => text,
        }
    }

    fn preview(&mut self, kind: TextKind, text: String, at_ms: i64) -> Option<Preview> {
        if text.is_empty() || self.hidden {
            return None;
        }
        let shown = self.shown(kind);
        let offset = shown.bytes;
        shown.bytes += text.len() as u64;
        let (message, attempt) = (self.message.clone(), self.attempt);
        Some(Preview { within: None, message, attempt, kind, offset, text, at_ms })
    }
}

/// Holds back what may be the end of a summary, which names files and is not for reading.
struct HiddenTail {
    deliverables: Deliverables,
    held: String,
}

impl HiddenTail {
    fn of(deliverables: Deliverables) -> Self {
        Self { deliverables, held: String::new() }
    }

    fn take(&mut self, text: &str) -> String {
        self.held.push_str(text);
        let rest = self.held.split_off(self.deliverables.readable(&self.held));
        std::mem::replace(&mut self.held, rest)
    }

    /// The rest of the text, now that it is known where it ends.
    fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        self.deliverables.split(&held).0.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use djinn_core::effect::ToolChoice;
    use djinn_core::input::Finish;
    use djinn_core::urls::End;
    use proptest::prelude::*;

    use super::super::expanded::expanded;
    use super::*;

    #[test]
    fn the_file_names_behind_a_summary_are_never_shown_however_it_is_cut() {
        for (reply, text) in [
            ("North grew $5 most.$$$growth.md", "North grew $5 most."),
            ("It costs $$", "It costs $$"),
            ("Nobu ($$$) is best.", "Nobu ($$$) is best."),
            ("Nobu ($$$) is best.$$$a.md、b.md", "Nobu ($$$) is best."),
            ("From $$$ to $$$$: much.$$$", "From $$$ to $$$$: much."),
        ] {
            for cut in 0..=reply.len() {
                if !reply.is_char_boundary(cut) {
                    continue;
                }
                let mut tail = HiddenTail::of(Deliverables::default());
                let shown = [&reply[..cut], &reply[cut..]].map(|piece| tail.take(piece)).concat();
                assert_eq!(shown + &tail.finish(), text, "cut at {cut}");
            }
        }
    }

    fn shown(role: Role, urls: &Urls, reply: &Reply, at: usize) -> String {
        let message = MessageId::turn(1);
        let tool_choice = ToolChoice::Auto;
        let call = ModelCall {
            message,
            role,
            attempt: 1,
            failed: 0,
            crashes: 0,
            retries: 0,
            fallback: None,
            tool_choice,
            round: 0,
            waits: false,
        };
        let deny = DenyList::new(&["ex x"]).unwrap();
        let mut pieces = Pieces::new(&call, urls, &deny, &Deliverables::default());
        let (first, second) = reply.text.split_at(at);
        let delta = |text| Delta { kind: TextKind::Text, text };
        let mut previews: Vec<Preview> =
            [first, second].into_iter().filter_map(|text| pieces.take(delta(text), 7)).collect();
        previews.extend(pieces.finish(reply, 7));
        let mut shown = String::new();
        for preview in previews {
            assert_eq!(preview.offset, shown.len() as u64);
            shown.push_str(&preview.text);
        }
        shown
    }

    proptest! {
        #[test]
        fn previews_add_up_to_the_text_of_the_journal(
            words in proptest::collection::vec("https://[0-3]|[ .,)x/见]|\\$\\$\\$| e|ex", 0..9),
            cut in any::<prop::sample::Index>(),
            finish in prop_oneof![Just(Finish::Done), Just(Finish::Length)],
        ) {
            let mut urls = Urls::default();
            urls.learn(&format!("https://a.example/{0} https://b.example/{0}", "x".repeat(80)), End::Whole);
            let reply = Reply { text: words.concat(), finish, ..Reply::default() };
            let at = reply.text.floor_char_boundary(cut.index(reply.text.len() + 1));
            let whole = expanded(reply.clone(), &urls).text;
            let is_denied = DenyList::new(&["ex x"]).unwrap().denies(&whole);
            if is_denied {
                let shown = shown(Role::React, &urls, &reply, at);
                prop_assert!(whole.starts_with(&shown) && !shown.contains("ex x"), "{shown}");
                return Ok(());
            }
            prop_assert_eq!(&shown(Role::React, &urls, &reply, at), &whole);
            let (answer, _) = Deliverables::default().split(&whole);
            prop_assert_eq!(shown(Role::Summary, &urls, &reply, at), answer);
            prop_assert_eq!(shown(Role::Compactor, &urls, &reply, at), "");
        }
    }
}
