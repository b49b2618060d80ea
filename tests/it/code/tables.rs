//! Questions over tables: a file becomes a table, SQL answers, and its rows are the run's answer.

mod analyses;
mod charts;
mod cost;
mod kills;
mod tenants;

use std::path::Path;

use djinn_local::write_demo_tables;

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
#[ignore = "needs a Python: cargo verify --only data"]
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
#[ignore = "needs a Python: cargo verify --only data"]
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
#[ignore = "needs a Python: cargo verify --only data"]
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
    let orders = "owner,region,amount,cost,paid\nyou,East,10,99001,2024-01-04T16:00:00Z\n\
        you,West,5,99002,2024-01-05T16:00:00Z\nann,North,700,99003,2024-01-05T16:00:00Z\n";
    std::fs::write(tables.join("orders.csv"), orders).unwrap();
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only data"]
async fn table_of_the_deployment_has_no_hidden_columns_and_no_rows_of_others() {
    let scratch = TempDir::new().unwrap();
    let folder = TempDir::new().unwrap();
    write_table(folder.path());
    let sandbox = open_sandbox(&scratch);
    let config = folder.path().display().to_string();
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_CONFIG", config));
        options.vars.push(("DJINN_TIME_ZONE", "Asia/Shanghai".to_owned()));
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
    // In this time zone the day begins eight hours earlier than in UTC.
    let expected = json!([["you", "West", 5, "2024-01-06"], ["you", "East", 10, "2024-01-05"]]);
    assert_eq!(rows, &expected);
    let requests = world.model.requests();
    let text = format!("{}\n{}", requests[0].system(), requests[0].text());
    for words in [
        "# sales (Sales of the shop)",
        "The year ends in June.",
        "Sum of the order; turnover",
        "Times are in Asia/Shanghai",
        "# sales_2\n",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    for words in ["99001", "700", "North", "| cost", "# secret"] {
        assert!(requests.iter().all(|request| !request.text().contains(words)), "{words}");
    }
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only data"]
async fn query_over_two_joined_tables_answers_a_question() {
    let scratch = TempDir::new().unwrap();
    let folder = TempDir::new().unwrap();
    let tables = folder.path().join("tables");
    std::fs::create_dir_all(&tables).unwrap();
    for (name, text) in [
        ("orders.csv", "id,customer_id,amount\n1,7,10\n2,8,5\n3,7,2.5\n"),
        ("customers.csv", "id,city\n7,Lyon\n8,Bonn\n"),
        (
            "orders.md",
            "---\nname: orders\nsource: orders.csv\njoins:\n  - orders.customer_id = customers.id\n---\n",
        ),
        (
            "customers.md",
            "---\nname: customers\nsource: customers.csv\njoins:\n  - customers.ID = orders.customer\n---\n",
        ),
    ] {
        std::fs::write(tables.join(name), text).unwrap();
    }
    let config = folder.path().display().to_string();
    let sandbox = open_sandbox(&scratch);
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_CONFIG", config));
        options.djinn = Djinn::new().with_sandbox(sandbox);
    });
    let world = world.await;
    let sql = "SELECT city, sum(amount) AS total FROM orders JOIN customers ON customer_id = customers.id \
        GROUP BY 1 ORDER BY 2 DESC";
    at(&world.model, "").call("run_sql", queries(sql));
    let frames = ask(&world).await;
    let result = completed(&frames, "t1.c1.result")[0].json()["result"].clone();
    let rows = &result["view"]["results"][0]["rows"];
    assert_eq!(rows, &json!([["Lyon", 12.5], ["Bonn", 5]]), "{result}");
    let requests = world.model.requests();
    let text = requests[0].text();
    let (_, joins) = text.split_once("Joins:\n").unwrap();
    assert!(joins.starts_with("orders.customer_id = customers.id\n"), "{text}");
    // The other join has a column that the data do not have.
    assert!(!joins.contains("Joins:") && !text.contains("orders.customer\n"), "{text}");
}

