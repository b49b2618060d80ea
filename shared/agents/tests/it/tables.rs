//! Table files.

use std::collections::BTreeSet;

use djinn_agents::{
    AnalysisPart, DatabaseRelation, DescribedColumn, TableFile, TableJoin, TableSources, read_table,
};

fn read(text: &str) -> Result<TableFile, String> {
    let data = BTreeSet::from(["orders.csv", "book.xlsx"]);
    let sources = TableSources { data, connections: BTreeSet::from(["shop"]) };
    read_table("tables/a.md", text, &sources).map_err(|problem| problem.to_string())
}

/// A file with these lines of front matter after `name` (line 2) and `source` (line 3).
fn with_keys(keys: &str) -> String {
    format!("---\nname: orders\nsource: orders.csv\n{keys}\n---\nA year ends in June.\n")
}

#[test]
fn a_table_file_says_where_rows_come_from_and_who_has_them() {
    let table = read(
        "---\nname: 订单\ntitle: Orders\nsource: book.xlsx\nsheet: Sheet 1\n\
         sql: SELECT * FROM book;\ntenants: [acme, beta]\nrows: owner = {user} AND t = {tenant}\n\
         columns:\n  金额: {about: The amount., also: [额, sum], values: true}\n  b: The other.\n\
         \u{20} c: {hide: true}\n  d: {always: true, analyze: none}\n\
         joins:\n- 订单.b = people.id\n- areas.\"area, no\" = 订单.a AND 订单.b = areas.b\n\
         - areas.\"a = b AND c\"=订单.a and  订单.b=Areas.b\n---\n\nA year ends in June.\n",
    );
    let column =
        |name: &str| DescribedColumn { name: name.to_owned(), ..DescribedColumn::default() };
    let amount = DescribedColumn {
        about: "The amount.".to_owned(),
        also: vec!["额".to_owned(), "sum".to_owned()],
        has_values: true,
        ..column("金额")
    };
    let other = DescribedColumn { about: "The other.".to_owned(), ..column("b") };
    let hidden = DescribedColumn { is_hidden: true, ..column("c") };
    let always =
        DescribedColumn { is_always_shown: true, part: Some(AnalysisPart::Neither), ..column("d") };
    let join = |line, table: &str, columns: &[(&str, &str)]| TableJoin {
        line,
        table: table.to_owned(),
        columns: columns.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
    };
    let expected = TableFile {
        name: "订单".to_owned(),
        title: Some("Orders".to_owned()),
        source: "book.xlsx".to_owned(),
        relation: None,
        sheet: Some("Sheet 1".to_owned()),
        sql: Some("SELECT * FROM book".to_owned()),
        tenants: vec!["acme".to_owned(), "beta".to_owned()],
        rows: Some("owner = {user} AND t = {tenant}".to_owned()),
        columns: vec![amount, other, hidden, always],
        joins: vec![
            join(15, "people", &[("b", "id")]),
            join(16, "areas", &[("a", "area, no"), ("b", "b")]),
            join(17, "Areas", &[("a", "a = b AND c"), ("b", "b")]),
        ],
        rules: "A year ends in June.".to_owned(),
    };
    assert_eq!(table, Ok(expected));
    let least = read("---\nname: a\nsource: orders.csv\n---\n").unwrap();
    assert_eq!((least.rules.as_str(), least.columns.len()), ("", 0));
}

#[test]
fn a_table_of_a_connection_has_the_rows_of_a_table_or_of_a_query() {
    let relation = |keys: &str| {
        let text = format!("---\nname: orders\nsource: shop\n{keys}---\n");
        read(&text).unwrap().relation.unwrap()
    };
    let table = |schema: &str, name: &str| DatabaseRelation::Table {
        schema: schema.to_owned(),
        name: name.to_owned(),
    };
    assert_eq!(relation(""), table("public", "orders"));
    assert_eq!(relation("table: Sales.Orders 2024\n"), table("Sales", "Orders 2024"));
    let query = DatabaseRelation::Query("SELECT 1".to_owned());
    assert_eq!(relation("sql: SELECT 1;\n"), query);
}

