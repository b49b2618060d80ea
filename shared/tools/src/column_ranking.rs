//! Chooses the columns of many tables that matter for a task.

use std::collections::BTreeSet;

use djinn_runtime::port::sandbox::table::TableColumn;

use crate::table_joins::FoundJoin;
use crate::table_state::{ColumnWords, StoredTable};
use crate::words::visit_words;

/// Maximum number of columns of all tables that are shown without a choice.
const MAX_ALL: usize = 60;

/// Number of columns chosen from more.
const MAX_CHOSEN: usize = 40;

/// Maximum number of tables that are shown only for their joins.
const MAX_JOINED: usize = 10;

/// The usual parameters of BM25.
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// The words of a task in the text of a column, each with its place among them and its count, and the number of all
/// words.
struct WordCounts {
    counts: Vec<(usize, f32)>,
    length: f32,
}

/// Returns an English word of four or more letters without the `s` of its plural, and any other word as it is.
fn to_singular(word: &str) -> &str {
    let singular = word.strip_suffix('s').filter(|_| word.is_ascii() && word.len() > 3);
    singular.unwrap_or(word)
}

/// Returns for each table the places of the columns to show: all columns of few; of many, the 40 that fit the task
/// best, those that are always shown, and those in which the tables of these join others, of which the ten best are
/// added. Columns that fit equally are taken from the tables that fit best, then in their order.
pub(crate) fn choose_columns(
    tables: &[&StoredTable],
    joins: &[FoundJoin],
    task: &str,
) -> Vec<BTreeSet<usize>> {
    let counts = tables.iter().map(|stored| stored.table.columns.len());
    if counts.clone().sum::<usize>() <= MAX_ALL {
        return counts.map(|count| (0..count).collect()).collect();
    }
    let mut scores = score_columns(tables, task).into_iter();
    let mut ranked = Vec::new();
    let mut bests = Vec::new();
    let mut chosen = vec![BTreeSet::new(); tables.len()];
    for (table, (stored, chosen)) in tables.iter().zip(&mut chosen).enumerate() {
        let columns = &stored.table.columns;
        let scores: Vec<f32> = scores.by_ref().take(columns.len()).collect();
        let best = scores.iter().copied().fold(0.0, f32::max);
        bests.push(best);
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
    let first: BTreeSet<usize> = (0..tables.len())
        .filter(|table| chosen.get(*table).is_some_and(|it| !it.is_empty()))
        .collect();
    let find_added =
        |join: &FoundJoin| match (first.contains(&join.table), first.contains(&join.other)) {
            (true, false) => Some(join.other),
            (false, true) => Some(join.table),
            _ => None,
        };
    let mut added: Vec<usize> = joins.iter().filter_map(find_added).collect();
    let best = |table: usize| bests.get(table).copied().unwrap_or_default();
    added.sort_by(|one, other| best(*other).total_cmp(&best(*one)).then(one.cmp(other)));
    added.dedup();
    added.truncate(MAX_JOINED);
    let is_shown = |table: usize| first.contains(&table) || added.contains(&table);
    for join in joins.iter().filter(|join| is_shown(join.table) && is_shown(join.other)) {
        let (own, theirs): (Vec<usize>, Vec<usize>) = join.columns.iter().copied().unzip();
        for (table, places) in [(join.table, own), (join.other, theirs)] {
            if let Some(chosen) = chosen.get_mut(table) {
                chosen.extend(places);
            }
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

/// Returns the BM25 score of each column of all tables. Each text is split once, and no word is kept, because an index of
/// 5 000 columns takes several times as long.
fn score_columns(tables: &[&StoredTable], task: &str) -> Vec<f32> {
    let mut words = Vec::new();
    visit_words(task, |word| words.push(to_singular(word).to_owned()));
    words.sort_unstable();
    words.dedup();
    let columns = tables.iter().flat_map(|stored| {
        stored.table.columns.iter().map(|column| count_words(stored, column, &words))
    });
    let columns: Vec<WordCounts> = columns.collect();
    let number: f32 = columns.iter().map(|_| 1.0).sum();
    let mean_length = columns.iter().map(|column| column.length).sum::<f32>() / number;
    let mut having = vec![0.0; words.len()];
    for (place, _) in columns.iter().flat_map(|column| &column.counts) {
        if let Some(having) = having.get_mut(*place) {
            *having += 1.0;
        }
    }
    let weight = |having: f32| (1.0 + (number - having + 0.5) / (having + 0.5)).ln();
    let weights: Vec<f32> = having.into_iter().map(weight).collect();
    let score = |column: &WordCounts| {
        let damping = K1 * (1.0 - B + B * column.length / mean_length);
        let scores = column.counts.iter().map(|(place, count)| {
            let weight = weights.get(*place).copied().unwrap_or_default();
            weight * count * (K1 + 1.0) / (count + damping)
        });
        scores.sum()
    };
    columns.iter().map(score).collect()
}

/// Counts those words in the texts of a column that are among sorted words. The name counts twice.
fn count_words(stored: &StoredTable, column: &TableColumn, words: &[String]) -> WordCounts {
    let about = find_words(stored, column).map_or("", |words| &words.about);
    let title = stored.words.as_ref().map_or("", |words| &words.title);
    let texts = [column.name.as_str(), &column.name, about, &stored.name, title];
    let mut counts = WordCounts { counts: Vec::new(), length: 0.0 };
    for text in texts.into_iter().chain(column.samples.iter().map(String::as_str)) {
        visit_words(text, |word| {
            counts.length += 1.0;
            let word = to_singular(word);
            let Ok(place) = words.binary_search_by(|known| known.as_str().cmp(word)) else {
                return;
            };
            match counts.counts.iter_mut().find(|(known, _)| *known == place) {
                Some((_, count)) => *count += 1.0,
                None => counts.counts.push((place, 1.0)),
            }
        });
    }
    counts
}

#[cfg(test)]
mod tests {
    use djinn_agents::TableJoin;
    use djinn_runtime::port::sandbox::table::FileTable;
    use serde_json::json;

    use super::*;
    use crate::table_joins::find_joins;
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
        let chosen = choose_columns(&tables, &find_joins(&tables), task);
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
            let columns = named_columns(&tables, "");
            assert_eq!(columns.iter().map(Vec::len).collect::<Vec<_>>(), shown, "{sizes:?}");
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
            let columns = named_columns(&tables, task);
            assert_eq!(columns.iter().map(Vec::len).sum::<usize>(), MAX_CHOSEN, "{task}");
            assert!(columns.iter().flatten().any(|column| column == name), "{task}: {columns:?}");
        }
        // The name of a table finds its columns; the rest of the room is for the table that fits best.
        assert_eq!(named_columns(&tables, "all staff")[0].len(), 0);
        let by_salary = named_columns(&tables, "salary");
        assert_eq!((by_salary[0].len(), by_salary[1].len()), (0, MAX_CHOSEN));
    }

    #[test]
    fn scores_are_those_of_bm25() {
        // Three columns of 4, 4 and 6 words, of which one has `amount` twice and two have `open`.
        let tables =
            [table("t", &["amount:open".to_owned(), "b:open".to_owned(), "c:x y z".to_owned()])];
        let tables: Vec<&StoredTable> = tables.iter().collect();
        let scores = score_columns(&tables, "open amounts");
        let rare = (1.0_f32 + 2.5 / 1.5).ln();
        let common = (1.0_f32 + 1.5 / 2.5).ln();
        let damping = 1.2 * (0.25 + 0.75 * 4.0 / (14.0 / 3.0));
        let once = 2.2 / (1.0 + damping);
        let twice = 2.0 * 2.2 / (2.0 + damping);
        for (score, expected) in
            scores.iter().zip([rare * twice + common * once, common * once, 0.0])
        {
            assert!((score - expected).abs() < 1e-5, "{scores:?}");
        }
    }

    #[test]
    fn of_the_tables_that_join_a_chosen_one_the_ten_best_are_added() {
        let mut tables = vec![wide("orders", &[])];
        let title = "region ".repeat(8);
        tables[0].words = Some(TableWords { title, ..TableWords::default() });
        for number in 0..30 {
            let mut stored = table(&format!("t{number}"), &["key".to_owned()]);
            // Eleven have a word of the task, and the last ten have it twice.
            let title = "region ".repeat(usize::from(number >= 19) + usize::from(number >= 20));
            let columns = vec![("key".to_owned(), "ordersx0".to_owned())];
            let join = TableJoin { line: 1, table: "orders".to_owned(), columns };
            stored.words = Some(TableWords { title, joins: vec![join], ..TableWords::default() });
            tables.push(stored);
        }
        let columns = named_columns(&tables, "region");
        let is_shown: Vec<bool> = columns.iter().map(|columns| !columns.is_empty()).collect();
        let expected: Vec<bool> = (0..31).map(|table| table == 0 || table > 20).collect();
        assert_eq!((columns[0].len(), is_shown), (MAX_CHOSEN, expected));
    }

    #[test]
    fn columns_that_are_always_shown_come_on_top() {
        let mut tables = [wide("orders", &["region"]), wide("staff", &["KEY", "salary"])];
        let words =
            ColumnWords { name: "key".to_owned(), is_always_shown: true, ..ColumnWords::default() };
        tables[1].words = Some(TableWords { columns: vec![words], ..TableWords::default() });
        let columns = named_columns(&tables, "orders by region");
        assert_eq!(
            (columns[0].len(), columns[1].as_slice()),
            (MAX_CHOSEN, &["KEY".to_owned()][..])
        );
    }
}
