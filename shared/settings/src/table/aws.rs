//! Where everything lies: table, bucket, executor, sandbox, alarms, and their stand-ins on a laptop.

use super::settings_table;
use crate::setting::{Setting, SettingsTable};

const URL: &str = "a URL that starts with http://";
const LAPTOP: &str = "on a laptop only";

settings_table! {
    "aws": "Where everything lies. A stack gives these to its functions, and `cargo dev` to its own.";

    /// The DynamoDB table that journals lie in.
    TABLE_NAME = Setting::text("DJINN_TABLE").mark_required().with_stack_value();

    /// The S3 bucket that files lie in.
    BUCKET = Setting::text("DJINN_BUCKET").mark_required().with_stack_value();

    /// The function that continues runs.
    EXECUTOR = Setting::form("DJINN_EXECUTOR", "the ARN of the function that continues runs")
        .mark_required().with_stack_value();

    /// The function that model-written code runs in, and documents are read in; see docs/sandbox.md.
    SANDBOX = Setting::form("DJINN_SANDBOX", "the name or the ARN of a function")
        .with_stack_value();

    /// The function that reads pages of the web; see docs/web.md. It holds no secret.
    GATEWAY_FETCH = Setting::form("DJINN_GATEWAY_FETCH", "the name or the ARN of a function")
        .with_stack_value();

    /// The function that asks search engines, with keys of its own.
    GATEWAY_CALL = Setting::form("DJINN_GATEWAY_CALL", "the name or the ARN of a function")
        .with_stack_value();

    /// The group of the schedules that bring runs back.
    SCHEDULE_GROUP = Setting::text("DJINN_SCHEDULE_GROUP").mark_required().with_stack_value();

    /// The role with which these invoke the executor.
    SCHEDULE_ROLE_ARN = Setting::text("DJINN_SCHEDULE_ROLE_ARN").mark_required().with_stack_value();

    /// Days that the bucket keeps what was written to it. Files are listed until the day before.
    OBJECT_DAYS = Setting::number("DJINN_OBJECT_DAYS", 750, 36_500)
        .with_default("800").with_parameter("ObjectDays");

    /// A stand-in for DynamoDB, by its URL.
    DYNAMODB_URL = Setting::form("DJINN_DYNAMODB_URL", URL).without_parameter(LAPTOP);

    /// A stand-in for S3, by its URL.
    S3_URL = Setting::form("DJINN_S3_URL", URL).without_parameter(LAPTOP);

    /// A stand-in for Lambda, such as `cargo lambda watch`; with it no schedules are needed, and the executor
    /// may be a name.
    LAMBDA_URL = Setting::form("DJINN_LAMBDA_URL", URL).without_parameter(LAPTOP);

    /// What requests to the stand-ins are signed with.
    STORE_KEY = Setting::text("DJINN_STORE_KEY").mark_secret().without_parameter(LAPTOP);
}
