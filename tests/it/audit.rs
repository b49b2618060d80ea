//! Audits of journals that an administrator edited in the table.

use djinn_scripted::ScriptedModel;
use dynoxide::Database;
use dynoxide::actions::delete_item::DeleteItemRequest;
use dynoxide::actions::get_item::GetItemRequest;
use dynoxide::actions::put_item::PutItemRequest;
use serde_json::{Value, json};

use crate::table::made;
use crate::template::transformed;
use crate::world::{Door, Protocol, Question};

fn record_key(run: &str, record: u64) -> Value {
    let partition = format!("local#RUN#{run}");
    json!({
        "TableName": djinn_local::TABLE,
        "Key": {"pk": {"S": partition}, "sk": {"S": format!("J#{record:010}")}},
    })
}

fn read_item(database: &Database, run: &str, record: u64) -> Value {
    let get: GetItemRequest = serde_json::from_value(record_key(run, record)).unwrap();
    json!(database.get_item(get).unwrap().item.unwrap())
}

fn write_item(database: &Database, item: &Value) {
    let put = json!({"TableName": djinn_local::TABLE, "Item": item});
    let put: PutItemRequest = serde_json::from_value(put).unwrap();
    database.put_item(put).unwrap();
}

fn delete_record(database: &Database, run: &str, record: u64) {
    let delete: DeleteItemRequest = serde_json::from_value(record_key(run, record)).unwrap();
    database.delete_item(delete).unwrap();
}

#[tokio::test]
async fn audit_names_a_record_that_was_edited_dropped_or_cut_off() {
    let database = made(&transformed()["Resources"]["Table"]["Properties"]);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(dynoxide::server::serve_on(listener, database.clone()));
    let model = ScriptedModel::start().await.unwrap();
    let at = |settings: &mut djinn_aws::Settings| settings.endpoints.dynamodb = Some(url);
    let mut door = Door::open(&model, at, |_| {});
    let client = door.listen().await;
    model.on("Who decides?").reply("You do.");
    let stream = client.ask(Protocol::Native, &Question::of("Who decides?", "s1")).await;
    let (run, _) = (stream.run(), stream.rest().await);
    let path = format!("/runs/{run}/audit");
    let audit = client.get(&path).await;
    assert_eq!((audit.status, audit.text.lines().count()), (200, 2), "{}", audit.text);

    let altered = async |detail: &str| {
        let body = client.get(&path).await;
        let status = body.status;
        let body = body.json();
        assert_eq!((status, &body["code"]), (500, &json!("journal_altered")), "{body}");
        assert_eq!(body["detail"], detail);
        assert!(body["message"].as_str().unwrap().contains(detail), "{body}");
    };
    let (first, last) = (read_item(&database, &run, 0), read_item(&database, &run, 1));
    let mut edited = first.clone();
    let body = edited["body"]["M"]["inline"]["S"].as_str().unwrap();
    let body = body.replace("Who decides?", "Who paid?");
    edited["body"]["M"]["inline"]["S"] = json!(body);
    write_item(&database, &edited);
    // The run is shown as the table has it; the audit is not.
    assert_eq!(client.get(&format!("/runs/{run}")).await.json()["status"], "finished");
    altered("record 0 was changed").await;

    delete_record(&database, &run, 0);
    altered("record 0 is missing").await;
    write_item(&database, &first);
    assert_eq!(client.get(&path).await.text, audit.text);
    delete_record(&database, &run, 1);
    altered("record 1 is missing").await;
    write_item(&database, &last);

    // Each record has the hash of its bytes, and the last one is of another journal.
    let mut other = last.clone();
    other["previous"] = json!({"S": "0".repeat(64)});
    write_item(&database, &other);
    altered("record 1 was changed").await;
}
