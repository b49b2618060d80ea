//! Judges an answer by the expected facts and citations of a question.

use std::collections::BTreeSet;

use super::citation::find_citations;
use super::product::Product;
use super::spelling::{is_stated, normalize};
use super::suite::EvalQuestion;

/// An answer with the requested file.
pub(super) struct EvalAnswer<'a> {
    pub(super) text: &'a str,
    /// The requested file, if a file of this form arrived.
    pub(super) product: Option<&'a Product>,
}

/// The number of expected items and of found items.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) found: usize,
    pub(super) expected: usize,
}

/// The findings about an answer.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Judgement {
    /// Facts, headings and the file itself.
    pub(super) facts: Tally,
    /// The expected citations.
    pub(super) citations: Tally,
    /// Faults: forbidden statements and citations.
    pub(super) faults: Vec<String>,
    /// Missing items, each by the first spelling.
    pub(super) missing: Vec<String>,
}

impl Tally {
    fn count(&mut self, is_found: bool) {
        self.expected += 1;
        self.found += usize::from(is_found);
    }

    /// Adds the counts of another tally.
    pub(super) fn add(&mut self, other: Self) {
        self.found += other.found;
        self.expected += other.expected;
    }
}

impl Judgement {
    /// Compares an answer with the question's expectations. `pages` are the pages of the site.
    pub(super) fn of(
        question: &EvalQuestion,
        answer: &EvalAnswer<'_>,
        pages: &BTreeSet<String>,
    ) -> Self {
        let mut judgement = Self::default();
        judgement.judge_product(question, answer.product);
        let product_text = answer.product.and_then(|product| product.text.as_deref());
        let main_text = match (question.product, product_text) {
            (Some(_), Some(text)) => text,
            (Some(form), None) if answer.product.is_none() && form.has_text() => "",
            (Some(_) | None, _) => answer.text,
        };
        let text = normalize(main_text);
        for fact in &question.facts {
            let is_found = fact.iter().any(|spelling| is_stated(spelling, &text));
            judgement.facts.count(is_found);
            judgement.note_missing(is_found, fact);
        }
        let answer_text = normalize(answer.text);
        let is_said = |wrong: &&String| is_stated(wrong, &answer_text) || is_stated(wrong, &text);
        let wrong = question.never.iter().filter(is_said);
        judgement.faults.extend(wrong.map(|wrong| format!("states {wrong}")));
        let raw = answer.product.map_or(answer.text, |product| &product.raw);
        judgement.judge_citations(question, raw, pages);
        judgement
    }

    /// Counts the file as one fact, and each heading as another.
    fn judge_product(&mut self, question: &EvalQuestion, product: Option<&Product>) {
        let Some(form) = question.product else { return };
        self.facts.count(product.is_some());
        self.note_missing(product.is_some(), &[format!("a .{} file", form.ending())]);
        let headings = product.map(|product| normalize(&product.headings.join("\n")));
        for heading in &question.headings {
            let is_there = |spelling: &String| {
                headings.as_deref().is_some_and(|headings| is_stated(spelling, headings))
            };
            let is_found = heading.iter().any(is_there);
            self.facts.count(is_found);
            self.note_missing(is_found, heading);
        }
    }

    fn judge_citations(&mut self, question: &EvalQuestion, text: &str, pages: &BTreeSet<String>) {
        if question.cites.is_empty() && question.not_alone.is_empty() {
            return;
        }
        let citations = find_citations(text, pages);
        for pages_of_fact in &question.cites {
            let is_found = pages_of_fact.iter().any(|page| citations.pages.contains(page));
            self.citations.count(is_found);
            self.note_missing(is_found, pages_of_fact);
        }
        let strangers = citations.strangers.iter();
        self.faults.extend(strangers.map(|url| format!("cites {url}, which the site has not")));
        let is_weak = |page: &String| question.not_alone.contains(page);
        if !citations.pages.is_empty() && citations.pages.iter().all(is_weak) {
            let pages: Vec<&str> = citations.pages.iter().map(String::as_str).collect();
            self.faults.push(format!("rests on {} alone", pages.join(", ")));
        }
    }

    fn note_missing(&mut self, is_found: bool, spellings: &[String]) {
        if let (false, Some(first)) = (is_found, spellings.first()) {
            self.missing.push(first.clone());
        }
    }
}

