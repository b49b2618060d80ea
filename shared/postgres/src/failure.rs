//! Errors of PostgreSQL. The log has their codes; a sentence for a model has neither address nor name of the connection.

use djinn_runtime::port::database::DatabaseError;
use tokio_postgres::Error;
use tokio_postgres::error::{ErrorPosition, SqlState};

/// Maximum characters of the server's sentence about a query.
const MAX_SENTENCE: usize = 500;

/// Returns the error of a failed login.
#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn of_login(error: Error) -> DatabaseError {
    let rejected = [SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION];
    let code = error.code();
    tracing::warn!(code = code.map(SqlState::code), %error, "no connection to a database");
    if code.is_some_and(|code| rejected.contains(code)) {
        DatabaseError::Rejected
    } else {
        DatabaseError::Unavailable
    }
}

/// Returns the error of a failed statement, whose first `prefix` characters a model did not write.
pub(crate) fn of_statement(error: &Error, prefix: usize) -> DatabaseError {
    let Some(server) = error.as_db_error() else {
        tracing::warn!(%error, "the connection to a database ended");
        return DatabaseError::Unavailable;
    };
    let code = server.code();
    let is_ours = match server.position() {
        Some(ErrorPosition::Original(place)) => usize::try_from(*place).unwrap_or(0) <= prefix,
        Some(ErrorPosition::Internal { .. }) | None => false,
    };
    if is_ours {
        tracing::warn!(code = code.code(), "a table does not fit its database");
        return DatabaseError::Changed;
    }
    let class = code.code().get(..2).unwrap_or_default();
    match class {
        "57" | "55" if [SqlState::QUERY_CANCELED, SqlState::LOCK_NOT_AVAILABLE].contains(code) => {
            DatabaseError::Timeout
        }
        "42" if *code == SqlState::UNDEFINED_COLUMN => {
            DatabaseError::UnknownColumn(find_quoted(server.message()).to_owned())
        }
        "42" if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
            tracing::warn!(code = code.code(), "the user of a database lacks a right");
            DatabaseError::Unavailable
        }
        // The condition of a table may fail at a value of another caller's row.
        "22" => DatabaseError::Query(leave_out_value(server.message()).to_owned()),
        "0A" | "21" | "42" => {
            DatabaseError::Query(server.message().chars().take(MAX_SENTENCE).collect())
        }
        "53" | "54" => DatabaseError::Query("the query needs more than the database gives".into()),
        _ => {
            tracing::warn!(code = code.code(), "a database failed");
            DatabaseError::Unavailable
        }
    }
}

/// Returns the name in quotation marks, without the name of its table: `column o.total does not exist` has none.
fn find_quoted(message: &str) -> &str {
    let name = message.split('"').nth(1).or_else(|| message.split(' ').nth(1));
    let name = name.unwrap_or_default();
    name.rsplit_once('.').map_or(name, |(_, name)| name)
}

/// Returns the beginning of a sentence that ends with a value: `invalid input syntax for type integer: "x"`.
fn leave_out_value(message: &str) -> &str {
    message.split([':', '"']).next().unwrap_or_default().trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_at_which_a_query_failed_is_left_out() {
        for (message, left) in [
            (
                "invalid input syntax for type integer: \"North\"",
                "invalid input syntax for type integer",
            ),
            ("value \"99999999999\" is out of range for type integer", "value"),
            ("division by zero", "division by zero"),
        ] {
            assert_eq!(leave_out_value(message), left);
        }
    }

    #[test]
    fn name_of_a_column_is_found_in_the_servers_sentence() {
        for (message, name) in [
            ("column \"total\" does not exist", "total"),
            ("column o.total does not exist", "total"),
            ("column \"总 额\" does not exist", "总 额"),
            ("", ""),
        ] {
            assert_eq!(find_quoted(message), name);
        }
    }
}