#[test]
fn a_broken_table_file_is_described_with_its_line() {
    let long = "x".repeat(501);
    let many_joins: Vec<String> = (0..51).map(|n| format!("orders.a = b.c{n}")).collect();
    let rules = format!("---\nname: a\nsource: orders.csv\n---\n\n{}", "x".repeat(8_193));
    let name = |name: &str| format!("---\nname: {name}\nsource: orders.csv\n---\n");
    let source = |source: &str| format!("---\nname: a\nsource: {source}\n---\n");
    let cases: Vec<(String, &str)> = vec![
        (String::new(), "1: the file begins without front matter"),
        ("name: a\n".to_owned(), "1: the file begins without front matter"),
        ("---\nname: a\n".to_owned(), "1: the front matter has no end"),
        ("---\n- a\n---\n".to_owned(), "2: the front matter must be a mapping of keys"),
        ("---\nname: [\n---\n".to_owned(), "the front matter is not valid YAML"),
        ("---\nsource: orders.csv\n---\n".to_owned(), "1: `name` is missing"),
        (name("a b"), "2: `name` is the text `a b`"),
        (name("1a"), "2: `name` is the text `1a`"),
        (name("\"a\\\"b\""), "2: `name` is the text"),
        (name("a$b"), "2: `name` is the text `a$b`"),
        (name(&"a".repeat(61)), "2: `name` is the text"),
        (name("7"), "2: `name` is the number `7`"),
        ("---\nname: a\n---\n".to_owned(), "1: `source` is missing"),
        (source("orders.xls"), "3: `source` is the text `orders.xls`"),
        (
            source("order.csv"),
            "3: `source` names `order.csv`, which is missing: did you mean `orders.csv`?",
        ),
        (
            source("../../etc/passwd.csv"),
            "3: `source` names `../../etc/passwd.csv`, which is not beside",
        ),
        (source("[a.csv]"), "3: `source` is a list"),
        (source("shopp"), "3: `source` names no connection `shopp`: did you mean `shop`?"),
        (with_keys("table: public.a"), "4: `table` is only allowed with a `source` that is a"),
        (source("shop\ntable: public.a\nsql: SELECT 1"), "4: `table` is not allowed with `sql`"),
        (source("shop\ntable: orders"), "4: `table` is the text `orders`: `schema.name`"),
        (source("shop\ntable: .a"), "4: `table` is the text `.a`: `schema.name`"),
        (source("shop\nsheet: a"), "4: `sheet` is only allowed with"),
        (with_keys("sheet: a"), "4: `sheet` is only allowed with"),
        (with_keys("titel: a"), "4: `titel` is no key of a table: did you mean `title`?"),
        (with_keys("zzz: a"), "4: `zzz` is no key of a table: there are name,"),
        (with_keys("title: [a]"), "4: `title` is a list"),
        (with_keys("sql: SELECT 1; DROP TABLE a"), "4: `sql` contains a semicolon"),
        (with_keys("sql: 7"), "4: `sql` is the number `7`: a query is expected"),
        (with_keys("rows: owner = {usr}"), "4: `rows` has an unknown placeholder"),
        (with_keys("rows: owner = '{user}'"), "4: `rows` has a placeholder in quotation marks"),
        (with_keys("rows: true"), "4: `rows` is the boolean `true`"),
        (with_keys("tenants: [a, a]"), "4: `tenants` holds `a` twice"),
        (with_keys("tenants: {a: b}"), "4: `tenants` is a mapping"),
        (with_keys("columns: [a]"), "4: `columns` is a list"),
        (
            with_keys("columns:\n  a: 7"),
            "5: `a` is the number `7`: a text about the column or a mapping",
        ),
        (
            with_keys("columns:\n  a: {hid: true}"),
            "5: `hid` is no key of a column: did you mean `hide`?",
        ),
        (with_keys("columns:\n  a: {hide: yes}"), "5: `hide` is the text `yes`: true or false"),
        (
            with_keys("columns:\n  a: {hide: true, values: true}"),
            "5: `values` is not allowed with `hide`",
        ),
        (
            with_keys("columns:\n  a: {hide: true, analyze: measure}"),
            "5: `analyze` is not allowed with `hide`",
        ),
        (
            with_keys("columns:\n  a: {analyze: true}"),
            "5: `analyze` is the boolean `true`: `dimension`, `measure` or `none` is expected",
        ),
        (with_keys("joins: {a: b}"), "4: `joins` is a mapping"),
        (with_keys(&format!("joins: [{}]", many_joins.join(", "))), "4: `joins` has 51 joins"),
        (with_keys("joins:\n- orders.a"), "5: `joins` holds the text `orders.a`: `TABLE.COLUMN ="),
        (with_keys("joins:\n- orders.a = b"), "5: `joins` holds the text `orders.a = b`"),
        (with_keys("joins:\n- orders.a = .b"), "5: `joins` holds the text `orders.a = .b`"),
        (with_keys("joins:\n- b.a = c.a"), "`orders` on one side is expected"),
        (with_keys("joins:\n- orders.a b = c.a"), "5: `joins` holds the text `orders.a b = c.a`"),
        (
            with_keys("joins:\n- orders.a = c.a AND"),
            "5: `joins` holds the text `orders.a = c.a AND`",
        ),
        (with_keys("joins:\n- orders.a = c.a OR orders.b = c.b"), "5: `joins` holds the text"),
        (with_keys("joins:\n- orders.a = c.a = orders.b"), "5: `joins` holds the text"),
        (
            with_keys("joins:\n- orders.a = b.a AND orders.a = c.a"),
            "5: `joins` holds the text `orders.a = b.a AND orders.a = c.a`",
        ),
        (with_keys("columns:\n  a: x\n  A: y"), "6: `columns` has `A` twice"),
        (with_keys("columns:\n  a: x\n  a: y"), "6: `a` stands in line 5 already"),
        (with_keys(&format!("columns:\n  a: {long}")), "5: `about` has a text of more than 500"),
        (with_keys("name: b"), "4: `name` stands in line 2 already"),
        (rules, "6: the business rules have 8193 bytes"),
    ];
    for (text, says) in cases {
        let problem = read(&text).unwrap_err();
        assert!(problem.starts_with("tables/a.md:") && problem.contains(says), "{says}: {problem}");
    }
}
