//! A stand-in for EventBridge Scheduler, which answers the requests of the AWS SDK and can fail.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use axum::extract::{Path, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::{Json, Router};
use djinn_testkit::lambdasim::Invocation;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::host::Host;

/// The name of the executor in the simulated Lambda.
const EXECUTOR: &str = "arn:aws:lambda:us-east-1:123456789012:function:executor";

/// A failure of the service, until another is set.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// The role of the functions has no grant.
    Denies,
    /// A request gets no response.
    Hangs,
    /// The service is unavailable.
    Down,
}

/// A running stand-in. Dropping the value stops it.
pub(crate) struct Scheduler {
    shared: Arc<Shared>,
    url: String,
    server: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    fault: Mutex<Option<Fault>>,
    /// The input of each schedule's target, by name.
    schedules: Mutex<BTreeMap<String, String>>,
    /// The method of each request, with "begun" or "done".
    log: watch::Sender<Vec<String>>,
}

impl Scheduler {
    /// Starts a stand-in without schedules on a free port of 127.0.0.1.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared: Arc<Shared> = Arc::default();
        let routes = Router::new()
            .route("/schedules/{name}", any(answer_request))
            .with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move {
            // Serving ends only with the test.
            let _ = axum::serve(listener, routes).await;
        });
        Self { shared, url, server }
    }

    /// Returns the environment variables that lead functions here.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ENDPOINT_URL_SCHEDULER", self.url.clone()),
            ("AWS_ACCESS_KEY_ID", "key".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
            // With schedules, the executor is known by its ARN.
            ("DJINN_EXECUTOR", EXECUTOR.to_owned()),
            ("DJINN_SCHEDULE_GROUP", "group".to_owned()),
            ("DJINN_SCHEDULE_ROLE_ARN", "arn:aws:iam::123456789012:role/schedules".to_owned()),
        ]
    }

    /// Sets the failure of later requests; `None` repairs the service.
    pub(crate) fn set_fault(&self, fault: Option<Fault>) {
        *self.shared.fault.lock().unwrap() = fault;
    }

    /// Returns the number of schedules.
    pub(crate) fn count(&self) -> usize {
        self.shared.schedules.lock().unwrap().len()
    }

    /// Waits for a line of the log, such as "DELETE begun".
    pub(crate) async fn wait_for(&self, line: &str) {
        let has = |log: &Vec<String>| log.iter().any(|known| known == line);
        self.shared.log.subscribe().wait_for(has).await.unwrap();
    }

    /// Invokes the targets of all schedules, and waits until the executor has handled the invocations.
    pub(crate) async fn ring(&self, host: &Host) {
        let inputs: Vec<String> = self.shared.schedules.lock().unwrap().values().cloned().collect();
        let count = |all: &[Invocation]| {
            let done = all.iter().filter(|known| known.outcome.is_some());
            done.filter(|known| known.function == EXECUTOR).count()
        };
        let expected = count(&host.lambda.invocations()) + inputs.len();
        let url = format!("{}/2015-03-31/functions/{EXECUTOR}/invocations", host.lambda.url());
        let http = reqwest::Client::builder().build().unwrap();
        for input in inputs {
            let request = http.post(&url).body(input);
            let response = request.header("X-Amz-Invocation-Type", "Event").send().await.unwrap();
            assert_eq!(response.status(), 202);
        }
        host.lambda.wait_until(|all| count(all) >= expected).await;
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer_request(
    State(shared): State<Arc<Shared>>,
    method: Method,
    Path(name): Path<String>,
    body: String,
) -> Response {
    shared.log.send_modify(|log| log.push(format!("{method} begun")));
    let fault = *shared.fault.lock().unwrap();
    let response = match fault {
        None => change_schedule(&shared, &method, name, &body),
        Some(Fault::Denies) => error(403, "AccessDeniedException"),
        Some(Fault::Down) => error(503, "ServiceUnavailable"),
        Some(Fault::Hangs) => std::future::pending().await,
    };
    shared.log.send_modify(|log| log.push(format!("{method} done")));
    response
}

fn change_schedule(shared: &Shared, method: &Method, name: String, body: &str) -> Response {
    let mut schedules = shared.schedules.lock().unwrap();
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let input = body["Target"]["Input"].as_str().unwrap_or_default().to_owned();
    match (method.as_str(), schedules.contains_key(&name)) {
        ("POST", true) => return error(409, "ConflictException"),
        ("DELETE" | "PUT", false) => return error(404, "ResourceNotFoundException"),
        ("DELETE", true) => drop(schedules.remove(&name)),
        _ => drop(schedules.insert(name, input)),
    }
    Json(json!({"ScheduleArn": "arn"})).into_response()
}

fn error(status: u16, code: &'static str) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    (status, [("x-amzn-errortype", code)], Json(json!({"message": code}))).into_response()
}
