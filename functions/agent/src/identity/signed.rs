//! Callers whose requests AWS has verified the signature of.

use axum::http::Extensions;
use djinn_core::id::{TenantId, UserId};
use lambda_http::request::RequestContext;

use super::Caller;

/// The caller behind `AWS_IAM`: the account is the tenant, and the ARN without its session name the
/// user.
pub(super) fn caller(extensions: &Extensions) -> Option<Caller> {
    match extensions.get::<RequestContext>()? {
        RequestContext::ApiGatewayV1(context) => {
            let identity = &context.identity;
            named(identity.account_id.as_deref()?, identity.user_arn.as_deref()?)
        }
        RequestContext::ApiGatewayV2(context) => {
            let iam = context.authorizer.as_ref()?.iam.as_ref()?;
            named(iam.account_id.as_deref()?, iam.user_arn.as_deref()?)
        }
        _ => None,
    }
}

fn named(account: &str, arn: &str) -> Option<Caller> {
    let tenant = TenantId::new(account).ok()?;
    let user = UserId::new(without_session(arn)).ok()?;
    Some(Caller { tenant, user })
}

/// `arn:aws:sts::1:assumed-role/Role/session` is whoever holds the role, whatever the session is
/// called.
fn without_session(arn: &str) -> &str {
    match (arn.contains(":assumed-role/"), arn.rsplit_once('/')) {
        (true, Some((role, _))) => role,
        (false, _) | (true, None) => arn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn context(event: Value) -> Extensions {
        let request: lambda_http::request::LambdaRequest = serde_json::from_value(event).unwrap();
        lambda_http::Request::from(request).extensions().clone()
    }

    fn v1(identity: &Value) -> Extensions {
        context(json!({
            "resource": "/", "path": "/AutoAgent", "httpMethod": "POST", "headers": {},
            "multiValueHeaders": {}, "queryStringParameters": null, "pathParameters": null,
            "stageVariables": null, "body": "{}", "isBase64Encoded": false,
            "requestContext": {"resourceId": "r", "resourcePath": "/", "httpMethod": "POST",
                "stage": "dev", "requestId": "1", "apiId": "a", "identity": identity},
        }))
    }

    fn v2(authorizer: &Value) -> Extensions {
        context(json!({
            "version": "2.0", "routeKey": "$default", "rawPath": "/AutoAgent",
            "rawQueryString": "", "headers": {}, "body": "{}", "isBase64Encoded": false,
            "requestContext": {"accountId": "anonymous", "apiId": "a", "domainName": "d",
                "domainPrefix": "d", "requestId": "1", "routeKey": "$default",
                "stage": "$default", "time": "t", "timeEpoch": 1, "authorizer": authorizer,
                "http": {"method": "POST", "path": "/AutoAgent", "protocol": "HTTP/1.1",
                    "sourceIp": "1.1.1.1", "userAgent": "x"}},
        }))
    }

    const ARN: &str = "arn:aws:sts::123456789012:assumed-role/Analyst/anna@example.com";

    #[test]
    fn both_kinds_of_event_name_the_same_caller_without_the_session() {
        let old = v1(&json!({"accountId": "123456789012", "userArn": ARN, "sourceIp": "1.1.1.1"}));
        let new = v2(&json!({"iam": {"accountId": "123456789012", "userArn": ARN,
            "accessKey": "A", "callerId": "c", "userId": "u"}}));
        let old = caller(&old).unwrap();
        assert_eq!(old, caller(&new).unwrap());
        assert_eq!(old.tenant.as_str(), "123456789012");
        assert_eq!(old.user.as_str(), "arn:aws:sts::123456789012:assumed-role/Analyst");
    }

    #[test]
    fn nobody_is_nobody() {
        assert_eq!(caller(&Extensions::new()), None);
        assert_eq!(caller(&v2(&Value::Null)), None);
        let nobody = v1(&json!({"sourceIp": "1.1.1.1", "accountId": null, "userArn": null}));
        assert_eq!(caller(&nobody), None);
    }
}
