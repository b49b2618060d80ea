//! Questions over HTTP whose rows are those of PostgreSQL.

use std::path::Path;
use std::sync::Arc;

use djinn_local::{Djinn, PostgresDatabase};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::server::PASSWORD;
use super::{ORDERS, Server};
use crate::agents::at;
use crate::code::{completed, open_sandbox};
use crate::world::{Frame, World};

/// The tables `orders`, of whose rows a caller has its own, a view over all regions, and one of another tenant.
fn write_tables(folder: &Path) {
    let tables = folder.join("tables");
    std::fs::create_dir_all(&tables).unwrap();
    let orders = "---\nname: orders\ntitle: Orders of the shop\nsource: shop\n\
        rows: owner = {user} AND {tenant} = 'local'\ncolumns:\n\
        \x20 amount: {about: Sum of the order, also: [turnover]}\n  cost: {hide: true}\n---\n\
        The year ends in June.\n";
    let regions =
        "---\nname: regions\nsource: shop\nsql: SELECT DISTINCT region FROM public.orders\n---\n";
    let items = "---\nname: items\nsource: shop\ntable: public.items\n---\n";
    let foreign = "---\nname: secret\nsource: shop\ntable: public.secrets\ntenants: [acme]\n---\n";
    for (name, text) in
        [("orders", orders), ("regions", regions), ("items", items), ("secret", foreign)]
    {
        std::fs::write(tables.join(format!("{name}.md")), text).unwrap();
    }
}

async fn start(scratch: &TempDir, folder: &TempDir, server: &Server) -> World {
    write_tables(folder.path());
    server.write_connection(folder.path());
    let sandbox = open_sandbox(scratch);
    let config = folder.path().display().to_string();
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_CONFIG", config));
        options.vars.push(("DJINN_TIME_ZONE", "Asia/Shanghai".to_owned()));
        options.vars.push(("SHOP_PASSWORD", PASSWORD.to_owned()));
        options.djinn =
            Djinn::new().with_sandbox(sandbox).with_database(Arc::new(PostgresDatabase::default()));
    });
    world.await
}

async fn ask(world: &World) -> Vec<Frame> {
    let body = json!({"question": "What is the total of each region?", "mode": "data_query", "session_id": "s1"});
    let request = world.request(reqwest::Method::POST, "/runs").json(&body);
    world.ask_with(request).await.rest().await
}

fn queries(sql: &str) -> Value {
    json!({"queries": [{"question": "Totals by region", "sql": sql}]})
}

fn result(frames: &[Frame], turn: u32) -> Value {
    completed(frames, &format!("t{turn}.c1.result"))[0].json()["result"].clone()
}

fn assert_says(result: &Value, words: &[&str]) {
    let detail = result["detail"].as_str().unwrap_or_else(|| panic!("{result}"));
    for word in words {
        assert!(detail.contains(word), "{word}: {detail}");
    }
    for word in ["localhost", "reader", "127.0.0.1", "4711", "shop"] {
        assert!(!detail.contains(word), "{word}: {detail}");
    }
}

