//! Types of PostgreSQL as kinds of columns.

use tokio_postgres::types::{Kind, Type};

/// Returns the kind of a column, as `TableColumn::kind`.
pub(crate) fn kind_of(column_type: &Type) -> &'static str {
    match *column_type {
        Type::INT2 | Type::INT4 | Type::INT8 => "integer",
        Type::NUMERIC => "decimal",
        Type::FLOAT4 | Type::FLOAT8 => "number",
        Type::DATE => "date",
        Type::TIMESTAMP | Type::TIMESTAMPTZ => "timestamp",
        Type::TIME | Type::TIMETZ => "time",
        Type::BOOL => "boolean",
        _ => match column_type.kind() {
            Kind::Domain(inner) => kind_of(inner),
            _ => "text",
        },
    }
}
