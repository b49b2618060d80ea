//! The agent's routes without an HTTP server: requests are the events that AWS sends.

use std::sync::Arc;

use agent::{Agent, build_router};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use djinn_aws::Aws;
use djinn_local::{LocalDispatch, LocalWorld, Stores, StoresOptions};
use djinn_scripted::ScriptedModel;
use djinn_wiring::Variables;
use executor::Executor;
use lambda_http::request::LambdaRequest;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tower::ServiceExt as _;

use super::{Client, found, quick, vars};

/// The parts of a system, put together otherwise than on a laptop.
pub(crate) struct Door {
    pub(crate) router: Router,
    pub(crate) ports: LocalWorld,
    pub(crate) aws: Aws,
    tasks: Vec<JoinHandle<()>>,
    _stores: Stores,
}

/// What a door is made of, to be changed before it opens.
pub(crate) struct Parts {
    pub(crate) ports: LocalWorld,
    pub(crate) settings: agent::Settings,
}

impl Door {
    /// Without a model none is configured.
    pub(crate) fn open<'a>(
        model: impl Into<Option<&'a ScriptedModel>>,
        change_aws: impl FnOnce(&mut djinn_aws::Settings),
        change: impl FnOnce(&mut Parts),
    ) -> Self {
        let stores = Stores::start(StoresOptions::default()).unwrap();
        let mut aws = stores.settings().clone();
        change_aws(&mut aws);
        let vars = match model.into() {
            Some(model) => vars(Vec::new(), model),
            None => Vec::new(),
        };
        Self::onto(stores, aws, vars, change)
    }

    /// Onto these stores, which are reached as `aws` says.
    pub(crate) fn onto(
        stores: Stores,
        aws: djinn_aws::Settings,
        vars: Vec<(&'static str, String)>,
        change: impl FnOnce(&mut Parts),
    ) -> Self {
        let aws = Aws::new(aws);
        let local = ("DJINN_LOCAL", "1".to_owned());
        let vars: Vec<_> = vars.into_iter().chain([local]).collect();
        let variables: Variables = Arc::new(move |name| found(&vars, name));
        let (dispatch, mut invocations) = LocalDispatch::new(djinn_local::ALARM_EVERY);
        let mut ports = djinn_wiring::build_world(
            &djinn_wiring::Djinn::new().with_settings_check(agent::check_settings),
            &variables,
            &aws,
            dispatch.clone(),
            dispatch,
        )
        .unwrap();
        ports.settings = Arc::new(quick());
        let settings = agent::Settings::from_vars(&*ports.variables).unwrap();
        let mut parts = Parts { ports, settings };
        change(&mut parts);
        let Parts { ports, settings } = parts;
        let executor = Arc::new(Executor { ports: ports.clone() });
        let executing = tokio::spawn(async move {
            while let Some(invocation) = invocations.recv().await {
                let executor = Arc::clone(&executor);
                tokio::spawn(async move { executor.handle(json!(invocation), None).await });
            }
        });
        let http = ports.model.http();
        let router = build_router(Agent { ports: ports.clone(), settings }, aws.secrets(), http);
        Self { router, ports, aws, tasks: vec![executing], _stores: stores }
    }

    /// Answers an event of AWS's.
    pub(crate) async fn answer(&self, event: Value) -> Response<Body> {
        let stage = format!("/{}", event["requestContext"]["stage"].as_str().unwrap());
        let event: LambdaRequest = serde_json::from_value(event).unwrap();
        let request = lambda_http::Request::from(event);
        let mut request: Request<Body> = request.map(|body| Body::from(body.as_ref().to_vec()));
        // On Lambda `AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH` has the same effect.
        let path = request.uri().path();
        *request.uri_mut() = path.strip_prefix(&stage).unwrap_or(path).parse().unwrap();
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// The status and the JSON that answer an event.
    pub(crate) async fn status_and_json(&self, event: Value) -> (u16, Value) {
        let (parts, body) = self.answer(event).await.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        (parts.status.as_u16(), serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Serves the routes to clients.
    pub(crate) async fn listen(&mut self) -> Client {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = self.router.clone();
        self.tasks.push(tokio::spawn(async move { axum::serve(listener, router).await.unwrap() }));
        Client::new(url)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// A deployment on AWS: nobody is anybody without a signature.
pub(crate) fn not_local(parts: &mut Parts) {
    parts.settings.local = false;
    parts.settings.auth = agent::Auth::Iam(agent::IamUser::Session);
}

/// What a REST API sends.
pub(crate) fn caller_v1(arn: Option<&str>, method: &str, path: &str, body: &Value) -> Value {
    json!({
        "resource": "/{proxy+}", "path": path, "httpMethod": method,
        "headers": {"accept": "text/event-stream", "content-type": "application/json"},
        "multiValueHeaders": {},
        "queryStringParameters": null, "pathParameters": null, "stageVariables": null,
        "body": body.to_string(), "isBase64Encoded": false,
        "requestContext": {
            "resourceId": "r", "resourcePath": "/{proxy+}", "httpMethod": method, "stage": "dev",
            "requestId": "1", "apiId": "a", "domainName": "a.execute-api.eu-west-1.amazonaws.com",
            "identity": {"accountId": arn.map(account), "userArn": arn, "sourceIp": "1.1.1.1"},
        },
    })
}

/// What a function URL sends.
pub(crate) fn caller_v2(arn: Option<&str>, method: &str, path: &str, body: &Value) -> Value {
    let iam = arn.map(|arn| {
        json!({"iam": {"accountId": account(arn), "userArn": arn, "accessKey": "A",
            "callerId": "c", "userId": "u"}})
    });
    json!({
        "version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": "",
        "headers": {"accept": "text/event-stream", "content-type": "application/json"},
        "body": body.to_string(), "isBase64Encoded": false,
        "requestContext": {
            "accountId": "anonymous", "apiId": "a", "domainPrefix": "d", "requestId": "1",
            "domainName": "d.lambda-url.eu-west-1.on.aws", "routeKey": "$default",
            "stage": "$default", "time": "t", "timeEpoch": 1, "authorizer": iam,
            "http": {"method": method, "path": path, "protocol": "HTTP/1.1",
                "sourceIp": "1.1.1.1", "userAgent": "x"},
        },
    })
}

/// `arn:aws:sts::123456789012:…` is of account 123456789012.
fn account(arn: &str) -> &str {
    arn.split(':').nth(4).unwrap()
}
