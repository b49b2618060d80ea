use std::collections::BTreeSet;

use super::*;
use crate::names::PREFIX;
use crate::setting::{Setting, SettingSource, ValueKind};

fn rows() -> impl Iterator<Item = &'static Setting> {
    TABLES.iter().flat_map(|table| table.rows.iter().copied())
}

fn is_allowed(row: &Setting, value: &str) -> bool {
    let var = |_: &str| Some(value.to_owned());
    match row.kind {
        ValueKind::Number { .. } => row.read_number::<u64>(&var).is_ok(),
        ValueKind::Money => row.find_micro_usd(&var).is_ok(),
        ValueKind::MoneyLimit => row.find_money_limit(&var).is_ok(),
        ValueKind::Switch => row.read_switch(&var).is_ok(),
        ValueKind::Choice(_) => row.find_choice(&var).is_ok(),
        ValueKind::Text | ValueKind::Form(_) | ValueKind::Json(_) => !value.trim().is_empty(),
    }
}

#[test]
fn a_name_has_one_row() {
    let mut names = BTreeSet::new();
    let twice: Vec<_> = rows().map(|row| row.name).filter(|name| !names.insert(*name)).collect();
    assert!(twice.is_empty(), "two rows are called {twice:?}");
    let of_others = rows().filter(|row| !row.name.starts_with(PREFIX));
    let of_others: Vec<_> = of_others.map(|row| row.name.split('_').next().unwrap()).collect();
    assert_eq!(BTreeSet::from_iter(of_others), BTreeSet::from(["ANTHROPIC", "OPENAI"]));
}

#[test]
fn a_row_says_what_it_does_in_sentences() {
    for row in rows() {
        let words = row.meaning.split_whitespace().count();
        assert!(words >= 4 && row.meaning.ends_with('.'), "{}: {}", row.name, row.meaning);
        assert!(!row.meaning.contains(['\n', '|']), "{} breaks a table", row.name);
        assert!(!row.kind.to_string().is_empty(), "{}", row.name);
        assert_ne!(row.source, SettingSource::Nothing(""), "{} says not why", row.name);
    }
}

#[test]
fn a_default_is_a_value_that_the_row_allows() {
    for row in rows() {
        for value in row.default.into_iter().chain(row.deployed_default) {
            assert!(is_allowed(row, value), "{} has the default {value}", row.name);
        }
    }
}

#[test]
fn a_field_has_no_second_variable() {
    for row in rows().filter(|row| row.field.is_some()) {
        assert_eq!(row.override_name().as_deref(), Some(row.name));
    }
}
