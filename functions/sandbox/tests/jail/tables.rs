//! Files as tables, read in the jail with every wall that this kernel grants, and with Landlock alone.

use djinn_core::id::FileName;
use djinn_runtime::port::sandbox::{JobEnd, SandboxFile, SandboxJob, SandboxWork, TablesValue};
use sandbox::WallChoice;

use crate::python::{TestSandbox, file, python, start, start_with};

const ORDERS: &str =
    "日期,地区,金额\n2024年1月,华东,\"1,200.50\"\n2024年2月,华北,7\n合计,,1207.5\n";

async fn read(sandbox: &TestSandbox, files: Vec<SandboxFile>) -> Vec<(TablesValue, usize)> {
    let names: Vec<FileName> = files.iter().map(|file| file.name.clone()).collect();
    let work = SandboxWork::ReadTables { names: names.clone() };
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
#[ignore = "needs a Python: cargo verify --only sandbox"]
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
