//! Databases on a laptop, in this process.

use std::sync::Arc;

use djinn_aws::{Aws, Settings};
use djinn_postgres::PostgresDatabase;

/// Returns the databases of connections. Stored passwords are read with the credentials of the environment.
#[must_use]
pub fn open_databases() -> PostgresDatabase {
    let aws = Aws::new(Settings::new("", ""));
    PostgresDatabase::new(Arc::new(aws.database_passwords()))
}
