//! AWS settings, parsed once through a lookup function.

use std::time::Duration;

use djinn_runtime::port::secret::Secret;
use djinn_settings::table::aws::{
    BUCKET, DATABASE, DYNAMODB_URL, EXECUTOR, GATEWAY_CALL, GATEWAY_FETCH, LAMBDA_URL, OBJECT_DAYS,
    S3_URL, SANDBOX, SANDBOX_DOCUMENTS, SCHEDULE_GROUP, SCHEDULE_ROLE_ARN, STORE_KEY, TABLE_NAME,
};
use djinn_settings::{InvalidSetting, Setting, VarLookup};

/// The access key and region of local services; also the secret key of services without signature checks.
pub const LOCAL_ACCESS_KEY: &str = "djinn";
/// The secret key signs requests to local services, unless [`Endpoints::key`] gives another.
pub const LOCAL_SECRET_KEY: &str = "djinn-local-only";
/// The region goes into the signature of every request to a local service.
pub const LOCAL_REGION: &str = "us-east-1";

/// The table, bucket, executor, sandbox and schedules of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The DynamoDB table (`DJINN_TABLE`).
    pub table: String,
    /// The S3 bucket (`DJINN_BUCKET`).
    pub bucket: String,
    /// The executor function, by ARN or name (`DJINN_EXECUTOR`). `None` disables invocations.
    pub executor: Option<String>,
    /// The sandbox functions. `None` means no sandbox.
    pub sandbox: Option<SandboxFunctions>,
    /// The gateway functions. `None` means no gateway.
    pub gateway: Option<GatewayFunctions>,
    /// The function for databases, by ARN or name (`DJINN_DATABASE`). `None` means no databases.
    pub database: Option<String>,
    /// The schedule group of alarms. `None` means no alarms.
    pub schedules: Option<ScheduleSettings>,
    /// Lifetime of an object in the bucket after the write (`DJINN_OBJECT_DAYS`).
    pub object_life: Duration,
    /// Endpoints in place of AWS's own services.
    pub endpoints: Endpoints,
    /// Timeouts and attempts of requests.
    pub timeouts: Timeouts,
}

/// The group and role of alarms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleSettings {
    /// The schedule group (`DJINN_SCHEDULE_GROUP`).
    pub group: String,
    /// The role for Scheduler to invoke the executor (`DJINN_SCHEDULE_ROLE_ARN`).
    pub role_arn: String,
    /// The executor's ARN (`DJINN_EXECUTOR`).
    pub executor_arn: String,
}

/// URLs of local services, used with [`LOCAL_ACCESS_KEY`]. `None` means AWS's own service, with the
/// environment's credentials and region.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Endpoints {
    /// The URL of a local DynamoDB (`DJINN_DYNAMODB_URL`); `None` means AWS's own.
    pub dynamodb: Option<String>,
    /// The URL of a local S3 (`DJINN_S3_URL`); `None` means AWS's own.
    pub s3: Option<String>,
    /// The URL of a local Lambda (`DJINN_LAMBDA_URL`): `cargo lambda watch`. There asynchronous invocations
    /// block until the function ends, so an invocation counts as sent after a second.
    pub lambda: Option<String>,
    /// The secret key for signing requests to DynamoDB and S3 (`DJINN_STORE_KEY`), if signatures are checked.
    pub key: Option<Secret>,
}

/// The two functions of a gateway, each by ARN or name. The function that parses pages holds no keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GatewayFunctions {
    /// The function for reading pages (`DJINN_GATEWAY_FETCH`). `None` disables page reads.
    pub fetch: Option<String>,
    /// The function for search engines (`DJINN_GATEWAY_CALL`). `None` disables searches.
    pub call: Option<String>,
}

/// The two functions of a sandbox, each by ARN or name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxFunctions {
    /// The function for model-written code (`DJINN_SANDBOX`). `None` disables code.
    pub code: Option<String>,
    /// The function for documents, tables and queries (`DJINN_SANDBOX_DOCUMENTS`). `None` disables these jobs.
    pub documents: Option<String>,
}

impl SandboxFunctions {
    /// Returns the functions named by the variables, or `None` without any.
    fn from_vars(var: VarLookup<'_>) -> Option<Self> {
        let code = SANDBOX.find_text(var);
        let documents = SANDBOX_DOCUMENTS.find_text(var);
        (code.is_some() || documents.is_some()).then_some(Self { code, documents })
    }
}

impl GatewayFunctions {
    /// Returns the functions named by the variables, or `None` without any.
    fn from_vars(var: VarLookup<'_>) -> Option<Self> {
        let fetch = GATEWAY_FETCH.find_text(var);
        let call = GATEWAY_CALL.find_text(var);
        (fetch.is_some() || call.is_some()).then_some(Self { fetch, call })
    }
}

/// Timeouts and number of attempts of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// Timeout for establishing a connection.
    pub connect: Duration,
    /// Timeout of one attempt to DynamoDB, Lambda, Scheduler or Secrets Manager.
    pub attempt: Duration,
    /// Timeout for the start of S3's response in one attempt; the bytes may take longer while data arrives.
    pub object: Duration,
    /// Maximum number of attempts, the first included.
    pub attempts: u32,
    /// Maximum wait before the second attempt, doubled for each later attempt.
    pub backoff: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(2),
            attempt: Duration::from_secs(5),
            object: Duration::from_secs(30),
            attempts: 3,
            backoff: Duration::from_millis(100),
        }
    }
}

/// Default of `DJINN_OBJECT_DAYS`, the lifetime of objects in the bucket.
const OBJECT_LIFE: Duration = Duration::from_secs(800 * 24 * 60 * 60);