/// The events of JoyAgent's data page, and the kinds of all but thoughts.
fn page_events(text: &str) -> (Vec<Value>, Vec<String>) {
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let events: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    let kinds = events.iter().map(|event| event["eventType"].as_str().unwrap().to_owned());
    let kinds = kinds.filter(|kind| kind != "THINK").collect();
    (events, kinds)
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only data"]
async fn joyagents_data_page_lists_and_previews_tables_and_draws_an_answer() {
    let scratch = TempDir::new().unwrap();
    let folder = TempDir::new().unwrap();
    write_table(folder.path());
    let sandbox = open_sandbox(&scratch);
    let config = folder.path().display().to_string();
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_CONFIG", config));
        options.vars.push(("DJINN_TIME_ZONE", "Asia/Shanghai".to_owned()));
        options.djinn = Djinn::new().with_sandbox(sandbox);
    });
    let world = world.await;
    let preview = world.get("/data/previewData?modelCode=sales").await.json()["data"].clone();
    let first = json!({"owner": "you", "region": "East", "amount": 10, "paid": "2024-01-05"});
    assert_eq!((&preview["success"], &preview["dataList"][0]), (&json!(true), &first), "{preview}");
    // The list waits a few seconds for tables; this one was read already.
    let models = world.get("/data/allModels").await.json();
    let model = &models["data"][0];
    assert_eq!(models["data"].as_array().unwrap().len(), 1, "{models}");
    assert_eq!((&model["modelCode"], &model["type"]), (&json!("sales"), &json!("TABLE")));
    let columns = model["schemaList"].as_array().unwrap().iter();
    let columns: Vec<_> = columns.map(|column| column["columnId"].clone()).collect();
    assert_eq!(columns, ["owner", "region", "amount", "paid"]);
    assert_eq!(world.get("/data/previewData?modelCode=secret").await.status, 404);

    let sql = "SELECT region, sum(amount) AS total FROM sales GROUP BY 1";
    at(&world.model, "").say("Sums by region.").call("run_sql", queries(sql));
    let body = json!({"content": "Sales by region?"});
    let answer = world.post("/data/chatQuery", &body).await;
    let (events, kinds) = page_events(&answer.text);
    assert_eq!(kinds, ["DEBUG", "finished_stream", "CHART_DATA", "READY"], "{}", answer.text);
    let thought = events.iter().rfind(|event| event["eventType"] == "THINK").unwrap();
    let thought = thought["data"].as_str().unwrap();
    assert!(thought.starts_with("Sums by region.") && thought.contains(sql), "{thought}");
    let chart = &events[events.len() - 2]["data"][0];
    let rows = chart["dataList"].as_array().unwrap();
    assert_eq!(
        (rows.len(), &chart["dimCols"], &chart["measureCols"]),
        (2, &json!(["c1"]), &json!(["c2"]))
    );
    assert_eq!(chart["nl2sqlResult"], sql);
    assert_eq!(world.get("/sessions").await.json()["sessions"], json!([]));
    assert_eq!(world.model.requests().len(), 1);
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only data"]
async fn demo_model_answers_the_suggested_questions_over_the_demo_tables() {
    let scratch = TempDir::new().unwrap();
    let folder = TempDir::new().unwrap();
    write_demo_tables(folder.path()).unwrap();
    let config = folder.path().display().to_string();
    let options = SystemOptions {
        settings: Some(quick()),
        djinn: Djinn::new().with_sandbox(open_sandbox(&scratch)),
        var: Box::new(move |name| (name == "DJINN_CONFIG").then(|| config.clone())),
        ..SystemOptions::default()
    };
    let system = System::start(options).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    let models = client.get("/data/allModels").await.json();
    let names: Vec<_> =
        models["data"].as_array().unwrap().iter().map(|model| model["modelName"].clone()).collect();
    assert_eq!(names, ["Orders", "销售明细"]);
    for (question, points, kind, has_order) in [
        ("2024年各月销量变化趋势如何？", 12, "DATE", false),
        ("采购成本最高的前十名商品是什么？", 10, "VARCHAR", true),
        ("Sales by region?", 5, "VARCHAR", true),
    ] {
        let answer = client.post("/data/chatQuery", &json!({"content": question})).await;
        let (events, kinds) = page_events(&answer.text);
        assert_eq!(kinds, ["DEBUG", "finished_stream", "CHART_DATA", "READY"], "{}", answer.text);
        let chart = &events[events.len() - 2]["data"][0];
        assert_eq!(chart["dataList"].as_array().unwrap().len(), points, "{chart}");
        assert_eq!(chart["columnList"][0]["dataType"], kind, "{chart}");
        assert_eq!(chart["measureCols"], json!(["c2"]), "{chart}");
        assert_eq!(chart["columnList"][1]["order"].is_string(), has_order, "{chart}");
    }
}
