//! The terminal output of an evaluation: a line per question, and the totals.

use std::time::Duration;

use super::judgement::{Judgement, Tally, share_right};
use crate::time::format_duration;

/// A question with the judgement.
pub(super) struct JudgedRun {
    /// The position of the question in the suite, from 1.
    pub(super) number: usize,
    pub(super) name: String,
    pub(super) judgement: Judgement,
    pub(super) took: Duration,
    pub(super) tokens: u64,
    /// The reason the run failed or could not be followed to the end.
    pub(super) problem: Option<String>,
    /// True if the run has ended, even with a failure.
    pub(super) has_ended: bool,
}

/// The totals of a suite.
#[derive(Default)]
pub(super) struct SuiteScore {
    pub(super) questions: usize,
    facts: Tally,
    citations: Tally,
    faults: usize,
    took: Duration,
    tokens: u64,
    /// The names of the questions with unfinished runs.
    pub(super) unended: Vec<String>,
}

/// The names of the columns.
pub(super) const HEADER: &str =
    " #  question               facts  citations  faults      time  tokens";

/// Maximum length of a displayed problem, in characters.
const PROBLEM: usize = 100;

/// Returns a line for the question, and a line for each missing or wrong item.
pub(super) fn describe_run(run: &JudgedRun) -> Vec<String> {
    let Judgement { facts, citations, faults, missing } = &run.judgement;
    // Chinese characters take two columns.
    let columns: usize = run.name.chars().map(|c| if c < '\u{2e80}' { 1 } else { 2 }).sum();
    let name = format!("{}{}", run.name, " ".repeat(22_usize.saturating_sub(columns)));
    let mut lines = vec![format!(
        "{:2}  {name} {:>5}  {:>9}  {:>6}  {:>8}  {:>6}",
        run.number,
        describe_tally(*facts),
        describe_tally(*citations),
        faults.len(),
        format_duration(run.took),
        run.tokens,
    )];
    if let Some(problem) = &run.problem {
        let what = if run.has_ended { "run failed" } else { "run did not end" };
        let problem: String = problem.chars().take(PROBLEM).collect();
        lines.push(format!("      {what}: {problem}"));
    }
    if !missing.is_empty() {
        lines.push(format!("      missing: {}", missing.join("; ")));
    }
    lines.extend(faults.iter().map(|fault| format!("      wrong: {fault}")));
    lines
}

impl SuiteScore {
    /// Adds a question to the totals.
    pub(super) fn add_run(&mut self, run: &JudgedRun) {
        self.questions += 1;
        self.facts.add(run.judgement.facts);
        self.citations.add(run.judgement.citations);
        self.faults += run.judgement.faults.len();
        self.took += run.took;
        self.tokens += run.tokens;
        if !run.has_ended {
            self.unended.push(run.name.clone());
        }
    }

    /// Returns the share of correct items, between 0 and 1.
    pub(super) fn share(&self) -> f64 {
        share_right(self.facts, self.citations, self.faults)
    }

    /// Returns the totals on one line.
    pub(super) fn describe(&self) -> String {
        format!(
            "{} questions: facts {}, citations {}, faults {}, right {:.0} %, {}, {} tokens",
            self.questions,
            describe_tally(self.facts),
            describe_tally(self.citations),
            self.faults,
            self.share() * 100.0,
            format_duration(self.took),
            self.tokens,
        )
    }
}

fn describe_tally(tally: Tally) -> String {
    match tally.expected {
        0 => "-".to_owned(),
        expected => format!("{}/{expected}", tally.found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged_run(name: &str, has_ended: bool) -> JudgedRun {
        let tally = |found, expected| Tally { found, expected };
        JudgedRun {
            number: 7,
            name: name.to_owned(),
            judgement: Judgement {
                facts: tally(1, 2),
                citations: tally(0, 1),
                faults: vec!["states 5.8".to_owned()],
                missing: vec!["3.1".to_owned(), "a.html".to_owned()],
            },
            took: Duration::from_millis(1_500),
            tokens: 1_234,
            problem: (!has_ended).then(|| "the stream broke off".to_owned()),
            has_ended,
        }
    }

    #[test]
    fn a_question_is_a_line_with_what_is_missing_below() {
        assert_eq!(
            describe_run(&judged_run("field study", false)),
            [
                " 7  field study              1/2        0/1       1     1.5 s    1234",
                "      run did not end: the stream broke off",
                "      missing: 3.1; a.html",
                "      wrong: states 5.8",
            ]
        );
        let chinese = describe_run(&judged_run("榆川补贴", true));
        assert_eq!(
            chinese[0],
            " 7  榆川补贴                 1/2        0/1       1     1.5 s    1234"
        );
        assert_eq!(chinese.len(), 3);
        assert_eq!(HEADER.len(), describe_run(&judged_run("n", true))[0].len());
    }

    #[test]
    fn sums_are_of_all_questions() {
        let mut score = SuiteScore::default();
        score.add_run(&judged_run("a", true));
        score.add_run(&judged_run("b", false));
        assert_eq!(
            score.describe(),
            "2 questions: facts 2/4, citations 0/2, faults 2, right 25 %, 3.0 s, 2468 tokens"
        );
        assert_eq!(score.unended, ["b"]);
    }
}
