//! The table as the template defines it, on the local store.

use djinn_aws::table::table_definition;
use djinn_scripted::ScriptedModel;
use dynoxide::Database;
use dynoxide::actions::create_table::CreateTableRequest;
use dynoxide::actions::delete_item::DeleteItemRequest;
use dynoxide::actions::describe_time_to_live::DescribeTimeToLiveRequest;
use dynoxide::actions::update_time_to_live::UpdateTimeToLiveRequest;
use serde_json::{Value, json};

use crate::template::transformed;
use crate::world::{Door, Protocol, QUESTION, Question, SALES, script};

/// The template's table, made as CloudFormation makes it.
pub(crate) fn made(properties: &Value) -> Database {
    let database = Database::memory().unwrap();
    let mut table = json!({"TableName": djinn_local::TABLE});
    for name in ["AttributeDefinitions", "KeySchema", "BillingMode"] {
        table[name] = properties[name].clone();
    }
    let table: CreateTableRequest = serde_json::from_value(table).unwrap();
    database.create_table(table).unwrap();
    let expiry = json!({
        "TableName": djinn_local::TABLE,
        "TimeToLiveSpecification": properties["TimeToLiveSpecification"],
    });
    let expiry: UpdateTimeToLiveRequest = serde_json::from_value(expiry).unwrap();
    database.update_time_to_live(expiry).unwrap();
    database
}

#[test]
fn the_template_and_the_code_define_the_same_table() {
    let template = transformed();
    let properties = &template["Resources"]["Table"]["Properties"];
    let known = table_definition();
    let key = |name, kind| json!({"AttributeName": name, "KeyType": kind});
    let keys = json!([key(known.partition_key, "HASH"), key(known.sort_key, "RANGE")]);
    assert_eq!(properties["KeySchema"], keys);
    let text = |name| json!({"AttributeName": name, "AttributeType": "S"});
    let attributes = json!([text(known.partition_key), text(known.sort_key)]);
    assert_eq!(properties["AttributeDefinitions"], attributes);
    assert_eq!(properties["BillingMode"], known.billing_mode);
    let expiry = json!({"AttributeName": known.expiry, "Enabled": true});
    assert_eq!(properties["TimeToLiveSpecification"], expiry);
    for absent in ["GlobalSecondaryIndexes", "LocalSecondaryIndexes", "StreamSpecification"] {
        assert!(properties[absent].is_null(), "{absent}");
    }
    let expires = DescribeTimeToLiveRequest { table_name: djinn_local::TABLE.to_owned() };
    let expires = made(properties).describe_time_to_live(expires).unwrap();
    let attribute = expires.time_to_live_description.attribute_name;
    assert_eq!(attribute.as_deref(), Some(known.expiry));
}

#[tokio::test]
async fn a_run_lives_in_the_templates_table() {
    let database = made(&transformed()["Resources"]["Table"]["Properties"]);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(dynoxide::server::serve_on(listener, database.clone()));
    let model = ScriptedModel::start().await.unwrap();
    let at = |settings: &mut djinn_aws::Settings| settings.endpoints.dynamodb = Some(url);
    let mut door = Door::open(&model, at, |_| {});
    let client = door.listen().await;
    client.upload("s1", "sales.csv", SALES).await;
    script(&model, QUESTION);
    let question = Question::of(QUESTION, "s1");
    let told = client.told(&question).await;
    assert_eq!(told.last().unwrap().json()["files"][0]["name"], "growth.md");
    assert_eq!(client.told(&question).await.last(), told.last());
    let stats = database.table_stats().unwrap();
    assert!(stats.iter().any(|table| table.item_count > 10), "the run is in another table");
    model.assert_done();
}

#[tokio::test]
async fn a_run_whose_journal_has_expired_is_known_by_its_metadata() {
    let database = made(&transformed()["Resources"]["Table"]["Properties"]);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(dynoxide::server::serve_on(listener, database.clone()));
    let model = ScriptedModel::start().await.unwrap();
    let at = |settings: &mut djinn_aws::Settings| settings.endpoints.dynamodb = Some(url);
    let mut door = Door::open(&model, at, |_| {});
    let client = door.listen().await;
    model.on("What lasts?").reply("Little.");
    let question = Question::of("What lasts?", "s1");
    let stream = client.ask(Protocol::Native, &question).await;
    let (run, _) = (stream.run(), stream.rest().await);
    for record in 0..2 {
        let key = json!({
            "TableName": djinn_local::TABLE,
            "Key": {
                "pk": {"S": format!("local#RUN#{run}")},
                "sk": {"S": format!("J#{record:010}")},
            },
            "ReturnValues": "ALL_OLD",
        });
        let key: DeleteItemRequest = serde_json::from_value(key).unwrap();
        assert!(database.delete_item(key).unwrap().attributes.is_some());
    }
    for cursor in [None, Some(format!("{run}:1")), Some("x".to_owned())] {
        let stream = client.come_back(&run, cursor.as_deref()).await;
        assert_eq!((stream.status, &stream.body().await["code"]), (410, &json!("run_expired")));
        let again = cursor.map_or(question.clone(), |cursor| question.clone().after(&cursor));
        for protocol in [Protocol::Native, Protocol::Raw] {
            let stream = client.ask(protocol, &again).await;
            assert_eq!((stream.status, &stream.body().await["code"]), (410, &json!("run_expired")));
        }
        let envelope = client.ask(Protocol::Ui, &again).await.rest().await[0].json();
        assert_eq!(
            (&envelope["finished"], &envelope["errorMsg"]),
            (&json!(true), &json!("run_expired"))
        );
    }
    let shown = client.get(&format!("/runs/{run}")).await.json();
    assert_eq!((&shown["status"], &shown["mode"]), (&json!("expired"), &json!("react")));
    assert_eq!((&shown["session"], &shown["request"]), (&json!("s1"), &json!("r1")));
    assert!(shown["ended_at_ms"].is_i64() && shown.get("question").is_none(), "{shown}");
    // What was said outlives how it came about.
    let session = client.get("/sessions/s1").await.json();
    assert_eq!(session["turns"][0]["answer"], "Little.");
    assert_eq!(client.delete("/sessions/s1").await.status, 204);
    let gone = client.get(&format!("/runs/{run}")).await;
    assert_eq!(gone.status, 404);
}
