//! The statement for a checked query: the query over views that have the caller's columns and rows alone.

use djinn_agents::DatabaseRelation;
use djinn_runtime::port::database::{DatabaseQuery, DatabaseView};

/// The alias of the checked query's rows, which no column of a result has.
const ROW: &str = "\"djinn row\"";

/// The parameters of a statement: the user and the tenant.
const PARAMETERS: [(&str, &str); 2] =
    [("{user}", "CAST($1 AS text)"), ("{tenant}", "CAST($2 AS text)")];

/// A statement, with the number of characters before the checked query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) text: String,
    pub(crate) prefix: usize,
}

/// Returns the statement whose rows are JSON objects, at most one more than the maximum.
pub(crate) fn build_rows(query: &DatabaseQuery) -> Statement {
    let end = format!(" LIMIT {}", query.max_rows.saturating_add(1));
    build(query, &format!("pg_catalog.to_json({ROW})::text"), &end)
}

/// Returns the statement with the columns of the result.
pub(crate) fn build_columns(query: &DatabaseQuery) -> Statement {
    build(query, &format!("{ROW}.*"), "")
}

fn build(query: &DatabaseQuery, selected: &str, end: &str) -> Statement {
    let views: Vec<String> = query.views.iter().map(define_view).collect();
    let with = if views.is_empty() { String::new() } else { format!("WITH {} ", views.join(", ")) };
    let before = format!("{with}SELECT {selected} FROM (");
    let text = format!("{before}{}) AS {ROW}{end}", query.text);
    Statement { text, prefix: before.chars().count() }
}

/// Returns the definition of a view. With a condition, `OFFSET 0` keeps the query's own conditions, whose errors would
/// show values, from the rows of others.
fn define_view(view: &DatabaseView) -> String {
    let columns: Vec<String> = view.columns.iter().map(|name| quote_name(name)).collect();
    let columns = columns.join(", ");
    let rows = build_relation(&view.relation);
    let condition = view.condition.as_ref().map(|condition| {
        let filled = PARAMETERS
            .iter()
            .fold(condition.clone(), |text, (place, value)| text.replace(place, value));
        format!(" WHERE (\n{filled}\n) OFFSET 0")
    });
    let name = quote_name(&view.name);
    let condition = condition.unwrap_or_default();
    format!("{name} AS NOT MATERIALIZED (SELECT {columns} FROM {rows}{condition})")
}

/// Returns a table or a query as a source of rows.
pub(crate) fn build_relation(relation: &DatabaseRelation) -> String {
    match relation {
        DatabaseRelation::Table { schema, name } => {
            format!("{}.{}", quote_name(schema), quote_name(name))
        }
        DatabaseRelation::Query(sql) => format!("(\n{sql}\n) AS \"djinn view\""),
    }
}

fn quote_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use djinn_core::id::{TenantId, UserId};
    use djinn_core::time_zone::TimeZone;
    use djinn_runtime::port::UserKey;

    use super::*;

    #[test]
    fn statement_has_a_view_for_each_table_with_its_columns_and_rows() {
        let orders = DatabaseView {
            name: "orders".to_owned(),
            relation: DatabaseRelation::Table { schema: "public".into(), name: "Or\"ders".into() },
            columns: vec!["id".to_owned(), "a\"b".to_owned()],
            condition: Some("owner = {user} AND t = {tenant} -- own".to_owned()),
        };
        let view = DatabaseView {
            name: "v".to_owned(),
            relation: DatabaseRelation::Query("SELECT 1 AS n".to_owned()),
            columns: vec!["n".to_owned()],
            condition: None,
        };
        let user =
            UserKey { tenant: TenantId::new("acme").unwrap(), user: UserId::new("ann").unwrap() };
        let query = DatabaseQuery {
            text: "SELECT 2".to_owned(),
            views: vec![orders, view],
            user,
            time_zone: TimeZone::default(),
            max_rows: 10,
            max_bytes: 100,
            timeout_ms: 1,
        };
        let views = "WITH \"orders\" AS NOT MATERIALIZED (SELECT \"id\", \"a\"\"b\" FROM \"public\".\"Or\"\"ders\" WHERE (\n\
            owner = CAST($1 AS text) AND t = CAST($2 AS text) -- own\n) OFFSET 0), \
            \"v\" AS NOT MATERIALIZED (SELECT \"n\" FROM (\nSELECT 1 AS n\n) AS \"djinn view\") ";
        let statement = build_rows(&query);
        let rows = "SELECT pg_catalog.to_json(\"djinn row\")::text FROM (";
        assert_eq!(statement.text, format!("{views}{rows}SELECT 2) AS \"djinn row\" LIMIT 11"));
        assert_eq!(statement.prefix, views.len() + rows.len());
        let none = DatabaseQuery { views: Vec::new(), ..query };
        assert_eq!(
            build_columns(&none).text,
            "SELECT \"djinn row\".* FROM (SELECT 2) AS \"djinn row\""
        );
    }
}
