//! Names and URLs of AWS resources, and of their replacements on a laptop.

use super::settings_table;
use crate::setting::{Setting, SettingsTable};

const URL: &str = "a URL that starts with http://";
const LAPTOP: &str = "on a laptop only";

settings_table! {
    "aws": "Names and URLs of AWS resources. A stack sets these for its functions, `cargo dev` for local processes.";

    /// The DynamoDB table of journals.
    TABLE_NAME = Setting::text("DJINN_TABLE").mark_required().with_stack_value();

    /// The S3 bucket of files.
    BUCKET = Setting::text("DJINN_BUCKET").mark_required().with_stack_value();

    /// The ARN of the executor, the function that continues runs.
    EXECUTOR = Setting::form("DJINN_EXECUTOR", "the ARN of the function that continues runs")
        .mark_required().with_stack_value();

    /// The function for model-written code; see docs/sandbox.md.
    SANDBOX = Setting::form("DJINN_SANDBOX", "the name or the ARN of a function")
        .with_stack_value();

    /// The function for reading and creating documents, for tables and for queries.
    SANDBOX_DOCUMENTS = Setting::form("DJINN_SANDBOX_DOCUMENTS", "the name or the ARN of a function")
        .with_stack_value();

    /// The function for reading web pages; see docs/web.md. Has no secrets.
    GATEWAY_FETCH = Setting::form("DJINN_GATEWAY_FETCH", "the name or the ARN of a function")
        .with_stack_value();

    /// The function for search engines, with the engines' keys.
    GATEWAY_CALL = Setting::form("DJINN_GATEWAY_CALL", "the name or the ARN of a function")
        .with_stack_value();

    /// The function for databases, deployed beside the stack; see docs/tables.md.
    DATABASE = Setting::form("DJINN_DATABASE", "the name or the ARN of a function")
        .with_stack_value();

    /// The EventBridge Scheduler group of the schedules that kick runs.
    SCHEDULE_GROUP = Setting::text("DJINN_SCHEDULE_GROUP").mark_required().with_stack_value();

    /// The role of these schedules for invoking the executor.
    SCHEDULE_ROLE_ARN = Setting::text("DJINN_SCHEDULE_ROLE_ARN").mark_required().with_stack_value();

    /// Days that the bucket keeps an object. Files are listed until the day before.
    OBJECT_DAYS = Setting::number("DJINN_OBJECT_DAYS", 750, 36_500)
        .with_default("800").with_stack_value();

    /// The URL of a local DynamoDB.
    DYNAMODB_URL = Setting::form("DJINN_DYNAMODB_URL", URL).without_parameter(LAPTOP);

    /// The URL of a local S3.
    S3_URL = Setting::form("DJINN_S3_URL", URL).without_parameter(LAPTOP);

    /// The URL of a local Lambda, such as `cargo lambda watch`. No schedules are needed, and the executor may
    /// be a name.
    LAMBDA_URL = Setting::form("DJINN_LAMBDA_URL", URL).without_parameter(LAPTOP);

    /// The key that signs requests to the local services.
    STORE_KEY = Setting::text("DJINN_STORE_KEY").mark_secret().without_parameter(LAPTOP);
}
