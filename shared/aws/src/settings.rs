//! Where everything lies, parsed once from a lookup function.

use std::time::Duration;

use djinn_runtime::port::secret::Secret;
use djinn_settings::table::aws::{
    BUCKET, DYNAMODB_URL, EXECUTOR, GATEWAY_CALL, GATEWAY_FETCH, LAMBDA_URL, OBJECT_DAYS, S3_URL,
    SANDBOX, SCHEDULE_GROUP, SCHEDULE_ROLE_ARN, STORE_KEY, TABLE_NAME,
};
use djinn_settings::{InvalidSetting, Setting, VarLookup};

/// The access key and region of services on a laptop, and the secret key of those that check none.
pub const LOCAL_ACCESS_KEY: &str = "djinn";
/// The secret key signs requests to local services, unless [`Endpoints::key`] gives another.
pub const LOCAL_SECRET_KEY: &str = "djinn-local-only";
/// The region goes into the signature of every request to a local service.
pub const LOCAL_REGION: &str = "us-east-1";

/// The settings name the table, bucket, executor, sandbox and schedules that a process uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The DynamoDB table (`DJINN_TABLE`).
    pub table: String,
    /// The S3 bucket (`DJINN_BUCKET`).
    pub bucket: String,
    /// The function that continues runs, by ARN or name (`DJINN_EXECUTOR`). `None`: nobody can be
    /// invoked.
    pub executor: Option<String>,
    /// The function that is the sandbox, by ARN or name (`DJINN_SANDBOX`). `None`: none is.
    pub sandbox: Option<String>,
    /// The functions that are the gateway to the outside. `None`: none are.
    pub gateway: Option<GatewayFunctions>,
    /// Where alarms are made. `None`: there are none.
    pub schedules: Option<ScheduleSettings>,
    /// How long the bucket keeps an object after it was written (`DJINN_OBJECT_DAYS`).
    pub object_life: Duration,
    /// Services that are not AWS's own.
    pub endpoints: Endpoints,
    /// How long things may take.
    pub timeouts: Timeouts,
}

/// Where alarms are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleSettings {
    /// The schedule group (`DJINN_SCHEDULE_GROUP`).
    pub group: String,
    /// The role that Scheduler invokes the executor with (`DJINN_SCHEDULE_ROLE_ARN`).
    pub role_arn: String,
    /// The executor's ARN (`DJINN_EXECUTOR`).
    pub executor_arn: String,
}

/// Services on a laptop, by URL. They are used with [`LOCAL_ACCESS_KEY`]; whatever is `None` is
/// AWS's own, with the credentials and the region of the environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Endpoints {
    /// The URL is that of a local DynamoDB (`DJINN_DYNAMODB_URL`); `None` is AWS's own.
    pub dynamodb: Option<String>,
    /// The URL is that of a local S3 (`DJINN_S3_URL`); `None` is AWS's own.
    pub s3: Option<String>,
    /// Lambda (`DJINN_LAMBDA_URL`): `cargo lambda watch`, which blocks asynchronous invocations
    /// until they are done, so that an invocation is taken as sent after a second.
    pub lambda: Option<String>,
    /// The secret key that requests to the first two are signed with (`DJINN_STORE_KEY`), if they check
    /// signatures.
    pub key: Option<Secret>,
}

/// The two functions of a gateway, each by ARN or name: what parses pages holds no key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GatewayFunctions {
    /// What reads pages (`DJINN_GATEWAY_FETCH`). `None`: no pages are read.
    pub fetch: Option<String>,
    /// What asks search engines (`DJINN_GATEWAY_CALL`). `None`: none is asked.
    pub call: Option<String>,
}

impl GatewayFunctions {
    /// The functions that the variables name, if they name any.
    fn from_vars(var: VarLookup<'_>) -> Option<Self> {
        let (fetch, call) = (GATEWAY_FETCH.find_text(var), GATEWAY_CALL.find_text(var));
        (fetch.is_some() || call.is_some()).then_some(Self { fetch, call })
    }
}

/// How long one request may take, and how often it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a connection stands.
    pub connect: Duration,
    /// Until one attempt at a request to DynamoDB, Lambda, Scheduler or Secrets Manager is answered.
    pub attempt: Duration,
    /// Until S3 begins to answer one attempt; its bytes may take as long as they keep flowing.
    pub object: Duration,
    /// Attempts at one request, the first one included.
    pub attempts: u32,
    /// The most that is waited before the second attempt; doubled for each one after.
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

/// How long a bucket keeps its objects whose deployment says nothing else: the default of
/// `DJINN_OBJECT_DAYS`.
const OBJECT_LIFE: Duration = Duration::from_secs(800 * 24 * 60 * 60);

impl Settings {
    /// Settings for one table and one bucket, with no executor and no schedules.
    #[must_use]
    pub fn new(table: impl Into<String>, bucket: impl Into<String>) -> Self {
        Self {
            table: table.into(),
            bucket: bucket.into(),
            executor: None,
            sandbox: None,
            gateway: None,
            schedules: None,
            object_life: OBJECT_LIFE,
            endpoints: Endpoints::default(),
            timeouts: Timeouts::default(),
        }
    }

    /// Reads the settings through `var`, which looks an environment variable up.
    ///
    /// `DJINN_TABLE`, `DJINN_BUCKET` and `DJINN_EXECUTOR` are needed; `DJINN_SCHEDULE_GROUP` and
    /// `DJINN_SCHEDULE_ROLE_ARN` too, unless `DJINN_LAMBDA_URL` is set. An empty variable counts as
    /// missing.
    ///
    /// # Errors
    /// [`InvalidSetting`] for the first variable that is missing or unusable.
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
            _ => Some(ScheduleSettings {
                group: SCHEDULE_GROUP.require_text(var)?,
                role_arn: SCHEDULE_ROLE_ARN.require_text(var)?,
                executor_arn: parse_executor_arn(&executor)?,
            }),
        };
        let defaults = Self::new(TABLE_NAME.require_text(var)?, BUCKET.require_text(var)?);
        let object_days: u64 = OBJECT_DAYS.read_number(var)?;
        let object_life = Duration::from_secs(object_days * 24 * 60 * 60);
        let (executor, sandbox) = (Some(executor), SANDBOX.find_text(var));
        let gateway = GatewayFunctions::from_vars(var);
        Ok(Self { executor, sandbox, gateway, schedules, object_life, endpoints, ..defaults })
    }
}

/// The URL of a stand-in, if there is one.
fn read_endpoint(setting: &Setting, var: VarLookup<'_>) -> Result<Option<String>, InvalidSetting> {
    match setting.find_text(var) {
        Some(url) if !url.starts_with("http://") && !url.starts_with("https://") => {
            Err(setting.refuse(&url))
        }
        found => Ok(found),
    }
}

/// The executor as a schedule's target.
fn parse_executor_arn(executor: &str) -> Result<String, InvalidSetting> {
    match executor.starts_with("arn:") {
        true => Ok(executor.to_owned()),
        false => Err(EXECUTOR.refuse(executor)),
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
