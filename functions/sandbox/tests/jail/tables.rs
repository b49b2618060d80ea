//! Files as tables, read in the jail with every wall that this kernel grants, and with Landlock alone.

use djinn_core::id::FileName;
use djinn_core::time_zone::TimeZone;
use djinn_runtime::port::sandbox::table::{
    QueryColumn, QueryTable, QueryText, QueryValue, TablesValue,
};
use djinn_runtime::port::sandbox::{JobEnd, SandboxFile, SandboxJob, SandboxWork};
use sandbox::WallChoice;

use crate::python::{TestSandbox, file, python, start, start_with};

const ORDERS: &str =
    "日期,地区,金额\n2024年1月,华东,\"1,200.50\"\n2024年2月,华北,7\n合计,,1207.5\n";

async fn read(sandbox: &TestSandbox, files: Vec<SandboxFile>) -> Vec<(TablesValue, usize)> {
    let names: Vec<FileName> = files.iter().map(|file| file.name.clone()).collect();
    let work = SandboxWork::ReadTables {
        names: names.clone(),
        time_zone: TimeZone::default(),
        rule: None,
    };
    let answer = sandbox.run(SandboxJob { work, files, state: Vec::new() }).await;
    assert_eq!(answer.end, JobEnd::Done, "{answer:?}");
    let value = |name: &FileName| {
        let value: TablesValue =
            serde_json::from_value(answer.value[name.as_str()].clone()).unwrap();
        let is_product =
            |parquet: &str| answer.products.iter().any(|product| product.name.as_str() == parquet);
        let products = value.tables.iter().filter(|table| is_product(&table.parquet)).count();
        (value, products)
    };
    names.iter().map(value).collect()
}

/// The walls of this machine, and those of a kernel that grants no private root.
fn sandboxes() -> Vec<TestSandbox> {
    let landlock_alone = WallChoice { private_root: false, max_landlock: u32::MAX };
    vec![start(), start_with(&python(), landlock_alone)]
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only data"]
async fn files_become_typed_tables_within_all_walls() {
    for sandbox in sandboxes() {
        let files =
            vec![file("订单.csv", ORDERS), file("a.json", "[{\"a\": 1}]"), file("a.csv", "")];
        let read = read(&sandbox, files).await;
        let [(orders, 1), (json, 1), (empty, 0)] = read.as_slice() else { panic!("{read:?}") };
        let table = &orders.tables[0];
        assert_eq!((table.table.as_str(), table.rows), ("订单", 2));
        let kinds: Vec<&str> = table.columns.iter().map(|column| column.kind.as_str()).collect();
        assert_eq!(kinds, ["date", "text", "decimal"]);
        assert!(table.notes.iter().any(|note| note.code == "total_rows" && note.count == 1));
        assert_eq!((json.tables[0].rows, empty.problem.as_str()), (1, "no_table"));
    }
}

/// Queries, and the code of each error, or an empty text.
const QUERIES: &[(&str, &str)] = &[
    ("SELECT 地区, sum(金额) FROM 订单 GROUP BY 1 ORDER BY 2", ""),
    ("SELECT * FROM read_text('/proc/self/environ')", "function"),
    ("DROP TABLE 订单", "no_query"),
];

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only data"]
async fn queries_run_within_all_walls() {
    for sandbox in sandboxes() {
        let name = FileName::new("订单.csv").unwrap();
        let work = SandboxWork::ReadTables {
            names: vec![name.clone()],
            time_zone: TimeZone::default(),
            rule: None,
        };
        let files = vec![file("订单.csv", ORDERS)];
        let answer = sandbox.run(SandboxJob { work, files, state: Vec::new() }).await;
        let value = answer.value[name.as_str()].clone();
        let table = serde_json::from_value::<TablesValue>(value).unwrap().tables.remove(0);
        let columns = table.columns.into_iter();
        let columns = columns.map(|column| QueryColumn { name: column.name, kind: column.kind });
        let work = SandboxWork::Query {
            tables: vec![QueryTable {
                name: table.table,
                parquet: Some(FileName::new(table.parquet).unwrap()),
                database: None,
                columns: columns.collect(),
            }],
            queries: QUERIES
                .iter()
                .map(|(sql, _)| QueryText { question: String::new(), sql: (*sql).to_owned() })
                .collect(),
            accepted: Vec::new(),
            seconds: 10,
            time_zone: TimeZone::default(),
        };
        let job = SandboxJob { work, files: answer.products, state: Vec::new() };
        let answer = sandbox.run(job).await;
        assert_eq!(answer.end, JobEnd::Done, "{answer:?}");
        let value: QueryValue = serde_json::from_value(answer.value).unwrap();
        let codes: Vec<&str> = value
            .results
            .iter()
            .map(|result| result.error.as_ref().map_or("", |error| error.code.as_str()))
            .collect();
        assert_eq!(codes, QUERIES.iter().map(|(_, code)| *code).collect::<Vec<_>>());
        assert_eq!(value.results[0].rows, r#"[["华北", 7], ["华东", 1200.5]]"#);
        let [product] = answer.products.as_slice() else { panic!("{:?}", answer.products) };
        assert_eq!(product.name.as_str(), "query-1.csv");
    }
}
