//! The table, served by dynoxide from memory or from the SQLite file `table.db`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use djinn_aws::table::table_definition;
use dynoxide::Database;
use dynoxide::actions::create_table::CreateTableRequest;
use dynoxide::actions::describe_time_to_live::DescribeTimeToLiveRequest;
use dynoxide::actions::query::QueryRequest;
use dynoxide::actions::update_time_to_live::{TimeToLiveSpecification, UpdateTimeToLiveRequest};
use serde_json::json;

use super::{StoresError, TABLE};
use crate::private::create_private_file;

/// Opens the database and its table.
///
/// Creating the table takes several commits. In a directory, the database is created under another name and
/// renamed when complete, so a killed process leaves no partial table.
pub(super) fn open_table(dir: Option<&Path>) -> Result<Database, StoresError> {
    let path = dir.map_or_else(|| PathBuf::from(":memory:"), |dir| dir.join("table.db"));
    let open = || {
        let Some(dir) = dir else {
            let database = Database::memory().map_err(|error| error.to_string())?;
            create_table(&database)?;
            return Ok(database);
        };
        if !path.exists() {
            make_database(dir, &path)?;
        }
        let database = open_database(&path)?;
        check_table(&database)?;
        Ok(database)
    };
    open().map_err(|problem| StoresError::Table { path: path.clone(), problem })
}

fn make_database(dir: &Path, path: &Path) -> Result<(), String> {
    for leftover in ["table.db.new", "table.db.new-wal", "table.db.new-shm"] {
        // The leftover of a killed process; usually absent.
        let _ = std::fs::remove_file(dir.join(leftover));
    }
    let draft = dir.join("table.db.new");
    create_private_file(&draft).map_err(|error| error.to_string())?;
    create_table(&open_database(&draft)?)?;
    std::fs::rename(&draft, path).map_err(|error| error.to_string())
}

fn open_database(path: &Path) -> Result<Database, String> {
    Database::new(path.to_str().ok_or("its path is not UTF-8")?).map_err(|error| error.to_string())
}

fn create_table(database: &Database) -> Result<(), String> {
    let definition = table_definition();
    let partition = definition.partition_key;
    let sort = definition.sort_key;
    let table: CreateTableRequest = serde_json::from_value(json!({
        "TableName": TABLE,
        "BillingMode": definition.billing_mode,
        "AttributeDefinitions": [
            {"AttributeName": partition, "AttributeType": "S"},
            {"AttributeName": sort, "AttributeType": "S"},
        ],
        "KeySchema": [
            {"AttributeName": partition, "KeyType": "HASH"},
            {"AttributeName": sort, "KeyType": "RANGE"},
        ],
    }))
    .map_err(|error| error.to_string())?;
    database.create_table(table).map_err(|error| error.to_string())?;
    let expiry = UpdateTimeToLiveRequest {
        table_name: TABLE.to_owned(),
        time_to_live_specification: TimeToLiveSpecification {
            attribute_name: definition.expiry.to_owned(),
            enabled: true,
        },
    };
    database.update_time_to_live(expiry).map(drop).map_err(|error| error.to_string())
}

/// Reads from the table, and checks if items expire.
fn check_table(database: &Database) -> Result<(), String> {
    let nothing: QueryRequest = serde_json::from_value(json!({
        "TableName": TABLE,
        "KeyConditionExpression": "pk = :none AND sk = :none",
        "ExpressionAttributeValues": {":none": {"S": "none"}},
    }))
    .map_err(|error| error.to_string())?;
    database.query(nothing).map_err(|error| error.to_string())?;
    let table = DescribeTimeToLiveRequest { table_name: TABLE.to_owned() };
    let expiry = database
        .describe_time_to_live(table)
        .map_err(|error| error.to_string())?
        .time_to_live_description;
    if expiry.attribute_name.as_deref() == Some(table_definition().expiry) {
        Ok(())
    } else {
        Err("its items do not expire".to_owned())
    }
}

/// Deletes expired items at the interval `every`. dynoxide does not delete them.
pub(super) async fn sweep_expired(database: Database, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let database = database.clone();
        match tokio::task::spawn_blocking(move || database.sweep_ttl()).await {
            Ok(Ok(0)) => {}
            Ok(Ok(deleted)) => tracing::debug!(deleted, "expired items deleted"),
            Ok(Err(error)) => tracing::warn!(%error, "expired items not deleted"),
            Err(error) => tracing::warn!(%error, "expired items not deleted"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dynoxide::actions::get_item::GetItemRequest;
    use dynoxide::actions::put_item::PutItemRequest;

    #[tokio::test]
    async fn what_has_expired_is_swept_and_nothing_else() {
        let database = open_table(None).unwrap();
        for (name, expires) in [("old", "1"), ("young", "4102444800")] {
            let put = json!({
                "TableName": TABLE,
                "Item": {"pk": {"S": name}, "sk": {"S": "x"}, "expires": {"N": expires}},
            });
            let put: PutItemRequest = serde_json::from_value(put).unwrap();
            database.put_item(put).unwrap();
        }
        let is_there = |name: &str| {
            let get = json!({"TableName": TABLE, "Key": {"pk": {"S": name}, "sk": {"S": "x"}}});
            let get: GetItemRequest = serde_json::from_value(get).unwrap();
            database.get_item(get).unwrap().item.is_some()
        };
        assert!(is_there("old") && is_there("young"));
        let sweeping = tokio::spawn(sweep_expired(database.clone(), Duration::from_millis(1)));
        while is_there("old") {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(is_there("young"));
        sweeping.abort();
    }
}
