//! The corpus of files that describe tables, and changes of it: each is a table, or a sentence about a line.

use std::collections::BTreeSet;

use djinn_agents::{TableSources, read_table};
use djinn_testkit::fuzz::FuzzPlan;

/// Parts of files that describe tables, and marks of YAML.
const WORDS: &[&str] = &[
    "---\n",
    "\nname: ",
    "\ntitle: ",
    "\nsource: ",
    "orders.csv",
    "shop",
    "\ntable: ",
    "sales.orders",
    "\nsheet: ",
    "\nsql: ",
    "SELECT * FROM orders",
    "\ntenants: ",
    "\nrows: ",
    "{user}",
    "{tenant}",
    "\ncolumns: ",
    "\n  amount: ",
    "{about: a, also: [b], ",
    "hide: true",
    "always: ",
    "values: ",
    "analyze: measure",
    "\njoins: ",
    "\n  - ",
    "orders.a = b.c",
    " AND ",
    ": ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "|\n",
    ">",
    "#",
    "&a",
    "*a",
    "!!str ",
    "? ",
    "%",
    "<<",
    "~",
    "1e9",
    "0x",
    "\t",
    "\r",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "\0",
    "\\x",
    "界",
];

fn check(text: &str) -> Result<(), String> {
    let data = BTreeSet::from(["orders.csv"]);
    let sources = TableSources { data, connections: BTreeSet::from(["shop"]) };
    match read_table("orders.md", text, &sources) {
        Ok(table) if table.relation.is_some() == (table.source == "shop") => Ok(()),
        Ok(table) => Err(format!("{table:?}")),
        Err(problem) => {
            let lines = text.replace("\r\n", "\n").replace('\r', "\n").lines().count().max(1);
            let is_in_file = (1..=lines).contains(&problem.line);
            let is_sentence = !problem.rule.is_empty() && problem.rule.len() < 2_000;
            if is_in_file && is_sentence { Ok(()) } else { Err(problem.to_string()) }
        }
    }
}

#[test]
fn changed_file_of_a_table_is_a_table_or_a_sentence_about_a_line() {
    let plan = FuzzPlan { corpus: "tables", words: WORDS, max_bytes: 4_000, cases: 2_000 };
    let tried = plan.run(|input| check(&String::from_utf8_lossy(&input.bytes)));
    println!("{}", tried.unwrap());
}
