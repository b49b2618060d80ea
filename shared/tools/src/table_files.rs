//! The tables of a configuration folder.

use std::collections::BTreeMap;
use std::sync::Arc;

use djinn_agents::{FileProblem, TableFile, TableJoin, TableSources, read_table};
use djinn_core::id::sha256_hex;
use djinn_runtime::port::text_folder::{FolderText, TABLES, is_data};
use djinn_text::near_miss::find_near_miss;

use crate::connections::Connections;
use crate::database_query::is_same;
use crate::table_catalog::CatalogTable;

/// The tables of a deployment, with the last valid state of each file: `tables/NAME.md`, and the data beside it.
#[derive(Debug, Default)]
pub struct TableFiles {
    /// The last valid state of each file, by its name.
    valid: BTreeMap<String, (Arc<str>, Arc<TableFile>)>,
}

/// The tables of one read.
#[derive(Debug, Default)]
pub struct TableReading {
    /// The tables in the order of their names.
    pub tables: Vec<CatalogTable>,
    /// The problems of files.
    pub problems: Vec<FileProblem>,
}

impl TableFiles {
    /// Returns the tables in the texts of a configuration folder at the path `folder`. An invalid file keeps its last
    /// valid state; without one, its table is left out.
    pub fn read(
        &mut self,
        folder: &str,
        texts: &[FolderText],
        connections: &Connections,
    ) -> TableReading {
        let mut reading = TableReading::default();
        let mut hashes: BTreeMap<&str, &Arc<str>> = BTreeMap::new();
        for (name, text) in TABLES.texts_of(texts).filter(|(_, text)| is_data(&text.name)) {
            match &text.text {
                Ok(sha256) => drop(hashes.insert(name, sha256)),
                Err(rule) => reading.problems.push(first_line(text.path_in(folder), rule)),
            }
        }
        let sources = TableSources {
            data: hashes.keys().copied().collect(),
            connections: connections.keys().map(String::as_str).collect(),
        };
        let mut names = BTreeMap::new();
        for (_, text) in TABLES.texts_of(texts).filter(|(_, text)| !is_data(&text.name)) {
            let path = text.path_in(folder);
            let Some((file_text, file)) = self.read_text(text, &path, &sources, &mut reading)
            else {
                continue;
            };
            // A valid file whose data or connection are gone has no rows.
            let connection = connections.get(&file.source).filter(|_| file.relation.is_some());
            let data = match connection {
                Some(connection) => format!("{connection:?}"),
                None => match hashes.get(file.source.as_str()) {
                    Some(data_sha256) => data_sha256.to_string(),
                    None => continue,
                },
            };
            if let Some(other) = names.insert(file.name.to_lowercase(), path.clone()) {
                let rule = format!("`name` is that of the table in {other}: choose another");
                reading.problems.push(FileProblem { path, line: 1, rule });
                names.insert(file.name.to_lowercase(), other);
                continue;
            }
            let sha256 =
                sha256_hex(format!("{}{data}", sha256_hex(file_text.as_bytes())).as_bytes());
            let connection = connection.map(Arc::clone);
            reading.tables.push(CatalogTable { file, sha256: sha256.into(), connection });
        }
        reading.tables.sort_by(|one, other| one.file.name.cmp(&other.file.name));
        reading.check_joins(&names);
        reading
    }

    /// Returns the last valid text and content of a file.
    fn read_text(
        &mut self,
        text: &FolderText,
        path: &str,
        sources: &TableSources<'_>,
        reading: &mut TableReading,
    ) -> Option<(Arc<str>, Arc<TableFile>)> {
        let result = match &text.text {
            Ok(text) => {
                read_table(path, text, sources).map(|file| (Arc::clone(text), Arc::new(file)))
            }
            Err(rule) => Err(first_line(path.to_owned(), rule)),
        };
        match result {
            Ok(valid) => {
                self.valid.insert(text.name.clone(), valid.clone());
                Some(valid)
            }
            Err(problem) => {
                reading.problems.push(problem);
                self.valid.get(&text.name).cloned()
            }
        }
    }
}

impl TableReading {
    /// Removes joins with tables or columns that a query over the table cannot read. `paths` are those of the files, by
    /// the names of tables in small letters.
    fn check_joins(&mut self, paths: &BTreeMap<String, String>) {
        let files: BTreeMap<String, Arc<TableFile>> = self
            .tables
            .iter()
            .map(|table| (table.file.name.to_lowercase(), Arc::clone(&table.file)))
            .collect();
        for table in self.tables.iter_mut().filter(|table| !table.file.joins.is_empty()) {
            let file = Arc::make_mut(&mut table.file);
            let path = paths.get(&file.name.to_lowercase());
            for join in std::mem::take(&mut file.joins) {
                match find_join_problem(&join, file, &files) {
                    None => file.joins.push(join),
                    Some(rule) => {
                        let path = path.cloned().unwrap_or_default();
                        self.problems.push(FileProblem { path, line: join.line, rule });
                    }
                }
            }
        }
    }
}

