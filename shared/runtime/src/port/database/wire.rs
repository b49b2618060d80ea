//! A request to a database function, and its reply.

use std::io;

use djinn_agents::DatabaseRelation;
use djinn_core::id::TenantId;
use djinn_core::time_zone::TimeZone;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{DatabaseConnection, DatabaseError, DatabaseQuery, DatabaseRows, DatabaseTable};
use crate::port::payload::PackedBytes;

/// The format of requests and replies of this code. A function of another format rejects the request.
pub const FORMAT: u16 = 1;

/// The maximum packed size of a reply's content, in bytes; base64 adds a third.
pub const MAX_PACKED: usize = 4 * 1024 * 1024;

/// The maximum size of a reply's content as JSON, in bytes: the caller holds it in memory.
const MAX_CONTENT: u64 = 64 * 1024 * 1024;

/// A request in the payload of an invocation. Its connection names the place of the password.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatabaseEnvelope {
    /// The format, always [`FORMAT`].
    pub v: u16,
    /// The database.
    pub connection: DatabaseConnection,
    /// The work to be done.
    pub work: DatabaseWork,
}

/// The work of a database function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "arguments", rename_all = "snake_case")]
pub enum DatabaseWork {
    /// Describes a table.
    Describe {
        /// The table.
        relation: DatabaseRelation,
        /// The caller's tenant.
        tenant: TenantId,
        /// The zone of times.
        time_zone: TimeZone,
    },
    /// Runs a checked query.
    Query(DatabaseQuery),
}

impl DatabaseWork {
    /// Returns the tenant of the verified caller.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        match self {
            Self::Describe { tenant, .. } => tenant,
            Self::Query(query) => &query.user.tenant,
        }
    }
}

/// The reply of a database function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatabaseReply {
    /// A [`DatabaseTable`] as JSON.
    Table(PackedBytes),
    /// [`DatabaseRows`] as JSON.
    Rows(PackedBytes),
    /// The reason for no result.
    Failed(DatabaseError),
}

impl DatabaseReply {
    /// Packs a description. A description above the limit has no samples.
    #[must_use]
    pub fn of_table(table: DatabaseTable) -> Self {
        fit_table(table, MAX_PACKED).map_or(Self::Failed(DatabaseError::Unavailable), Self::Table)
    }

    /// Packs rows. Of rows above the limit, the first half is tried, and so on.
    #[must_use]
    pub fn of_rows(rows: DatabaseRows) -> Self {
        fit_rows(rows, MAX_PACKED).map_or(Self::Failed(DatabaseError::Unavailable), Self::Rows)
    }

    /// Returns a description.
    ///
    /// # Errors
    /// Returns the error of the reply, or [`DatabaseError::Unavailable`] for a reply to other work.
    pub fn into_table(self) -> Result<DatabaseTable, DatabaseError> {
        match self {
            Self::Table(packed) => unpack(&packed),
            Self::Failed(error) => Err(error),
            Self::Rows(_) => Err(DatabaseError::Unavailable),
        }
    }

    /// Returns rows.
    ///
    /// # Errors
    /// Returns the error of the reply, or [`DatabaseError::Unavailable`] for a reply to other work.
    pub fn into_rows(self) -> Result<DatabaseRows, DatabaseError> {
        match self {
            Self::Rows(packed) => unpack(&packed),
            Self::Failed(error) => Err(error),
            Self::Table(_) => Err(DatabaseError::Unavailable),
        }
    }
}

fn fit_table(mut table: DatabaseTable, most: usize) -> Option<PackedBytes> {
    pack(&table).filter(|packed| packed.len() <= most).or_else(|| {
        table.columns.iter_mut().for_each(|column| column.samples.clear());
        pack(&table).filter(|packed| packed.len() <= most)
    })
}

fn fit_rows(mut rows: DatabaseRows, most: usize) -> Option<PackedBytes> {
    loop {
        let packed = pack(&rows)?;
        if packed.len() <= most || rows.rows.is_empty() {
            return Some(packed);
        }
        rows.rows.truncate(rows.rows.len() / 2);
        rows.is_cut = true;
    }
}

fn pack(content: &impl Serialize) -> Option<PackedBytes> {
    PackedBytes::pack(&serde_json::to_vec(content).ok()?).ok()
}

