//! Fuzz tests: random changes of a corpus, until a property breaks.
//!
//! A test checks its corpus and some changes of it, always the same. With `DJINN_FUZZ_SECONDS` it runs for
//! this time with new changes; `DJINN_SEED` repeats the changes of a seed. An input that breaks the property
//! is shortened and written to the corpus, for all later tests.

mod corpus;
mod mutation;

use std::fmt::Display;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use djinn_settings::table::contributor::{FUZZ_SECONDS, SEED};

pub use corpus::FuzzInput;
use corpus::{keep_input, read_corpus};
use mutation::Mutator;

/// The default seed of tests.
const USUAL_SEED: u64 = 17;

/// The time between two progress messages of a long test.
const NEWS_EVERY: Duration = Duration::from_secs(60);

/// The maximum number of attempts to shorten a failing input, and the maximum time.
const SHORTENINGS: usize = 2_000;
const SHORTENING: Duration = Duration::from_secs(20);

/// The inputs and the extent of a fuzz test.
pub struct FuzzPlan {
    /// The folder below `tests/corpora` with the inputs to change.
    pub corpus: &'static str,
    /// Words with a meaning in the inputs.
    pub words: &'static [&'static str],
    /// The maximum bytes of an input.
    pub max_bytes: usize,
    /// The number of changed inputs, without a given time.
    pub cases: u64,
}

impl FuzzPlan {
    /// Checks the corpus, then changes of it. Returns a message with the number of passing inputs.
    ///
    /// # Errors
    /// Returns the first input for which `property` fails or panics, and the path of its file.
    pub fn run(
        &self,
        property: impl Fn(&FuzzInput) -> Result<(), String>,
    ) -> Result<String, String> {
        let corpus = read_corpus(self.corpus)?;
        for input in &corpus {
            let name = &input.name;
            check_input(input, &property).map_err(|why| format!("{name} of the corpus: {why}"))?;
        }
        let seconds = find_number(FUZZ_SECONDS.name);
        let usual = seconds.map_or(USUAL_SEED, |_| fastrand::u64(..1_000_000_000));
        let seed = find_number(SEED.name).unwrap_or(usual);
        let mut mutator = Mutator::new(seed, self.words, self.max_bytes);
        let began = Instant::now();
        let mut news = NEWS_EVERY;
        let mut cases = 0_u64;
        print_words(&format!(
            "{}: {} inputs of the corpus, seed {seed}",
            self.corpus,
            corpus.len()
        ));
        while seconds.map_or(cases < self.cases, |most| began.elapsed().as_secs() < most) {
            let input = mutator.change_one(&corpus);
            if let Err(why) = check_input(&input, &property) {
                let short = shorten_input(input, &property);
                let kept_name = keep_input(self.corpus, &short)?;
                return Err(format!(
                    "seed {seed}, input {cases}: {why}\n    it is kept as {kept_name}"
                ));
            }
            cases += 1;
            if began.elapsed() > news {
                news += NEWS_EVERY;
                print_words(&format!("{}: {cases} inputs", self.corpus));
            }
        }
        Ok(format!(
            "{}: {} inputs of the corpus and {cases} changed ones in {:.1} s",
            self.corpus,
            corpus.len(),
            began.elapsed().as_secs_f64()
        ))
    }
}

/// Checks the property of an input. A panic counts as a failure.
fn check_input(
    input: &FuzzInput,
    property: &impl Fn(&FuzzInput) -> Result<(), String>,
) -> Result<(), String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| property(input)));
    outcome.unwrap_or_else(|_| Err("it panicked, as is said above".to_owned()))
}

/// Returns the shortest version found of an input that still breaks the property.
fn shorten_input(
    input: FuzzInput,
    property: &impl Fn(&FuzzInput) -> Result<(), String>,
) -> FuzzInput {
    let mut shortest = input;
    let began = Instant::now();
    let mut remaining_tries = SHORTENINGS;
    let mut piece = shortest.bytes.len() / 2;
    while piece > 0 {
        let mut at = 0;
        while at < shortest.bytes.len() && remaining_tries > 0 && began.elapsed() < SHORTENING {
            remaining_tries -= 1;
            let mut bytes = shortest.bytes.clone();
            bytes.drain(at..bytes.len().min(at + piece));
            let shorter = FuzzInput { bytes, ..shortest.clone() };
            match check_input(&shorter, property) {
                Err(_) => shortest = shorter,
                Ok(()) => at += piece,
            }
        }
        piece /= 2;
    }
    shortest
}

/// Returns an integer from an environment variable of the tests.
fn find_number(name: &str) -> Option<u64> {
    #[allow(clippy::disallowed_methods, reason = "what `cargo soak` tells its tests")]
    std::env::var(name).ok()?.parse().ok()
}

fn print_words(words: &dyn Display) {
    // A failed write to standard error is ignored.
    let _unheard = writeln!(std::io::stderr(), "    {words}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_a_property_is_shortened_to_what_breaks_it() {
        let property = |input: &FuzzInput| {
            let has = |word: &[u8]| input.bytes.windows(word.len()).any(|found| found == word);
            if has(b"ab") && has(b"cd") { Err("both".to_owned()) } else { Ok(()) }
        };
        let bytes = [vec![b'x'; 500], b"ab".to_vec(), vec![b'y'; 300], b"cd".to_vec()].concat();
        let input = FuzzInput { name: "n".to_owned(), bytes };
        assert_eq!(check_input(&input, &property), Err("both".to_owned()));
        assert_eq!(shorten_input(input, &property).bytes, b"abcd");
        let panics = |_: &FuzzInput| -> Result<(), String> { panic!("as it should") };
        let input = FuzzInput { name: "n".to_owned(), bytes: vec![1] };
        assert!(check_input(&input, &panics).is_err());
    }
}
