//! The progress of a call for viewers: batched, a few times a second, and without denied or personal data.

use std::convert::Infallible;
use std::time::Duration;

use djinn_core::id::Path;
use djinn_protocol::call_progress::CallProgress;
use djinn_protocol::preview::Live;
use djinn_text::deny::{DenyFilter, DenyList};
use tokio::sync::mpsc;

use crate::port::clock::Clock;
use crate::port::tool::ToolContext;
use crate::port::tool_progress::{ReportReader, Reports};
use crate::texts::HasTexts as _;

/// The time between two batches of progress. With the final batch, at most four batches a second.
const PROGRESS_EVERY: Duration = Duration::from_millis(334);

/// Shows the progress of one call.
pub(super) struct ProgressFeed<'a, C> {
    clock: &'a C,
    context: &'a ToolContext,
    reader: &'a ReportReader,
    sender: &'a mpsc::UnboundedSender<Live>,
    /// Holds back text that may begin a denied phrase.
    gate: DenyFilter,
    began_at_ms: i64,
    shown_bytes: u64,
}

impl<'a, C: Clock> ProgressFeed<'a, C> {
    /// Creates the feed. Progress is hidden from the first phrase of `deny` on.
    pub(super) fn new(
        clock: &'a C,
        context: &'a ToolContext,
        reader: &'a ReportReader,
        sender: &'a mpsc::UnboundedSender<Live>,
        deny: &DenyList,
    ) -> Self {
        let gate = DenyFilter::new(deny.clone());
        let began_at_ms = clock.now_ms();
        Self { clock, context, reader, sender, gate, began_at_ms, shown_bytes: 0 }
    }

    /// Returns the result of the call, after showing all of its progress.
    pub(super) async fn show_while<T>(mut self, call: impl Future<Output = T>) -> T {
        let done = tokio::select! {
            biased;
            done = call => done,
            never = self.show_reports() => match never {},
        };
        let reports = self.reader.take_reports();
        self.show_lines(reports, true).await;
        done
    }

    async fn show_reports(&mut self) -> Infallible {
        loop {
            self.reader.wait_for_report().await;
            let reports = self.reader.take_reports();
            self.show_lines(reports, false).await;
            self.clock.sleep(PROGRESS_EVERY).await;
        }
    }

    /// Masks whole lines, so that no personal data is split.
    async fn show_lines(&mut self, reports: Reports, is_last: bool) {
        let mut piece = CallProgress {
            path: Path::default(),
            call: self.context.call.clone(),
            began_at_ms: self.began_at_ms,
            offset: self.shown_bytes,
            text: reports.text,
            is_cut: reports.is_cut,
            at_ms: self.clock.now_ms(),
        };
        for text in piece.texts() {
            let readable = self.context.mask_text(text.to_readable()).await;
            text.replace_with(readable);
        }
        piece.text = self.gate.push(&piece.text);
        if is_last {
            piece.text.push_str(&self.gate.finish());
        }
        if !piece.text.is_empty() || piece.is_cut {
            self.shown_bytes += piece.text.len() as u64;
            // The driver may be gone; the result still counts.
            let _ = self.sender.send(Live::Progress(piece));
        }
    }
}

#[cfg(test)]
mod tests {
    use djinn_core::id::Path;
    use djinn_core::id::{CallId, RunId, SessionId, TenantId, UserId};
    use djinn_core::language::Language;

    use super::*;
    use crate::port::SessionKey;
    use crate::port::tool_progress::ToolProgress;

    /// The clock of a runtime whose time is paused.
    struct TestClock(std::sync::atomic::AtomicI64);

    impl Clock for TestClock {
        fn now_ms(&self) -> i64 {
            self.0.load(std::sync::atomic::Ordering::Relaxed)
        }

        async fn sleep(&self, duration: Duration) {
            let until_ms = self.now_ms() + i64::try_from(duration.as_millis()).unwrap();
            while self.now_ms() < until_ms {
                tokio::task::yield_now().await;
            }
        }

        fn jitter(&self) -> f64 {
            0.5
        }
    }

