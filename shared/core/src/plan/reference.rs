//! References between steps: by number, by id, by title, or by words of a title.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::PlanError;
use super::draft::StepText;
use djinn_text::fold::is_written_without_spaces;

/// Maximum characters of an invalid reference in the planner's error message.
const MAX_SHOWN: usize = 100;

/// Minimum characters of words that identify a step.
const MIN_SEARCH_CHARS: usize = 4;

/// Maximum bytes of a title that are searched for words, and the maximum number of searches.
const MAX_TITLE: usize = 200;
const MAX_SEARCHES: usize = 500;

/// Prefixes of step numbers: `step 3`, `s3`.
const BEFORE_NUMBER: [&str; 7] = ["steps", "step", "task", "执行顺序", "步骤", "第", "s"];

/// Fields that name a step in a reference written as an object.
pub(super) const IDS: [&str; 6] = ["id", "step_id", "step", "step_number", "number", "index"];

/// Words for every step before this step.
const ALL_STEPS_WORDS: [&str; 14] = [
    "all",
    "all steps",
    "all of them",
    "all above",
    "all of the above",
    "all previous",
    "all previous steps",
    "previous steps",
    "全部",
    "全部步骤",
    "所有",
    "所有步骤",
    "以上所有",
    "以上全部",
];

/// The names of the steps in a list.
pub(super) struct StepNames {
    step_count: usize,
    /// The number of the step with each id or name; `None` if several steps have the same.
    ids: BTreeMap<String, Option<usize>>,
    names: BTreeMap<String, Option<usize>>,
    titles: Vec<String>,
    /// The steps whose titles contain the searched words: at most three for each search.
    searches: RefCell<BTreeMap<String, Vec<usize>>>,
}

impl StepNames {
    /// Collects the names of these steps, from their own ids, if any, and their texts.
    pub(super) fn of<'a>(steps: impl Iterator<Item = (Option<&'a str>, &'a StepText)>) -> Self {
        let mut ids = BTreeMap::new();
        let mut names = BTreeMap::new();
        let mut titles = Vec::new();
        for (number, (id, step)) in (1..).zip(steps) {
            if let Some(id) = id {
                add_name(&mut ids, id.to_owned(), number);
            }
            let [stage, details] = step.reference_names();
            let title = step.stage.as_deref().unwrap_or(&stage).trim().to_lowercase();
            let text = step.text.trim().to_lowercase();
            titles.push(if title.is_empty() { text.clone() } else { title });
            for name in [text, stage.to_lowercase(), details.to_lowercase()] {
                add_name(&mut names, name, number);
            }
        }
        Self { step_count: titles.len(), ids, names, titles, searches: RefCell::default() }
    }

    pub(super) fn step_count(&self) -> usize {
        self.step_count
    }

    /// Returns the numbers of all steps that a dependency of `step` names.
    pub(super) fn resolve_value(
        &self,
        step: usize,
        value: &Value,
    ) -> Result<BTreeSet<usize>, PlanError> {
        let bad = || {
            let on = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            PlanError::BadDependency { number: step, on: on.chars().take(MAX_SHOWN).collect() }
        };
        let one = |number: Option<usize>| number.map(|number| [number].into()).ok_or_else(bad);
        match value {
            Value::Null => Ok(BTreeSet::new()),
            Value::Array(all) => union_all(all.iter().map(|value| self.resolve_value(step, value))),
            Value::Number(number) => {
                one(parse_whole_number(number).map(|number| self.resolve_number(number)))
            }
            Value::String(word) if is_none_word(word) => Ok(BTreeSet::new()),
            Value::String(word) => self.resolve_list(step, word).ok_or_else(bad),
            Value::Object(members) => {
                let id = IDS.iter().find_map(|name| members.get(*name)).unwrap_or(&Value::Null);
                match id {
                    Value::Number(_) | Value::String(_) => self.resolve_value(step, id),
                    Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(bad()),
                }
            }
            Value::Bool(_) => Err(bad()),
        }
    }

    /// Returns the steps that a text names: one step, several with commas, or all before.
    fn resolve_list(&self, step: usize, word: &str) -> Option<BTreeSet<usize>> {
        let lowercase = word.trim().to_lowercase();
        if let Some(number) = self.find_exact(&lowercase) {
            return Some([number].into());
        }
        if ALL_STEPS_WORDS.contains(&lowercase.as_str()) {
            return Some((1..step).collect());
        }
        let with_commas = word.replace(" and ", ",");
        let parts = with_commas.split([',', '，', '、', ';', '；', '&']);
        let parts: Vec<&str> = parts.filter(|part| !part.trim().is_empty()).collect();
        let all = parts.iter().map(|part| self.resolve_word(Some(step), part));
        let all: Option<BTreeSet<usize>> = all.collect();
        all.or_else(|| Some([self.resolve_word(Some(step), word)?].into()))
    }

    /// Returns the number of the only step that a word names: by its id, title or number, or by words of no
    /// other title. Words in the reference of `step` never name the step itself.
    pub(super) fn resolve_word(&self, step: Option<usize>, word: &str) -> Option<usize> {
        let word = word.trim().to_lowercase();
        let by_number = || parse_step_number(&word).map(|number| self.resolve_number(number));
        self.find_exact(&word).or_else(by_number).or_else(|| self.find_by_words(step, &word))
    }

    fn find_exact(&self, word: &str) -> Option<usize> {
        let one = |names: &BTreeMap<String, Option<usize>>| names.get(word).copied().flatten();
        one(&self.ids).or_else(|| one(&self.names))
    }

    /// Returns the step with this number as its id; otherwise the position, from 1.
    fn resolve_number(&self, number: usize) -> usize {
        self.ids.get(&number.to_string()).copied().flatten().unwrap_or(number)
    }

    fn find_by_words(&self, step: Option<usize>, words: &str) -> Option<usize> {
        let length = words.chars().take(MIN_SEARCH_CHARS).count();
        if length < MIN_SEARCH_CHARS || words.len() > MAX_TITLE {
            return None;
        }
        let mut searches = self.searches.borrow_mut();
        if searches.len() >= MAX_SEARCHES && !searches.contains_key(words) {
            return None;
        }
        let matches = searches.entry(words.to_owned()).or_insert_with(|| {
            let titles = (1..).zip(&self.titles).filter(|(_, title)| contains_words(title, words));
            titles.map(|(number, _)| number).take(3).collect()
        });
        let mut others = matches.iter().filter(|number| Some(**number) != step);
        others.next().copied().filter(|_| others.next().is_none())
    }
}