fn unpack<T: DeserializeOwned>(packed: &PackedBytes) -> Result<T, DatabaseError> {
    let content = packed.unpack(MAX_CONTENT);
    let parsed = content.and_then(|json| serde_json::from_slice(&json).map_err(io::Error::from));
    parsed.map_err(|error| {
        tracing::error!(%error, "the reply of a database function is not valid");
        DatabaseError::Unavailable
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::port::database::DatabasePassword;
    use crate::port::sandbox::table::TableColumn;
    use crate::port::secret::Secret;

    fn envelope() -> serde_json::Value {
        json!({
            "v": 1,
            "connection": {
                "host": "db.example", "port": 5432, "database": "shop", "user": "djinn",
                "password": {"stored": "djinn/data/shop"}, "ca": "-----BEGIN CERTIFICATE-----",
            },
            "work": {"kind": "query", "arguments": {
                "text": "SELECT 1",
                "views": [{
                    "name": "orders", "relation": {"table": {"schema": "public", "name": "orders"}},
                    "columns": ["id"], "condition": "owner = {user}",
                }],
                "user": {"tenant": "acme", "user": "ann"},
                "time_zone": "Asia/Shanghai", "max_rows": 10, "max_bytes": 100, "timeout_ms": 1000,
            }},
        })
    }

    #[test]
    fn request_looks_like_this() {
        let read: DatabaseEnvelope = serde_json::from_value(envelope()).unwrap();
        assert_eq!(json!(read), envelope());
        assert_eq!(read.work.tenant().as_str(), "acme");
        let describe = json!({"kind": "describe", "arguments": {
            "relation": {"query": "SELECT 1"}, "tenant": "acme", "time_zone": "UTC",
        }});
        let read: DatabaseWork = serde_json::from_value(describe.clone()).unwrap();
        assert_eq!((json!(read), read.tenant().as_str()), (describe, "acme"));
    }

    #[test]
    fn request_never_contains_a_password() {
        let mut read: DatabaseEnvelope = serde_json::from_value(envelope()).unwrap();
        read.connection.password = DatabasePassword::Inline(Secret::new("geheim-4711"));
        assert!(serde_json::to_string(&read).is_err());
        let mut inline = envelope();
        inline["connection"]["password"] = json!({"inline": "geheim-4711"});
        assert!(serde_json::from_value::<DatabaseEnvelope>(inline).is_err());
    }

    #[test]
    fn reply_has_the_rows_or_the_error() {
        let rows = DatabaseRows { rows: vec!["{\"a\":1}".to_owned()], ..DatabaseRows::default() };
        let reply = DatabaseReply::of_rows(rows.clone());
        let sent: DatabaseReply = serde_json::from_value(json!(reply)).unwrap();
        assert_eq!(sent.clone().into_rows(), Ok(rows));
        assert_eq!(sent.into_table(), Err(DatabaseError::Unavailable));
        let table = DatabaseTable { rows: 3, names: vec!["a".into()], ..DatabaseTable::default() };
        assert_eq!(DatabaseReply::of_table(table.clone()).into_table(), Ok(table));
        let error = DatabaseError::UnknownColumn("cost".to_owned());
        let failed = json!({"failed": {"unknown_column": "cost"}});
        assert_eq!(json!(DatabaseReply::Failed(error.clone())), failed);
        let sent: DatabaseReply = serde_json::from_value(failed).unwrap();
        assert_eq!(sent.into_rows(), Err(error));
        assert_eq!(
            json!(DatabaseReply::Failed(DatabaseError::Timeout)),
            json!({"failed": "timeout"})
        );
    }

    /// Text that cannot be compressed to less than half its size.
    fn noise(count: usize) -> String {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b' ' + u8::try_from(state >> 58).unwrap())
        };
        (0..count).map(|_| next()).filter(|c| !"\"\\".contains(*c)).collect()
    }

    #[test]
    fn reply_above_the_limit_has_fewer_rows() {
        let noise = noise(10_000);
        let rows: Vec<String> =
            (0..9).map(|row| noise[row * 1_024..][..1_024].to_owned()).collect();
        let sent = DatabaseRows { rows: rows.clone(), ..DatabaseRows::default() };
        let packed = fit_rows(sent, 4096).unwrap();
        let read = DatabaseReply::Rows(packed).into_rows().unwrap();
        assert_eq!((read.rows.len(), read.is_cut), (4, true));
        assert_eq!(read.rows, rows[..4]);
        let column = TableColumn { samples: rows, ..TableColumn::default() };
        let table = DatabaseTable { columns: vec![column], ..DatabaseTable::default() };
        let packed = fit_table(table, 4096).unwrap();
        let read = DatabaseReply::Table(packed).into_table().unwrap();
        assert!(read.columns.len() == 1 && read.columns[0].samples.is_empty());
    }
}
