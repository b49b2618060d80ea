//! Chooses the columns of many tables that matter for a task.

use std::collections::BTreeSet;

use bm25::{Embedder, EmbedderBuilder, Scorer, Tokenizer};
use djinn_runtime::port::sandbox::table::TableColumn;

use crate::table_state::{ColumnWords, StoredTable};
use crate::words::split_words;

/// Maximum number of columns of all tables that are shown without a choice.
const MAX_ALL: usize = 60;

/// Number of columns chosen from more.
const MAX_CHOSEN: usize = 40;

/// The words of columns and tasks, in the singular.
struct ColumnTokenizer;

impl Tokenizer for ColumnTokenizer {
    fn tokenize(&self, text: &str) -> Vec<String> {
        let mut words = split_words(text);
        for word in &mut words {
            if word.is_ascii() && word.len() > 3 && word.ends_with('s') {
                word.pop();
            }
        }
        words
    }
}

/// Returns for each table the places of the columns to show: all columns of few; of many, the 40 that fit the task
/// best, and those that are always shown. Columns that fit equally are taken from the tables that fit best, then in
/// their order.
pub(crate) fn choose_columns(tables: &[&StoredTable], task: &str) -> Vec<BTreeSet<usize>> {
    let counts = tables.iter().map(|stored| stored.table.columns.len());
    if counts.clone().sum::<usize>() <= MAX_ALL {
        return counts.map(|count| (0..count).collect()).collect();
    }
    let mut scores = score_columns(tables, task).into_iter();
    let mut ranked = Vec::new();
    let mut chosen = vec![BTreeSet::new(); tables.len()];
    for (table, (stored, chosen)) in tables.iter().zip(&mut chosen).enumerate() {
        let columns = &stored.table.columns;
        let scores: Vec<f32> = scores.by_ref().take(columns.len()).collect();
        let best = scores.iter().copied().fold(0.0, f32::max);
        for (place, (column, score)) in columns.iter().zip(scores).enumerate() {
            ranked.push((score, best, table, place));
            if find_words(stored, column).is_some_and(|words| words.is_always_shown) {
                chosen.insert(place);
            }
        }
    }
    ranked.sort_by(|(score, best, ..), (other_score, other_best, ..)| {
        other_score.total_cmp(score).then(other_best.total_cmp(best))
    });
    for (_, _, table, place) in ranked.into_iter().take(MAX_CHOSEN) {
        if let Some(chosen) = chosen.get_mut(table) {
            chosen.insert(place);
        }
    }
    chosen
}

/// Returns what the file of a table says about a column.
pub(crate) fn find_words<'a>(
    stored: &'a StoredTable,
    column: &TableColumn,
) -> Option<&'a ColumnWords> {
    stored.words.as_ref().and_then(|words| words.find_column(&column.name))
}

/// Returns the BM25 score of each column of all tables.
fn score_columns(tables: &[&StoredTable], task: &str) -> Vec<f32> {
    let columns = tables.iter().flat_map(|stored| {
        stored.table.columns.iter().map(|column| describe_column(stored, column))
    });
    let texts: Vec<String> = columns.collect();
    let corpus: Vec<&str> = texts.iter().map(String::as_str).collect();
    let builder = EmbedderBuilder::with_tokenizer_and_fit_to_corpus(ColumnTokenizer, &corpus);
    let embedder: Embedder<u32, ColumnTokenizer> = builder.build();
    let mut scorer = Scorer::<usize>::new();
    for (place, text) in corpus.iter().enumerate() {
        scorer.upsert(&place, embedder.embed(text));
    }
    let mut scores = vec![0.0; corpus.len()];
    for found in scorer.matches(&embedder.embed(task)) {
        if let Some(score) = scores.get_mut(found.id) {
            *score = found.score;
        }
    }
    scores
}

/// Returns the text in which a column is found. The name counts twice.
fn describe_column(stored: &StoredTable, column: &TableColumn) -> String {
    let about = find_words(stored, column).map_or("", |words| &words.about);
    let title = stored.words.as_ref().map_or("", |words| &words.title);
    let name = &column.name;
    let samples = column.samples.join(" ");
    format!("{name} {name} {about} {} {title} {samples}", stored.name)
}

#[cfg(test)]
mod tests {
    use djinn_runtime::port::sandbox::table::FileTable;
    use serde_json::json;

