//! The charts of JoyAgent's data page, drawn by the page's own code in Node.js from the answers to questions.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::*;

/// Days in two years, each with a region and a number.
fn write_sales(folder: &Path) {
    let tables = folder.join("tables");
    std::fs::create_dir_all(&tables).unwrap();
    let rows = (0..40).map(|place| {
        let (year, month, region) = (2023 + place % 2, 1 + place % 12, place % 8);
        format!("{year}-{month:02}-{:02},R{region},{}\n", 1 + place % 28, 10 + place)
    });
    let text = format!("day,region,amount\n{}", rows.collect::<String>());
    std::fs::write(tables.join("sales.csv"), text).unwrap();
    std::fs::write(tables.join("sales.md"), "---\nname: sales\nsource: sales.csv\n---\n").unwrap();
}

/// Returns what the page draws of each element of `CHART_DATA`.
fn draw(fields: &[Value]) -> Vec<Value> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/joyagent/charts.mjs");
    let mut node = Command::new("node")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("Node.js draws the charts: {error}"));
    node.stdin.take().unwrap().write_all(json!(fields).to_string().as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
#[ignore = "needs a Python and Node.js: cargo verify --only data"]
async fn joyagents_page_draws_the_chart_that_fits_a_result() {
    let (scratch, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write_sales(folder.path());
    let config = folder.path().display().to_string();
    let sandbox = open_sandbox(&scratch);
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_CONFIG", config));
        options.djinn = Djinn::new().with_sandbox(sandbox);
    });
    let world = world.await;
    let total = "sum(amount) AS total FROM sales";
    let three = "WHERE region < 'R3' GROUP BY 1";
    // The chart, with the number of its names or rows.
    let cases = [
        ("dates", "line", 40, format!("SELECT day, {total} GROUP BY 1")),
        ("times", "line", 40, format!("SELECT day::TIMESTAMP AS time, {total} GROUP BY 1")),
        ("years as numbers", "line", 2, format!("SELECT year(day) AS year, {total} GROUP BY 1")),
        (
            "months as texts",
            "line",
            12,
            format!("SELECT strftime(day, '%Y-%m') AS month, {total} GROUP BY 1"),
        ),
        ("ordered dates", "line", 40, format!("SELECT day, {total} GROUP BY 1 ORDER BY 1 DESC")),
        ("parts of a whole", "pie", 3, format!("SELECT region, {total} {three}")),
        (
            "few averages",
            "hbar",
            3,
            format!("SELECT region, avg(amount) AS mean FROM sales {three}"),
        ),
        (
            "few negative values",
            "hbar",
            3,
            format!("SELECT region, -sum(amount) AS loss FROM sales {three}"),
        ),
        (
            "a ranking",
            "hbar",
            7,
            format!("SELECT region, {total} GROUP BY 1 ORDER BY 2 DESC LIMIT 7"),
        ),
        ("many parts", "bar", 8, format!("SELECT region, {total} GROUP BY 1")),
        ("two measures", "bar", 8, format!("SELECT region, count(*) AS n, {total} GROUP BY 1")),
        (
            "two measures of few",
            "hbar",
            3,
            format!("SELECT region, count(*) AS n, {total} {three}"),
        ),
        ("many bars", "table", 40, format!("SELECT region || day AS both, {total} GROUP BY 1")),
        ("two dimensions", "table", 40, format!("SELECT region, day, {total} GROUP BY 1, 2")),
        ("a listing", "table", 40, "SELECT region, amount FROM sales".to_owned()),
        ("a listing of dates", "table", 40, "SELECT day, amount FROM sales".to_owned()),
        ("one number", "kpiGroup", 1, format!("SELECT {total}")),
        (
            "one row with a text",
            "table",
            1,
            format!("SELECT region, {total} WHERE region = 'R1' GROUP BY 1"),
        ),
        ("no rows", "table", 0, format!("SELECT region, {total} WHERE amount > 1000 GROUP BY 1")),
    ];
    let mut fields = Vec::new();
    for (name, _, _, sql) in &cases {
        at(&world.model, "").call("run_sql", queries(sql));
        let answer = world.post("/data/chatQuery", &json!({"content": name})).await;
        let (events, kinds) = page_events(&answer.text);
        assert_eq!(kinds, ["DEBUG", "finished_stream", "CHART_DATA", "READY"], "{}", answer.text);
        fields.push(events[events.len() - 2]["data"][0].clone());
    }
    for ((name, chart, count, _), drawn) in cases.iter().zip(draw(&fields)) {
        let names = drawn["names"].as_array().unwrap();
        let shown = names.len() + usize::try_from(drawn["rows"].as_u64().unwrap()).unwrap();
        assert_eq!((&drawn["chart"], shown), (&json!(chart), *count), "{name}: {drawn}");
        if *chart == "line" {
            assert!(names.is_sorted_by_key(Value::to_string), "{name}: {drawn}");
        }
        let mut points = drawn["points"].as_array().unwrap().iter();
        let is_drawn = |series: &Value| series.as_array().unwrap().iter().all(Value::is_number);
        assert!(points.all(is_drawn), "{name}: {drawn}");
    }
}
