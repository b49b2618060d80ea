//! The corpus of URLs that deceive, and changes of it: what gets through is public.

use djinn_testkit::fuzz::FuzzPlan;

use super::guard::{PIECES, judge};

#[test]
fn whatever_becomes_of_a_url_only_what_is_public_gets_through() {
    let plan = FuzzPlan { corpus: "guard", words: PIECES, max_bytes: 4_096, cases: 20_000 };
    let tried = plan.run(|input| judge(&String::from_utf8_lossy(&input.bytes)));
    println!("{}", tried.unwrap());
}