/// Returns the problem of a join of `file` with one of `files`, by their names in small letters.
fn find_join_problem(
    join: &TableJoin,
    file: &TableFile,
    files: &BTreeMap<String, Arc<TableFile>>,
) -> Option<String> {
    let TableJoin { table, columns, .. } = join;
    let Some(other) = files.get(&table.to_lowercase()) else {
        let near = find_near_miss(table, files.values().map(|file| file.name.as_str()));
        let hint = near.map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
        return Some(format!("`joins` names `{table}`, which is no table{hint}"));
    };
    let is_in_database = file.relation.is_some() || other.relation.is_some();
    if is_in_database && file.source != other.source {
        return Some(format!("`joins` names `{table}`, but a query has tables of one database"));
    }
    let is_hidden = |file: &TableFile, name: &str| {
        let mut columns = file.columns.iter().filter(|column| column.is_hidden);
        columns.any(|column| is_same(&column.name, name))
    };
    let columns = columns.iter().flat_map(|(own, theirs)| [(file, own), (&**other, theirs)]);
    let hidden = columns.into_iter().find(|(file, column)| is_hidden(file, column));
    hidden.map(|(file, column)| format!("`joins` names `{}.{column}`, which is hidden", file.name))
}

fn first_line(path: String, rule: &str) -> FileProblem {
    FileProblem { path, line: 1, rule: format!("it {rule}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(files: &[(&str, &str)]) -> Vec<FolderText> {
        let text = |(name, text): &(&str, &str)| FolderText {
            name: format!("tables/{name}"),
            text: Ok((*text).into()),
        };
        files.iter().map(text).collect()
    }

    fn read(files: &mut TableFiles, texts: &[FolderText]) -> (Vec<String>, Vec<String>) {
        let TableReading { tables, problems } = files.read("own/", texts, &Connections::default());
        let names = tables.iter().map(|table| table.file.name.clone()).collect();
        (names, problems.iter().map(ToString::to_string).collect())
    }

    const A: &str = "---\nname: a\nsource: a.csv\n---\n";

    #[test]
    fn a_table_file_keeps_its_last_valid_state_until_it_or_its_data_are_removed() {
        let mut files = TableFiles::default();
        let both = texts(&[("a.md", A), ("a.csv", "hash")]);
        assert_eq!(read(&mut files, &both), (vec!["a".to_owned()], vec![]));
        let (names, problems) = read(&mut files, &texts(&[("a.md", "x"), ("a.csv", "hash")]));
        assert_eq!(names, ["a"]);
        assert!(
            problems[0].starts_with("own/tables/a.md:1: the file begins without"),
            "{problems:?}"
        );
        let (names, problems) = read(&mut files, &both[..1]);
        assert_eq!(names, [""; 0]);
        assert!(
            problems[0].starts_with("own/tables/a.md:3: `source` names `a.csv`"),
            "{problems:?}"
        );
        assert_eq!(read(&mut files, &both[1..]), (vec![], vec![]));
    }

    #[test]
    fn changed_text_or_data_change_the_hash_of_a_table() {
        let mut files = TableFiles::default();
        let mut hash = |text: &str, data: &str| {
            let texts = texts(&[("a.md", text), ("a.csv", data)]);
            files.read("own", &texts, &Connections::default()).tables[0].sha256.clone()
        };
        let first = hash(A, "one");
        assert_eq!(hash(A, "one"), first);
        assert_ne!(hash(A, "two"), first);
        assert_ne!(hash(&format!("{A}Rules."), "one"), first);
    }

    #[test]
    fn joins_with_tables_and_columns_that_no_query_reads_are_problems() {
        let with_keys = |name: &str, source: &str, keys: &str| {
            format!("---\nname: {name}\nsource: {source}\n{keys}---\n")
        };
        let joins = "joins:\n  - a.x = Books.y\n  - C.x = a.y\n  - a.x = book.x\n  - a.cost = books.x\n  - a.x = books.cost\n";
        let hidden = "columns: {cost: {hide: true}}\n";
        let a = with_keys("a", "a.csv", &format!("{joins}{hidden}"));
        let b = with_keys("books", "a.csv", hidden);
        let all = texts(&[("a.csv", "hash"), ("a.md", &a), ("b.md", &b)]);
        let mut files = TableFiles::default();
        for _ in 0..2 {
            let TableReading { tables, problems } =
                files.read("own", &all, &Connections::default());
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            assert_eq!(
                problems,
                [
                    "own/tables/a.md:6: `joins` names `C`, which is no table",
                    "own/tables/a.md:7: `joins` names `book`, which is no table: did you mean `books`?",
                    "own/tables/a.md:8: `joins` names `a.cost`, which is hidden",
                    "own/tables/a.md:9: `joins` names `books.cost`, which is hidden",
                ]
            );
            let lines: Vec<usize> = tables[0].file.joins.iter().map(|join| join.line).collect();
            assert_eq!(lines, [5]);
        }
    }

    #[test]
    fn two_tables_have_different_names_and_unreadable_files_are_named() {
        let upper = A.replace("name: a", "name: A");
        let mut all = texts(&[("a.csv", "hash"), ("a.md", A), ("b.md", &upper)]);
        for name in ["tables/c.csv", "tables/c.md"] {
            all.push(FolderText { name: name.to_owned(), text: Err("is a mess".to_owned()) });
        }
        let (names, problems) = read(&mut TableFiles::default(), &all);
        assert_eq!(names, ["a"]);
        assert_eq!(
            problems,
            [
                "own/tables/c.csv:1: it is a mess",
                "own/tables/b.md:1: `name` is that of the table in own/tables/a.md: choose another",
                "own/tables/c.md:1: it is a mess"
            ]
        );
    }
}