impl Settings {
    /// Creates settings for a table and a bucket, without executor and schedules.
    #[must_use]
    pub fn new(table: impl Into<String>, bucket: impl Into<String>) -> Self {
        Self {
            table: table.into(),
            bucket: bucket.into(),
            executor: None,
            sandbox: None,
            gateway: None,
            database: None,
            schedules: None,
            object_life: OBJECT_LIFE,
            endpoints: Endpoints::default(),
            timeouts: Timeouts::default(),
        }
    }

    /// Reads the settings through `var`, a lookup of environment variables.
    ///
    /// `DJINN_TABLE`, `DJINN_BUCKET` and `DJINN_EXECUTOR` are required. `DJINN_SCHEDULE_GROUP` and
    /// `DJINN_SCHEDULE_ROLE_ARN` are required unless `DJINN_LAMBDA_URL` is set. An empty variable counts as
    /// missing.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] for the first missing or invalid variable.
    pub fn from_vars(var: VarLookup<'_>) -> Result<Self, InvalidSetting> {
        let executor = EXECUTOR.require_text(var)?;
        let endpoints = Endpoints {
            dynamodb: read_endpoint(&DYNAMODB_URL, var)?,
            s3: read_endpoint(&S3_URL, var)?,
            lambda: read_endpoint(&LAMBDA_URL, var)?,
            key: STORE_KEY.find_text(var).map(|key| Secret::new(&key)),
        };
        let schedules = match endpoints.lambda {
            Some(_) if SCHEDULE_GROUP.find_text(var).is_none() => None,
            _ => {
                let group = SCHEDULE_GROUP.require_text(var)?;
                let role_arn = SCHEDULE_ROLE_ARN.require_text(var)?;
                // A schedule's target is an ARN.
                if !executor.starts_with("arn:") {
                    return Err(EXECUTOR.refuse(&executor));
                }
                Some(ScheduleSettings { group, role_arn, executor_arn: executor.clone() })
            }
        };
        let defaults = Self::new(TABLE_NAME.require_text(var)?, BUCKET.require_text(var)?);
        let object_days: u64 = OBJECT_DAYS.read_number(var)?;
        let object_life = Duration::from_secs(object_days * 24 * 60 * 60);
        let executor = Some(executor);
        let sandbox = SandboxFunctions::from_vars(var);
        let gateway = GatewayFunctions::from_vars(var);
        let database = DATABASE.find_text(var);
        Ok(Self {
            executor,
            sandbox,
            gateway,
            database,
            schedules,
            object_life,
            endpoints,
            ..defaults
        })
    }
}

/// Returns the URL of a local service, if set.
fn read_endpoint(setting: &Setting, var: VarLookup<'_>) -> Result<Option<String>, InvalidSetting> {
    match setting.find_text(var) {
        Some(url) if !url.starts_with("http://") && !url.starts_with("https://") => {
            Err(setting.refuse(&url))
        }
        endpoint => Ok(endpoint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const DEPLOYED: [(&str, &str); 5] = [
        ("DJINN_TABLE", "t"),
        ("DJINN_BUCKET", "b"),
        ("DJINN_EXECUTOR", "arn:aws:lambda:eu-west-1:1:function:executor"),
        ("DJINN_SCHEDULE_GROUP", "g"),
        ("DJINN_SCHEDULE_ROLE_ARN", "arn:aws:iam::1:role/r"),
    ];

    fn read(vars: &[(&str, &str)]) -> Result<Settings, InvalidSetting> {
        let vars: BTreeMap<_, _> = vars.iter().copied().collect();
        Settings::from_vars(&|name| vars.get(name).map(|value| (*value).to_owned()))
    }

    #[test]
    fn a_deployment_needs_all_five_and_the_error_names_the_one_that_is_missing() {
        let settings = read(&DEPLOYED).unwrap();
        assert_eq!(settings.table, "t");
        assert_eq!(settings.object_life, Settings::new("t", "b").object_life);
        assert_eq!(settings.schedules.unwrap().executor_arn, settings.executor.unwrap());
        for (missing, _) in DEPLOYED {
            let others: Vec<_> =
                DEPLOYED.into_iter().filter(|(name, _)| *name != missing).collect();
            let error = read(&others).unwrap_err();
            assert_eq!(error.to_string(), format!("{missing} is not set"));
        }
    }

    #[test]
    fn cargo_lambda_watch_needs_no_schedules_and_takes_a_function_name() {
        let settings = read(&[
            ("DJINN_TABLE", "t"),
            ("DJINN_BUCKET", "b"),
            ("DJINN_EXECUTOR", "executor"),
            ("DJINN_LAMBDA_URL", "http://127.0.0.1:9000"),
            ("DJINN_S3_URL", ""),
            ("DJINN_STORE_KEY", "00ff"),
        ])
        .unwrap();
        assert_eq!(settings.schedules, None);
        assert_eq!(settings.endpoints.lambda.as_deref(), Some("http://127.0.0.1:9000"));
        assert_eq!(settings.endpoints.s3, None);
        assert_eq!(settings.endpoints.key, Some(Secret::new("00ff")));
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_what_it_must_be() {
        let refused = |name: &'static str, value: &str| {
            let mut vars: Vec<_> = DEPLOYED.into_iter().filter(|(n, _)| *n != name).collect();
            vars.push((name, value));
            read(&vars).unwrap_err().to_string()
        };
        assert_eq!(
            refused("DJINN_S3_URL", "127.0.0.1:9000"),
            "DJINN_S3_URL must be a URL that starts with http://, got `127.0.0.1:9000`"
        );
        assert!(refused("DJINN_EXECUTOR", "executor").contains("must be the ARN"));
        assert_eq!(
            refused("DJINN_OBJECT_DAYS", "30"),
            "DJINN_OBJECT_DAYS must be a whole number from 750 to 36500, got `30`"
        );
    }
}