    use super::*;
    use crate::table_state::TableWords;

    /// A table whose columns are names, each with its values behind a colon.
    fn table(name: &str, columns: &[String]) -> StoredTable {
        let column = |text: &String| {
            let (name, samples) = text.split_once(':').unwrap_or((text, ""));
            let samples = samples.split_whitespace().map(str::to_owned).collect();
            TableColumn { name: name.to_owned(), samples, ..TableColumn::default() }
        };
        let columns = columns.iter().map(column).collect();
        StoredTable {
            name: name.to_owned(),
            table: FileTable { table: name.to_owned(), columns, ..FileTable::default() },
            data: serde_json::from_value(json!({
                "name": "d.parquet", "description": "", "size": 1, "internal": true,
                "media_type": "", "object": "o",
            }))
            .unwrap(),
            words: None,
        }
    }

    /// A table of 50 columns: the named ones in the middle, and others around them.
    fn wide(name: &str, named: &[&str]) -> StoredTable {
        let others = |range: std::ops::Range<usize>| range.map(|number| format!("{name}x{number}"));
        let mut columns: Vec<String> = others(0..30).collect();
        columns.extend(named.iter().map(|name| (*name).to_owned()));
        columns.extend(others(30..50 - named.len()));
        table(name, &columns)
    }

    fn named_columns(tables: &[StoredTable], task: &str) -> Vec<Vec<String>> {
        let tables: Vec<&StoredTable> = tables.iter().collect();
        let chosen = choose_columns(&tables, task);
        let names = |(stored, places): (&&StoredTable, BTreeSet<usize>)| {
            places.iter().map(|place| stored.table.columns[*place].name.clone()).collect()
        };
        tables.iter().zip(chosen).map(names).collect()
    }

    #[test]
    fn few_columns_are_all_shown_and_of_more_the_best_forty() {
        let names =
            |count: usize| (0..count).map(|number| format!("c{number}")).collect::<Vec<_>>();
        for (sizes, shown) in [
            (&[60][..], &[60][..]),
            (&[30, 30], &[30, 30]),
            (&[61], &[40]),
            (&[30, 31], &[30, 10]),
            (&[], &[]),
        ] {
            let tables: Vec<StoredTable> = sizes
                .iter()
                .enumerate()
                .map(|(place, size)| table(&format!("t{place}"), &names(*size)))
                .collect();
            let found = named_columns(&tables, "");
            assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), shown, "{sizes:?}");
        }
    }

    #[test]
    fn columns_are_found_by_name_value_table_and_chinese_words() {
        let tables = [
            wide("orders", &["region_code", "total amount", "下单日期", "status:open shipped"]),
            wide("staff", &["salary", "采购成本", "city:上海市 北京市"]),
        ];
        for (task, name) in [
            ("Sum by region code", "region_code"),
            ("Which AMOUNTS are there?", "total amount"),
            ("每个日期的销量", "下单日期"),
            ("How many were shipped?", "status"),
            ("salaries: the highest salary", "salary"),
            ("采购成本最高的前十名", "采购成本"),
            ("上海有多少人", "city"),
        ] {
            let found = named_columns(&tables, task);
            assert_eq!(found.iter().map(Vec::len).sum::<usize>(), MAX_CHOSEN, "{task}");
            assert!(found.iter().flatten().any(|found| found == name), "{task}: {found:?}");
        }
        // The name of a table finds its columns; the rest of the room is for the table that fits best.
        assert_eq!(named_columns(&tables, "all staff")[0].len(), 0);
        let by_salary = named_columns(&tables, "salary");
        assert_eq!((by_salary[0].len(), by_salary[1].len()), (0, MAX_CHOSEN));
    }

    #[test]
    fn columns_that_are_always_shown_come_on_top() {
        let mut tables = [wide("orders", &["region"]), wide("staff", &["KEY", "salary"])];
        let words =
            ColumnWords { name: "key".to_owned(), is_always_shown: true, ..ColumnWords::default() };
        tables[1].words = Some(TableWords { columns: vec![words], ..TableWords::default() });
        let found = named_columns(&tables, "orders by region");
        assert_eq!((found[0].len(), found[1].as_slice()), (MAX_CHOSEN, &["KEY".to_owned()][..]));
    }
}