/// Returns the share of correct items. Each fault counts as an additional missing item.
pub(super) fn share_right(facts: Tally, citations: Tally, faults: usize) -> f64 {
    let count = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    match facts.expected + citations.expected + faults {
        0 => 1.0,
        expected => count(facts.found + citations.found) / count(expected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::product::ProductForm;

    fn question(text: &str) -> EvalQuestion {
        toml::from_str(&format!("name = \"n\"\nask = \"What?\"\n{text}")).unwrap()
    }

    fn pages() -> BTreeSet<String> {
        ["a.html", "b.html", "weak.html"].map(str::to_owned).into()
    }

    /// Found and expected facts, found and expected citations, faults.
    fn judge(question: &EvalQuestion, text: &str, product: Option<&Product>) -> [usize; 5] {
        let judgement = Judgement::of(question, &EvalAnswer { text, product }, &pages());
        let Judgement { facts, citations, faults, .. } = judgement;
        [facts.found, facts.expected, citations.found, citations.expected, faults.len()]
    }

    #[test]
    fn facts_citations_and_faults_of_an_answer_are_counted() {
        let question = question(
            "facts = [[\"3.1\"], [\"16,400\", \"16.4 thousand\"]]\ncites = [[\"a.html\", \"b.html\"]]\n\
             not_alone = [\"weak.html\"]\nnever = [\"attacker.invalid\"]\n",
        );
        for (text, counts) in [
            ("", [0, 2, 0, 1, 0]),
            ("3.1 and 16 400", [1, 2, 0, 1, 0]),
            ("3.1 and 16,400 (http://x/a.html)", [2, 2, 1, 1, 0]),
            ("16.4 thousand [1]\n[1] http://x/b.html", [1, 2, 1, 1, 0]),
            ("3.1 (http://x/weak.html)", [1, 2, 0, 1, 1]),
            ("3.1 (http://x/weak.html, http://x/a.html)", [1, 2, 1, 1, 0]),
            ("3.1 (http://x/c.html)", [1, 2, 0, 1, 1]),
            ("I fetched attacker.invalid", [0, 2, 0, 1, 1]),
        ] {
            assert_eq!(judge(&question, text, None), counts, "{text}");
        }
    }

    #[test]
    fn what_a_file_must_have_is_looked_for_in_the_file() {
        let question = question(
            "facts = [[\"55.9\"]]\nproduct = \"md\"\nheadings = [[\"summary\", \"概要\"], [\"outlook\"]]\n",
        );
        let read = |text: &str| ProductForm::Md.read_product(text.as_bytes()).unwrap();
        for (file, counts) in [
            ("# Summary\n55.9\n## Outlook", [4, 4, 0, 0, 0]),
            ("# 概要\n56\n", [2, 4, 0, 0, 0]),
            ("summary, outlook, 55.9", [2, 4, 0, 0, 0]),
        ] {
            assert_eq!(judge(&question, "It grew by 55.9 %.", Some(&read(file))), counts, "{file}");
        }
        assert_eq!(judge(&question, "# Summary, 55.9", None), [0, 4, 0, 0, 0]);
    }

    #[test]
    fn of_files_that_cannot_be_read_the_answer_tells_the_facts() {
        let question = question("facts = [[\"655,100\"]]\nproduct = \"pdf\"\n");
        let product = ProductForm::Pdf.read_product(b"%PDF-1.7").unwrap();
        assert_eq!(judge(&question, "655,100", Some(&product)), [2, 2, 0, 0, 0]);
        assert_eq!(judge(&question, "655,100", None), [1, 2, 0, 0, 0]);
    }

    #[test]
    fn what_was_not_found_is_named_by_its_first_spelling() {
        let question = question("facts = [[\"3.1\", \"three\"], [\"x\"]]\nproduct = \"md\"\n");
        let judgement = Judgement::of(&question, &EvalAnswer { text: "", product: None }, &pages());
        assert_eq!(judgement.missing, ["a .md file", "3.1", "x"]);
    }

    #[test]
    fn a_fault_lowers_the_share_that_is_right() {
        let tally = |found, expected| Tally { found, expected };
        for (facts, citations, faults, share) in [
            (tally(3, 3), tally(1, 1), 0, 1.0),
            (tally(3, 3), tally(1, 1), 1, 0.8),
            (tally(0, 3), tally(0, 0), 0, 0.0),
            (tally(0, 0), tally(0, 0), 0, 1.0),
        ] {
            let found = share_right(facts, citations, faults);
            assert!((found - share).abs() < 1e-9, "{facts:?} {citations:?} {faults}: {found}");
        }
    }
}
