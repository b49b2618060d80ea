//! Callers of requests with a signature verified by AWS.

use axum::http::Extensions;
use djinn_core::id::{TenantId, UserId};
use lambda_http::request::RequestContext;

use super::{Caller, IamUser};

/// Cognito's name for every session of an identity pool.
const OF_COGNITO: &str = "CognitoIdentityCredentials";

/// Returns the caller of an `AWS_IAM` request: the account is the tenant, and the ARN's part according to
/// `user` is the user. All sessions of an identity pool have the same name, so the identity replaces the
/// name. Without an identity (as with function URLs), such sessions have no caller.
pub(super) fn signed_caller(extensions: &Extensions, user: IamUser) -> Option<Caller> {
    match extensions.get::<RequestContext>()? {
        RequestContext::ApiGatewayV1(context) => {
            let identity = &context.identity;
            let account = identity.account_id.as_deref()?;
            let arn = identity.user_arn.as_deref()?;
            new_caller(account, &user_of(arn, identity.cognito_identity_id.as_deref(), user)?)
        }
        RequestContext::ApiGatewayV2(context) => {
            let iam = context.authorizer.as_ref()?.iam.as_ref()?;
            let identity = iam.cognito_identity.as_ref().and_then(|it| it.identity_id.as_deref());
            let account = iam.account_id.as_deref()?;
            let arn = iam.user_arn.as_deref()?;
            new_caller(account, &user_of(arn, identity, user)?)
        }
        _ => None,
    }
}

fn new_caller(account: &str, user: &str) -> Option<Caller> {
    let tenant = TenantId::new(account).ok()?;
    let user = UserId::new(user).ok()?;
    Some(Caller { tenant, user })
}

/// Returns the user of an ARN such as `arn:aws:sts::1:assumed-role/Role/session`. For [`IamUser::Role`] the
/// session is dropped. Cognito's session name is replaced by the identity. Any other ARN is a user as a
/// whole.
fn user_of(arn: &str, identity: Option<&str>, user: IamUser) -> Option<String> {
    let session = arn.rsplit_once('/').filter(|_| arn.contains(":assumed-role/"));
    match (session, user) {
        (None, _) => Some(arn.to_owned()),
        (Some((role, _)), IamUser::Role) => Some(role.to_owned()),
        (Some((role, OF_COGNITO)), IamUser::Session) => Some(format!("{role}/{}", identity?)),
        (Some(_), IamUser::Session) => Some(arn.to_owned()),
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

    /// The user of both kinds of event.
    fn user(arn: &str, cognito: Option<&str>, user: IamUser) -> Option<String> {
        let old = v1(&json!({"accountId": "123456789012", "userArn": arn, "sourceIp": "1.1.1.1",
            "cognitoIdentityId": cognito}));
        let identity =
            cognito.map(|id| json!({"amr": [], "identityId": id, "identityPoolId": "p"}));
        let new = v2(&json!({"iam": {"accountId": "123456789012", "userArn": arn,
            "accessKey": "A", "callerId": "c", "userId": "u", "cognitoIdentity": identity}}));
        let old = signed_caller(&old, user);
        let new = signed_caller(&new, user);
        assert_eq!(old, new);
        let Caller { tenant, user } = old?;
        assert_eq!(tenant.as_str(), "123456789012");
        Some(user.to_string())
    }

    #[test]
    fn both_kinds_of_event_name_the_same_caller_with_the_session_or_without_it() {
        assert_eq!(user(ARN, None, IamUser::Session).as_deref(), Some(ARN));
        let role = "arn:aws:sts::123456789012:assumed-role/Analyst";
        assert_eq!(user(ARN, None, IamUser::Role).as_deref(), Some(role));
        for arn in ["arn:aws:iam::123456789012:user/team/anna", "arn:aws:iam::123456789012:root"] {
            for of in [IamUser::Session, IamUser::Role] {
                assert_eq!(user(arn, None, of).as_deref(), Some(arn));
            }
        }
    }

    #[test]
    fn people_of_an_identity_pool_are_told_apart_by_their_identities_or_not_let_in() {
        let role = "arn:aws:sts::123456789012:assumed-role/Pool";
        let arn = format!("{role}/{OF_COGNITO}");
        let anna = user(&arn, Some("eu-west-1:0a"), IamUser::Session);
        assert_eq!(anna, Some(format!("{role}/eu-west-1:0a")));
        assert_ne!(anna, user(&arn, Some("eu-west-1:0b"), IamUser::Session));
        assert_eq!(user(&arn, None, IamUser::Session), None);
        assert_eq!(user(&arn, None, IamUser::Role).as_deref(), Some(role));
    }

    #[test]
    fn nobody_is_nobody() {
        assert_eq!(signed_caller(&Extensions::new(), IamUser::Role), None);
        assert_eq!(signed_caller(&v2(&Value::Null), IamUser::Role), None);
        let nobody = v1(&json!({"sourceIp": "1.1.1.1", "accountId": null, "userArn": null}));
        assert_eq!(signed_caller(&nobody, IamUser::Role), None);
    }
}
