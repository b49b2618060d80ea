//! The rows of a checked query.

use std::pin::pin;
use std::time::Duration;

use djinn_runtime::port::database::{DatabaseError, DatabaseQuery, DatabaseRows};
use djinn_runtime::port::sandbox::table::QueryColumn;
use futures::TryStreamExt as _;
use tokio_postgres::Transaction;
use tokio_postgres::types::{ToSql, Type};

use crate::connect::{OpenConnection, end_transaction};
use crate::failure;
use crate::kind::kind_of;
use crate::statement::{build_columns, build_rows};

/// The types of a statement's parameters, even if no condition has them.
const PARAMETER_TYPES: [Type; 2] = [Type::TEXT, Type::TEXT];

/// The time after a query's own, for a server that does not stop the query itself.
const GRACE: Duration = Duration::from_secs(1);

/// Returns the rows of a checked query.
///
/// # Errors
/// Returns [`DatabaseError`].
pub(crate) async fn query(
    open: &mut OpenConnection,
    query: &DatabaseQuery,
) -> Result<DatabaseRows, DatabaseError> {
    let transaction = open.begin(query.time_zone, query.timeout_ms).await?;
    let most = Duration::from_millis(query.timeout_ms.into()) + GRACE;
    let result = tokio::time::timeout(most, read_rows(&transaction, query)).await;
    let result = result.unwrap_or_else(|_| {
        tracing::warn!("a database did not stop a query in time");
        Err(DatabaseError::Timeout)
    });
    // The server still sends the rest of a result that was not read to its end.
    let has_rest = result.as_ref().is_ok_and(|(_, has_rest)| *has_rest);
    let is_clean = if has_rest {
        drop(transaction);
        false
    } else {
        end_transaction(transaction).await
    };
    open.set_clean(is_clean);
    result.map(|(rows, _)| rows)
}

/// Returns the rows, and true if the server has more of them that were not read.
async fn read_rows(
    transaction: &Transaction<'_>,
    query: &DatabaseQuery,
) -> Result<(DatabaseRows, bool), DatabaseError> {
    let columns = build_columns(query);
    let described = transaction.prepare_typed(&columns.text, &PARAMETER_TYPES).await;
    let described = described.map_err(|error| failure::of_statement(&error, columns.prefix))?;
    let columns = described.columns().iter().map(|column| QueryColumn {
        name: column.name().to_owned(),
        kind: kind_of(column.type_()).to_owned(),
    });
    let mut result = DatabaseRows { columns: columns.collect(), ..DatabaseRows::default() };
    let rows = build_rows(query);
    let failed = |error| failure::of_statement(&error, rows.prefix);
    let prepared = transaction.prepare_typed(&rows.text, &PARAMETER_TYPES).await.map_err(failed)?;
    let parameters: [&(dyn ToSql + Sync); 2] =
        [&query.user.user.as_str(), &query.user.tenant.as_str()];
    let stream = transaction.query_raw(&prepared, parameters).await.map_err(failed)?;
    let mut stream = pin!(stream);
    let mut room = query.max_bytes;
    while let Some(row) = stream.try_next().await.map_err(failed)? {
        if result.rows.len() == query.max_rows {
            // The statement has one row more than the maximum, so the stream ends now.
            result.is_cut = true;
            continue;
        }
        let row: Option<String> = row.try_get(0).map_err(failed)?;
        // A column of JSON may have line breaks between its values.
        let row = row.unwrap_or_default().replace(['\n', '\r'], " ");
        if row.len() > room {
            result.is_cut = true;
            return Ok((result, true));
        }
        room -= row.len();
        result.rows.push(row);
    }
    Ok((result, false))
}