#[tokio::test]
#[ignore = "needs a Python and a PostgreSQL: cargo verify --only data"]
async fn database_answers_with_the_callers_rows_and_no_hidden_columns() {
    let server = Server::start(ORDERS).await;
    let (scratch, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let world = start(&scratch, &folder, &server).await;
    let sql = "SELECT region, sum(amount) AS total, max(paid)::date AS day FROM Orders GROUP BY region ORDER BY total DESC";
    at(&world.model, "")
        .call("run_sql", queries("SELECT cost FROM orders"))
        .then()
        .call(
            "run_sql",
            json!({"queries": [
                {"question": "All?", "sql": "SELECT * FROM public.orders"},
                {"question": "None?", "sql": "WITH x AS (DELETE FROM orders RETURNING *) SELECT * FROM x"},
            ]}),
        )
        .then()
        .call("run_sql", queries("SELECT word FROM secret"))
        .then()
        .call("run_sql", queries(sql));
    let frames = ask(&world).await;
    for (turn, words) in [
        (1, &["There is no column `cost`", "There are: id, owner, region, amount"][..]),
        (2, &["Write `public.orders` without a schema", "Only a query is run"][..]),
        (3, &["There is no table `secret`"][..]),
    ] {
        assert_says(&result(&frames, turn), words);
    }
    let rows = &result(&frames, 4)["view"]["results"][0];
    // In this time zone the day begins eight hours earlier than in UTC.
    let expected = json!([["East", 10, "2024-01-05"], ["West", 5, "2024-01-06"]]);
    assert_eq!((&rows["rows"], &rows["sql"]), (&expected, &json!(sql)), "{rows}");
    let column = &rows["columns"][1];
    let facts = (&column["aggregate"], &column["role"], &column["order"]);
    assert_eq!(facts, (&json!("sum"), &json!("measure"), &json!("desc")));
    let requests = world.model.requests();
    let text = requests[0].text();
    for words in [
        "# orders (Orders of the shop)\n\nA table of PostgreSQL.",
        "| id | integer, key |",
        "Sum of the order; turnover",
        "# regions",
        "Joins:\nitems.order_id = orders.id\n",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    for words in ["9900", "North", "| cost", "# secret", "4711", "localhost"] {
        assert!(requests.iter().all(|request| !request.text().contains(words)), "{words}");
    }

    let preview = world.get("/data/previewData?modelCode=orders").await.json()["data"].clone();
    assert_eq!(preview["dataList"].as_array().unwrap().len(), 2, "{preview}");
    assert!(preview["dataList"][0].get("cost").is_none(), "{preview}");
    let models = world.get("/data/allModels").await.json();
    assert_eq!(models["data"].as_array().unwrap().len(), 3, "{models}");
}

#[tokio::test]
#[ignore = "needs a Python and a PostgreSQL: cargo verify --only data"]
async fn empty_results_name_the_condition_with_values_of_the_callers_rows() {
    let server = Server::start(ORDERS).await;
    let (scratch, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let world = start(&scratch, &folder, &server).await;
    let queries = json!({"queries": [
        {"question": "Est?", "sql": "SELECT id FROM orders WHERE amount > 1 AND region = 'Est'"},
        {"question": "2030?", "sql": "SELECT id FROM orders WHERE paid > '2030-01-01'"},
    ]});
    at(&world.model, "").call("run_sql", queries).then().reply("No order fits.");
    let result = result(&ask(&world).await, 1);
    for (query, words) in
        [(0, &["Est", "East", "West"][..]), (1, &["2024-01-05", "2024-01-06"][..])]
    {
        let text = format!("{} {}", result["detail"], result["view"]["results"][query]["notes"]);
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
        assert!(!text.contains("North"), "{text}");
    }
}

#[tokio::test]
#[ignore = "needs a Python and a PostgreSQL: cargo verify --only data"]
async fn database_that_changes_or_is_down_says_so_in_a_sentence() {
    let mut server = Server::start(ORDERS).await;
    let (scratch, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let world = start(&scratch, &folder, &server).await;
    let sql = "SELECT sum(o.amount) AS total FROM orders o JOIN items i ON i.order_id = o.id";
    at(&world.model, "")
        .call("run_sql", queries(sql))
        .then()
        .call("run_sql", queries("SELECT count(*) AS n FROM orders"));
    let frames = ask(&world).await;
    assert_says(&result(&frames, 1), &["counts rows several times"]);
    assert_eq!(result(&frames, 2)["view"]["results"][0]["rows"], json!([[2]]));

    let admin = server.admin().await;
    admin.batch_execute("ALTER TABLE orders RENAME region TO area").await.unwrap();
    at(&world.model, "")
        .call("run_sql", queries("SELECT region FROM orders"))
        .then()
        .call("run_sql", queries("SELECT area FROM orders ORDER BY 1"));
    let frames = ask(&world).await;
    assert_says(&result(&frames, 1), &["A table has changed", "orders.area"]);
    let rows = &result(&frames, 2)["view"]["results"][0]["rows"];
    assert_eq!(rows, &json!([["East"], ["West"]]));

    admin.batch_execute("ALTER ROLE reader PASSWORD 'other'").await.unwrap();
    at(&world.model, "")
        .call("run_sql", queries("SELECT 1 AS n FROM orders"))
        .then()
        .reply("It cannot be answered.");
    assert_says(&result(&ask(&world).await, 1), &["The database rejects the login"]);
    server.stop();
    at(&world.model, "")
        .call("run_sql", queries("SELECT 1 AS n FROM orders"))
        .then()
        .reply("It cannot be answered.");
    assert_says(&result(&ask(&world).await, 1), &["The database cannot be reached now"]);
}
