//! Questions over tables: a file becomes a table, SQL answers, and its rows are the run's answer.

use std::path::Path;

use super::*;

/// A title, a total, a decimal mark in quotes, and months as people write them.
const ORDERS: &str = "2024年订单,,\n月份,地区,金额\n2024年1月,华东,\"1,200.50\"\n2024年1月,华北,300\n\
                      2024年2月,华东,\"2,000.25\"\n合计,,\"3,500.75\"\n";
const TOTALS: &str =
    "SELECT \"地区\", sum(\"金额\") AS \"总额\" FROM \"orders\" GROUP BY 1 ORDER BY 2 DESC";

async fn ask(world: &World) -> Vec<Frame> {
    let body = json!({"question": "What is the total of each region?", "mode": "data_query", "session_id": "s1"});
    let request = world.request(reqwest::Method::POST, "/runs").json(&body);
    world.ask_with(request).await.rest().await
}

fn queries(sql: &str) -> Value {
    json!({"queries": [{"question": "Totals by region", "sql": sql}]})
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn right_query_costs_one_model_call_and_its_rows_are_the_answer() {
    let scratch = TempDir::new().unwrap();
    let world = start(&scratch).await;
    world.upload("s1", "orders.csv", ORDERS).await;
    at(&world.model, "").say("The regions, with their sums.").call("run_sql", queries(TOTALS));
    let frames = ask(&world).await;
    let ended = frames.last().unwrap().json();
    assert_eq!(ended["status"], "finished", "{ended}");
    assert_eq!(ended["spent"]["model_calls"], 1);
    let answer = ended["answer"].as_str().unwrap();
    for words in ["| 华东 | 3200.75 |", "| 华北 | 300 |", "```sql", "Totals by region"] {
        assert!(answer.contains(words), "{words}: {answer}");
    }
    let result = completed(&frames, "t1.c1.result")[0].json()["result"].clone();
    let view = &result["view"];
    assert_eq!(view["kind"], "rows", "{result}");
    let rows = &view["results"][0];
    assert_eq!(rows["rows"], json!([["华东", 3200.75], ["华北", 300]]));
    assert_eq!(rows["sql"], TOTALS);
    let column = &rows["columns"][1];
    assert_eq!(
        (&column["name"], &column["aggregate"], &column["role"], &column["order"]),
        (&json!("总额"), &json!("sum"), &json!("measure"), &json!("desc"))
    );
    assert_eq!(rows["chart"], json!({"kind": "bar", "x": "地区", "y": ["总额"]}));
    // Before its call the model saw the table, and what was left out of the file.
    let requests = world.model.requests();
    let text = requests[0].text();
    for words in
        ["# orders", "| 月份 | date, month_as_first_day", "rows of totals", "rows of titles"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(requests[0].offers_tool("run_sql") && !requests[0].offers_tool("find_tables"));
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn wrong_query_is_corrected_and_a_hostile_one_is_not_run() {
    let scratch = TempDir::new().unwrap();
    let world = start(&scratch).await;
    world.upload("s1", "orders.csv", ORDERS).await;
    at(&world.model, "")
        .call("run_sql", queries("SELECT \"总金额\" FROM \"orders\""))
        .then()
        .call("run_sql", queries("SELECT * FROM \"orders\" WHERE \"地区\" = '华東'"))
        .then()
        .call("run_sql", queries("COPY \"orders\" TO 'x.csv'"))
        .then()
        .reply("It cannot be answered.");
    let frames = ask(&world).await;
    let ended = frames.last().unwrap().json();
    assert_eq!(
        (&ended["status"], &ended["answer"]),
        (&json!("finished"), &json!("It cannot be answered."))
    );
    for (turn, words) in [
        (1, ["There is no column `总金额`", "金额"]),
        (2, ["leaves no rows", "华东, 华北"]),
        (3, ["Only a query is run", "COPY"]),
    ] {
        let result = completed(&frames, &format!("t{turn}.c1.result"))[0].json()["result"].clone();
        assert_eq!(result["status"], "failed", "{result}");
        let detail = result["detail"].as_str().unwrap();
        assert!(words.iter().all(|part| detail.contains(part)), "{turn}: {detail}");
    }
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn without_tables_the_model_is_told_so() {
    let scratch = TempDir::new().unwrap();
    let world = start(&scratch).await;
    at(&world.model, "").reply("There is no table. Add a file.");
    let ended = ask(&world).await.last().unwrap().json();
    assert_eq!(ended["answer"], "There is no table. Add a file.");
    assert!(world.model.requests()[0].text().contains("There are no tables."));
}

/// The configuration folder with a table over `orders.csv`, of whose rows a caller has its own.
fn write_table(folder: &Path) {
    let tables = folder.join("tables");
    std::fs::create_dir_all(&tables).unwrap();
    let text = "---\nname: sales\ntitle: Sales of the shop\nsource: orders.csv\n\
        rows: owner = {user} AND {tenant} = 'local'\ncolumns:\n\
        \x20 amount: {about: Sum of the order, also: [turnover]}\n  cost: {hide: true}\n---\n\
        The year ends in June.\n";
    std::fs::write(tables.join("sales.md"), text).unwrap();
    let foreign = "---\nname: secret\nsource: orders.csv\ntenants: [acme]\n---\n";
    std::fs::write(tables.join("secret.md"), foreign).unwrap();
    let orders =
        "owner,region,amount,cost\nyou,East,10,99001\nyou,West,5,99002\nann,North,700,99003\n";
    std::fs::write(tables.join("orders.csv"), orders).unwrap();
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn table_of_the_deployment_has_no_hidden_columns_and_no_rows_of_others() {
    let scratch = TempDir::new().unwrap();
    let folder = TempDir::new().unwrap();
    write_table(folder.path());
    let sandbox = open_sandbox(&scratch);
    let config = folder.path().display().to_string();
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_CONFIG", config));
        options.djinn = Djinn::new().with_sandbox(sandbox);
    });
    let world = world.await;
    world.upload("s1", "sales.csv", ORDERS).await;
    at(&world.model, "")
        .call("run_sql", queries("SELECT cost FROM sales"))
        .then()
        .call("run_sql", queries("SELECT * FROM secret"))
        .then()
        .call("run_sql", queries("SELECT * FROM sales ORDER BY amount"));
    let frames = ask(&world).await;
    let result =
        |turn: u32| completed(&frames, &format!("t{turn}.c1.result"))[0].json()["result"].clone();
    for (turn, words) in [(1, "There is no column `cost`"), (2, "There is no table `secret`")] {
        assert!(result(turn)["detail"].as_str().unwrap().contains(words), "{}", result(turn));
    }
    let rows = &result(3)["view"]["results"][0]["rows"];
    assert_eq!(rows, &json!([["you", "West", 5], ["you", "East", 10]]));
    let requests = world.model.requests();
    let text = requests[0].text();
    for words in [
        "# sales (Sales of the shop)",
        "The year ends in June.",
        "Sum of the order; turnover",
        "# sales_2\n",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    for words in ["99001", "700", "North", "| cost", "# secret"] {
        assert!(requests.iter().all(|request| !request.text().contains(words)), "{words}");
    }
}
