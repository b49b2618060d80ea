//! DynamoDB, S3, Lambda, Scheduler and Secrets Manager behind the runtime's ports.
//!
//! Only this crate contains table names, keys and AWS types. [`Aws`] holds the clients and returns an object
//! for each capability; [`table`] lists all items of the table.

mod admission;
mod alarm;
mod aws;
mod body;
mod bucket_folder;
mod budget;
mod call_history;
mod catalog;
mod change;
mod clients;
mod conflict;
mod counter;
mod database;
mod database_password;
mod error;
mod file;
mod gateway;
mod invoke;
mod item;
mod journal;
mod key;
mod lease;
mod live;
mod mailbox;
mod object;
mod once;
mod permits;
mod query;
#[cfg(test)]
mod replay;
mod sample_cache;
mod sandbox;
mod sealed_key;
mod secret;
mod settings;
mod share;
mod signature;
mod store;
mod streams;
mod synchronous;
pub mod table;
mod throttle;
mod transaction;

pub use alarm::SchedulerAlarms;
pub use aws::Aws;
pub use bucket_folder::{BucketFolder, InvalidPrefix};
pub use counter::RequestCounter;
pub use database::LambdaDatabase;
pub use database_password::AwsDatabasePasswords;
pub use gateway::LambdaGateway;
pub use invoke::{LambdaInvoker, RunInvocation};
pub use sandbox::LambdaSandbox;
pub use secret::AwsSecrets;
pub use settings::{
    Endpoints, GatewayFunctions, LOCAL_ACCESS_KEY, LOCAL_REGION, LOCAL_SECRET_KEY,
    SandboxFunctions, ScheduleSettings, Settings, Timeouts,
};
pub use signature::{SignedRequest, is_signed};
pub use store::AwsStore;
