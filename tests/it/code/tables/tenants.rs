//! The tables of a deployment for users of two tenants: in lists, previews and queries.

use agent::KeyList;

use super::*;
use crate::keys::keyed;

/// Words of three users, of whom two have the same name.
const WORDS: &str = "owner,firm,word\nanna,acme,oak\nbob,acme,elm\nanna,evil,fir\n";
const USERS: [(&str, &str); 3] = [("acme", "anna"), ("acme", "bob"), ("evil", "anna")];
const TABLES: [&str; 4] = ["everyone", "acme_all", "evil_own", "nobody"];

/// Returns the words that a user has in a table; `None` without the table.
fn words_of(user: (&str, &str), table: &str) -> Option<Vec<&'static str>> {
    match (table, user) {
        ("everyone", ("acme", "anna")) => Some(vec!["oak"]),
        ("everyone", ("acme", "bob")) => Some(vec!["elm"]),
        ("everyone", ("evil", _)) => Some(vec!["fir"]),
        ("acme_all", ("acme", _)) => Some(vec!["elm", "fir", "oak"]),
        ("evil_own", ("evil", "anna")) => Some(vec!["fir", "oak"]),
        _ => None,
    }
}

fn write_tables(folder: &Path) {
    let tables = folder.join("tables");
    std::fs::create_dir_all(&tables).unwrap();
    std::fs::write(tables.join("words.csv"), WORDS).unwrap();
    for (name, keys) in TABLES.iter().zip([
        "rows: owner = {user} AND firm = {tenant}\n",
        "tenants: [acme]\n",
        "tenants: [evil]\nrows: owner = {user}\n",
        "tenants: [other]\n",
    ]) {
        let text = format!("---\nname: {name}\nsource: words.csv\n{keys}---\n");
        std::fs::write(tables.join(format!("{name}.md")), text).unwrap();
    }
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only data"]
async fn users_have_the_tables_of_their_tenant_with_their_own_rows() {
    let (scratch, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write_tables(folder.path());
    let (KeyList::Inline(list), keys) = keyed(USERS) else { panic!("no list") };
    let list = serde_json::to_string(&list).unwrap();
    let config = folder.path().display().to_string();
    let sandbox = open_sandbox(&scratch);
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_CONFIG", config));
        options.vars.push(("DJINN_AUTH", "key".to_owned()));
        options.vars.push(("DJINN_API_KEYS", list));
        options.djinn = Djinn::new().with_sandbox(sandbox);
    });
    let world = world.await;
    let mut earlier_requests = 0;
    for (user, key) in USERS.iter().zip(keys) {
        let client = world.client.clone().bearing(&key);
        let models = client.get("/data/allModels").await.json();
        let models = models["data"].as_array().unwrap().iter();
        let mut listed: Vec<_> = models.map(|model| model["modelCode"].clone()).collect();
        listed.sort_by_key(Value::to_string);
        let mut expected: Vec<_> =
            TABLES.into_iter().filter(|table| words_of(*user, table).is_some()).collect();
        expected.sort_unstable();
        assert_eq!(listed, expected, "{user:?}");
        for table in TABLES {
            let words = words_of(*user, table);
            let preview = client.get(&format!("/data/previewData?modelCode={table}")).await;
            let rows = preview.json()["data"]["dataList"].clone();
            let mut preview_words: Vec<_> =
                rows.as_array().into_iter().flatten().map(|row| row["word"].clone()).collect();
            preview_words.sort_by_key(Value::to_string);
            assert_eq!(preview.status, if words.is_some() { 200 } else { 404 }, "{user:?} {table}");
            assert_eq!(preview_words, words.clone().unwrap_or_default(), "{user:?} {table}");

            let sql = format!("SELECT word FROM {table} ORDER BY 1");
            let rule = at(&world.model, "").call("run_sql", queries(&sql));
            if words.is_none() {
                rule.then().reply("There is no such table.");
            }
            let body =
                json!({"question": "Which words?", "mode": "data_query", "session_id": table});
            let request = client.request(reqwest::Method::POST, "/runs").json(&body);
            let frames = client.ask_with(request).await.rest().await;
            let result = completed(&frames, "t1.c1.result")[0].json()["result"].clone();
            match words {
                Some(words) => {
                    let rows: Vec<_> = words.iter().map(|word| json!([word])).collect();
                    assert_eq!(result["view"]["results"][0]["rows"], json!(rows), "{user:?}");
                }
                None => {
                    let detail = result["detail"].as_str().unwrap();
                    assert!(detail.contains(&format!("There is no table `{table}`")), "{detail}");
                }
            }
            // A model sees the user's tables and no others.
            let requests = world.model.requests();
            for other in TABLES {
                let heading = format!("# {other}");
                let mut later = requests.iter().skip(earlier_requests);
                let is_seen = later.any(|request| request.text().contains(&heading));
                assert_eq!(is_seen, words_of(*user, other).is_some(), "{user:?} {other}");
            }
            earlier_requests = requests.len();
        }
    }
}
