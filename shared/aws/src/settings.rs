//! Where everything lies, parsed once from a lookup function.

use std::time::Duration;

use djinn_runtime::port::secret::Secret;
use djinn_runtime::settings::parse_number;

/// The access key and region of services on a laptop, and the secret key of those that check none.
pub const LOCAL_ACCESS_KEY: &str = "djinn";
/// The secret key signs requests to local services, unless [`Endpoints::key`] gives another.
pub const LOCAL_SECRET_KEY: &str = "djinn-local-only";
/// The region goes into the signature of every request to a local service.
pub const LOCAL_REGION: &str = "us-east-1";

/// Why the settings cannot be used. Its text names the variable and what it must be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable} {problem}")]
pub struct SettingsError {
    /// The name is that of the environment variable, such as `DJINN_TABLE`.
    pub variable: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

/// The settings name the table, bucket, executor and schedules that a process uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The DynamoDB table (`DJINN_TABLE`).
    pub table: String,
    /// The S3 bucket (`DJINN_BUCKET`).
    pub bucket: String,
    /// The function that continues runs, by ARN or name (`DJINN_EXECUTOR`). `None`: nobody can be
    /// invoked.
    pub executor: Option<String>,
    /// Where alarms are made. `None`: there are none.
    pub schedules: Option<ScheduleSettings>,
    /// How long the bucket keeps an object after it was written (`DJINN_OBJECT_DAYS`, 750-36500,
    /// default 800).
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

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The default of `ObjectDays` in `template.yaml`.
const OBJECT_DAYS: u32 = 800;

impl Settings {
    /// Settings for one table and one bucket, with no executor and no schedules.
    #[must_use]
    pub fn new(table: impl Into<String>, bucket: impl Into<String>) -> Self {
        Self {
            table: table.into(),
            bucket: bucket.into(),
            executor: None,
            schedules: None,
            object_life: DAY * OBJECT_DAYS,
            endpoints: Endpoints::default(),
            timeouts: Timeouts::default(),
        }
    }

    /// Reads the settings through `var`, which looks an environment variable up.
    ///
    /// `DJINN_TABLE`, `DJINN_BUCKET` and `DJINN_EXECUTOR` are needed; `DJINN_SCHEDULE_GROUP` and
    /// `DJINN_SCHEDULE_ROLE_ARN` too, unless `DJINN_LAMBDA_URL` is set. An empty variable counts as
    /// missing. `DJINN_OBJECT_DAYS` may be.
    ///
    /// # Errors
    /// [`SettingsError`] for the first variable that is missing or unusable.
    pub fn from_vars(var: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let find = |name: &str| var(name).filter(|value| !value.trim().is_empty());
        let need = |variable: &'static str| {
            find(variable).ok_or_else(|| SettingsError { variable, problem: "is not set".into() })
        };
        let endpoint = |variable: &'static str| match find(variable) {
            Some(url) if !url.starts_with("http://") && !url.starts_with("https://") => {
                let problem = format!("must be a URL that starts with http://, got `{url}`");
                Err(SettingsError { variable, problem })
            }
            found => Ok(found),
        };
        let executor = need("DJINN_EXECUTOR")?;
        let endpoints = Endpoints {
            dynamodb: endpoint("DJINN_DYNAMODB_URL")?,
            s3: endpoint("DJINN_S3_URL")?,
            lambda: endpoint("DJINN_LAMBDA_URL")?,
            key: find("DJINN_STORE_KEY").map(|key| Secret::new(&key)),
        };
        let schedules = match endpoints.lambda {
            Some(_) if find("DJINN_SCHEDULE_GROUP").is_none() => None,
            _ => Some(ScheduleSettings {
                group: need("DJINN_SCHEDULE_GROUP")?,
                role_arn: need("DJINN_SCHEDULE_ROLE_ARN")?,
                executor_arn: parse_executor_arn(&executor)?,
            }),
        };
        let defaults = Self::new(need("DJINN_TABLE")?, need("DJINN_BUCKET")?);
        let object_life = parse_object_life(&find)?.unwrap_or(defaults.object_life);
        Ok(Self { executor: Some(executor), schedules, object_life, endpoints, ..defaults })
    }
}

/// The bucket's lifecycle, if it is told.
fn parse_object_life(
    var: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Duration>, SettingsError> {
    let days = parse_number(var, "DJINN_OBJECT_DAYS", 750..=36_500).map_err(|bad| {
        let problem = format!("must be {}, got `{}`", bad.wanted, bad.got);
        SettingsError { variable: bad.name, problem }
    })?;
    Ok(days.and_then(|days| u32::try_from(days).ok()).map(|days| DAY * days))
}

/// The executor as a schedule's target.
fn parse_executor_arn(executor: &str) -> Result<String, SettingsError> {
    if executor.starts_with("arn:") {
        return Ok(executor.to_owned());
    }
    let problem = format!("must be the ARN of the function that continues runs, got `{executor}`");
    Err(SettingsError { variable: "DJINN_EXECUTOR", problem })
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

    fn read(vars: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        let vars: BTreeMap<_, _> = vars.iter().copied().collect();
        Settings::from_vars(|name| vars.get(name).map(|value| (*value).to_owned()))
    }

    #[test]
    fn a_deployment_needs_all_five_and_the_error_names_the_one_that_is_missing() {
        let settings = read(&DEPLOYED).unwrap();
        assert_eq!(settings.table, "t");
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