    fn context(progress: ToolProgress) -> ToolContext {
        ToolContext {
            run: RunId::new(format!("run_{}", "0".repeat(32))).unwrap(),
            path: Path::default(),
            session: SessionKey {
                tenant: TenantId::new("t").unwrap(),
                owner: UserId::new("u").unwrap(),
                session: SessionId::new("s").unwrap(),
            },
            user: UserId::new("u").unwrap(),
            files: Vec::new(),
            call: CallId::new("t1.c1").unwrap(),
            attempt: 1,
            interrupts: 0,
            language: Language::En,
            time_zone: Default::default(),
            max_observe: 100,
            max_input_tokens: 0,
            state: None,
            mask_pii: true,
            progress,
        }
    }

    /// Runs a tool that makes these reports at their times and ends. Returns the pieces shown to viewers: time,
    /// offset and text.
    async fn shown(deny: &[&str], reports: &[(i64, &str)]) -> Vec<(i64, u64, String)> {
        let (progress, reader) = ToolProgress::with_reader();
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let context = context(progress);
        let clock = TestClock(0.into());
        let deny = DenyList::new(deny).unwrap();
        let feed = ProgressFeed::new(&clock, &context, &reader, &sender, &deny);
        let tool = async {
            for (at_ms, text) in reports {
                while clock.now_ms() < *at_ms {
                    clock.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
                context.progress.report(text);
            }
        };
        feed.show_while(tool).await;
        let mut pieces = Vec::new();
        while let Ok(Live::Progress(piece)) = receiver.try_recv() {
            pieces.push((piece.at_ms, piece.offset, piece.text));
        }
        pieces
    }

    fn of(pieces: &[(i64, u64, &str)]) -> Vec<(i64, u64, String)> {
        pieces.iter().map(|(at_ms, offset, text)| (*at_ms, *offset, (*text).to_owned())).collect()
    }

    #[tokio::test]
    async fn the_first_report_is_shown_at_once_later_ones_together_and_the_last_at_the_end() {
        let reports =
            [(0, "a"), (1, "b"), (333, "c"), (334, "d"), (600, "e"), (700, "f"), (701, "g")];
        let pieces = [(1, 0, "a\n"), (335, 2, "b\nc\nd\n"), (669, 8, "e\n"), (701, 10, "f\ng\n")];
        assert_eq!(shown(&[], &reports).await, of(&pieces));
        assert_eq!(shown(&[], &[]).await, []);
        assert_eq!(shown(&[], &[(5_000, "late")]).await, of(&[(5_000, 0, "late\n")]));
    }

    #[tokio::test]
    async fn no_second_has_more_than_four_pieces() {
        let reports: Vec<(i64, &str)> = (0..5_000).map(|at_ms| (at_ms, ".")).collect();
        for until in [1, 700, 990, 1_001, 5_000] {
            let pieces = shown(&[], &reports[..until]).await;
            let text: String = pieces.iter().map(|(_, _, text)| text.as_str()).collect();
            assert_eq!(text, ".\n".repeat(until));
            for first in &pieces {
                let second = first.0..first.0 + 1_000;
                let count = pieces.iter().filter(|piece| second.contains(&piece.0)).count();
                assert!(count <= 4, "{count} from {} on of {until}", first.0);
            }
        }
    }

    #[tokio::test]
    async fn a_piece_is_masked_and_says_nothing_from_a_denied_phrase_on() {
        let masked =
            shown(&[], &[(0, "to anna@exam"), (0, "ple.com"), (0, "to anna@example.com\u{7}")]);
        let text: String = masked.await.into_iter().map(|(_, _, text)| text).collect();
        assert_eq!(text, "to anna@exam\nple.com\nto ****@*******.***\n");
        let reports =
            [(0, "the grey"), (400, "owl"), (800, "the grey"), (1_200, "heron"), (1_600, "x")];
        let shown = shown(&["grey heron"], &reports).await;
        let text: String = shown.into_iter().map(|(_, _, text)| text).collect();
        assert_eq!(text, "the grey\nowl\nthe ");
    }
}
