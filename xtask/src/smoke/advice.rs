//! The first places to look at after a failed check.

use anyhow::Error;
use reqwest::StatusCode;

use crate::dev::RejectedRequest;

/// A failed check.
#[derive(Debug)]
pub(super) struct CheckFailure {
    /// A sentence about the measured fault.
    pub(super) fault: String,
    /// The parameter, permission or log group to look at first.
    pub(super) look_at: String,
}

impl CheckFailure {
    pub(super) fn new(fault: impl Into<String>, look_at: impl Into<String>) -> Self {
        Self { fault: fault.into(), look_at: look_at.into() }
    }

    /// Explains the error of a request; `fallback` is the place to look at for all other errors.
    pub(super) fn of_error(error: &Error, fallback: &str) -> Self {
        let place = if let Some(rejection) = find_cause::<RejectedRequest>(error) {
            advise_on_rejection(rejection).unwrap_or(fallback)
        } else if let Some(broken) = find_cause::<reqwest::Error>(error) {
            if broken.is_connect() {
                NO_SERVER
            } else if broken.is_decode() && !broken.is_body() {
                NOT_DJINN
            } else {
                fallback
            }
        } else {
            fallback
        };
        Self::new(format!("{error:#}"), place)
    }
}

fn find_cause<T: std::error::Error + 'static>(error: &Error) -> Option<&T> {
    error.chain().find_map(|cause| cause.downcast_ref())
}

pub(super) const AGENT_LOG: &str =
    "the log group AgentLogs; docs/deploy.md#troubleshooting shows how to find its name";

const NO_SERVER: &str =
    "the URL: is `cargo dev` running, or is this the stack's output Url (or RestUrl)?";

pub(super) const NOT_DJINN: &str = "the URL, which leads to another server: compare it with the stack's output Url; in a \
    CDN, look at the origin of the default behavior";

/// Returns the place for a response that rejects a request; `None` for codes that a check explains itself.
fn advise_on_rejection(rejection: &RejectedRequest) -> Option<&'static str> {
    Some(match (rejection.code.as_str(), rejection.status) {
        ("credentials_missing", _) => {
            "the option --token (or DJINN_KEY), because Auth is `key` or `jwt`"
        }
        ("credentials_refused", _) => {
            "the key, and the secret in the parameter ApiKeys, which is read again after five minutes; for a \
             token, the parameters JwtIssuer, JwtAudience and JwtTenantClaim"
        }
        ("no_identity", _) => "the parameters Auth and AuthType: `iam` needs AWS_IAM",
        ("identity_unavailable", _) => {
            "the parameter AgentSecretName, which must cover the secret in ApiKeys: without it, the role \
             AgentRole has no secretsmanager:GetSecretValue; for tokens, the URL in JwtJwks"
        }
        ("store_unavailable", _) => {
            "the permissions of AgentRole on the table and the bucket (RunPolicy, and KmsPolicy with your own \
             key), and the log group AgentLogs"
        }
        ("rate_limited" | "too_many_runs" | "too_many_streams" | "too_many_user_streams", _) => {
            "the limits of the caller: wait a minute, or see the parameters UserRunsPerMinute, UserRunsAtOnce \
             and UserStreams"
        }
        ("host_refused" | "origin_refused", _) => {
            "the host in the URL: use 127.0.0.1 for `cargo dev`"
        }
        ("route_not_found", _) => {
            "the path of the URL: the output RestUrl ends with /live/, the output Url has none"
        }
        ("", StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
            "AWS rejected the request before Djinn: with AuthType=AWS_IAM or RestUrl, the option --sign and the \
             caller's lambda:InvokeFunctionUrl and lambda:InvokeFunction (execute-api:Invoke for RestUrl); with \
             NONE, the permissions PublicUrlInvoke and PublicInvoke; in CloudFront, the two permissions of the \
             distribution"
        }
        ("", status) if status.is_server_error() => {
            "the log group AgentLogs: the agent did not start or crashed, and the log names the setting; without \
             a line, the function's errors and its reserved concurrency (AgentConcurrency)"
        }
        ("", StatusCode::TOO_MANY_REQUESTS) => {
            "the account's concurrency for Lambda, and AgentConcurrency"
        }
        ("", _) if rejection.is_page => NOT_DJINN,
        _ => return None,
    })
}

/// Returns the place for a failed run, by its error code.
pub(super) fn advise_on_failure(code: &str) -> String {
    match code {
        "no_model" => {
            "`[models]` in the djinn.toml of the parameter Config, in the bucket (output BucketName)"
                .to_owned()
        }
        "model_key_missing" => {
            "the parameter SecretName, which must cover the secret in the model's `key`; without \
                                it, AgentRole has no secretsmanager:GetSecretValue"
                .to_owned()
        }
        "model_key_refused" | "model_no_balance" => {
            "the secret in the model's `key`, and the account with the provider".to_owned()
        }
        "model_unknown" | "model_unreachable" | "model_overloaded" | "model_refused" => {
            "`provider`, `model` and `base_url` in the models, and the provider's status".to_owned()
        }
        "budget_used_up" => "the parameters UserDayTokens and UserDayUsd".to_owned(),
        "" => AGENT_LOG.to_owned(),
        code => format!("`{code}` in docs/errors.md, and the log group AgentLogs"),
    }
}