/// Adds a name of a step. A name of several steps identifies no step.
fn add_name(names: &mut BTreeMap<String, Option<usize>>, name: String, number: usize) {
    let owner = names.entry(name).or_insert(Some(number));
    if *owner != Some(number) {
        *owner = None;
    }
}

/// Returns true if a title contains the words as whole words.
fn contains_words(title: &str, words: &str) -> bool {
    let title = title.get(..title.floor_char_boundary(MAX_TITLE)).unwrap_or_default();
    title.match_indices(words).any(|(at, _)| {
        let before = title.get(..at).and_then(|before| before.chars().next_back());
        let after = title.get(at + words.len()..).and_then(|after| after.chars().next());
        !is_same_word(before, words.chars().next())
            && !is_same_word(words.chars().next_back(), after)
    })
}

/// Returns true if two adjacent characters belong to the same word.
fn is_same_word(before: Option<char>, after: Option<char>) -> bool {
    let is_part = |side: Option<char>| {
        side.is_some_and(|side| side.is_alphanumeric() && !is_written_without_spaces(side))
    };
    is_part(before) && is_part(after)
}

/// Returns true for a word that means no step.
pub(super) fn is_none_word(word: &str) -> bool {
    matches!(word.trim().to_lowercase().as_str(), "" | "-" | "none" | "null" | "n/a" | "无")
}

/// Parses a number without a fraction.
pub(super) fn parse_whole_number(number: &serde_json::Number) -> Option<usize> {
    let text = number.to_string();
    text.strip_suffix(".0").unwrap_or(&text).parse().ok()
}

/// Parses the number of a step: `3`, `s3`, `Step 3`, `第三步`, `3. title`.
pub(super) fn parse_step_number(word: &str) -> Option<usize> {
    split_step_number(word).map(|(number, _)| number)
}

/// Splits a step number from the beginning of a text, and returns the number with the rest.
pub(super) fn split_step_number(word: &str) -> Option<(usize, &str)> {
    let word = word.trim().trim_start_matches(['#', '(', '[']);
    let after_word = BEFORE_NUMBER.iter().find_map(|before| {
        let start = word.get(..before.len())?;
        start.eq_ignore_ascii_case(before).then(|| word.get(before.len()..))?
    });
    let rest = after_word.unwrap_or(word).trim_start_matches([' ', '_', '-', '#']);
    let (number, rest) = split_digits(rest).or_else(|| split_numeral(rest))?;
    let rest = rest.strip_prefix('步').unwrap_or(rest);
    // `s3.1` is an attempt at s3; `3.1` and `10:30` are not step numbers.
    let part = rest.strip_prefix(['.', '．', ':', '：']);
    let attempt = part.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let ends = rest.is_empty() || rest.starts_with(['.', ':', '：', ')', ']']);
    (ends && (after_word.is_some() || !attempt)).then_some((number, rest))
}

fn split_digits(text: &str) -> Option<(usize, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

/// Splits a Chinese numeral from the beginning of a text: `三`, `十二`, `二十`, `二十三`.
fn split_numeral(text: &str) -> Option<(usize, &str)> {
    let unit = |character: char| {
        "一二三四五六七八九".chars().zip(1..).find(|(c, _)| *c == character).map(|(_, unit)| unit)
    };
    let end = text.find(|c: char| c != '十' && unit(c).is_none()).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let characters: Vec<char> = word.chars().collect();
    let number = match characters.as_slice() {
        ['十'] => 10,
        [one] => unit(*one)?,
        ['十', one] => 10 + unit(*one)?,
        [tens, '十'] => unit(*tens)? * 10,
        [tens, '十', one] => unit(*tens)? * 10 + unit(*one)?,
        _ => return None,
    };
    Some((number, rest))
}

/// Returns all numbers, or the first error.
pub(super) fn union_all(
    all: impl Iterator<Item = Result<BTreeSet<usize>, PlanError>>,
) -> Result<BTreeSet<usize>, PlanError> {
    all.collect::<Result<Vec<_>, _>>().map(|all| all.into_iter().flatten().collect())
}
