//! A proxy in front of a local store that breaks requests on purpose.

use std::sync::{Arc, Mutex};

use aws_sdk_s3::primitives::{DateTime, DateTimeFormat};
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// A request as the proxy sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The operation of DynamoDB, or the method of S3.
    pub(crate) operation: String,
    /// Which attempt the SDK says it is, from 1.
    pub(crate) attempt: u32,
    /// How many requests of this operation came before.
    pub(crate) nth: usize,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Treatment {
    Pass,
    /// 500, and not done.
    NotDone,
    /// Done, and answered with 500.
    ReplyLost,
    /// Never answered, and not done.
    Hangs,
    /// 400 with this code of DynamoDB's, and not done.
    Refused(&'static str),
    /// A canceled transaction, with this reason for its first item.
    Canceled(&'static str),
    /// Done, and answered with the first items alone, as with a `Limit`: ten of many, else one.
    SmallPage,
    /// Done, and answered with a `Date` header that differs from now by so many seconds.
    Dated(i64),
}

pub(crate) type Plan = fn(&Seen) -> Treatment;

#[derive(Clone)]
pub(crate) struct Proxy {
    upstream: String,
    client: reqwest::Client,
    plan: Arc<Mutex<Plan>>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Proxy {
    /// Starts a proxy; returns it and its URL.
    pub(crate) fn start(upstream: &str, plan: Plan) -> (Self, String) {
        let proxy = Self {
            upstream: upstream.to_owned(),
            client: reqwest::Client::builder().tcp_nodelay(true).build().unwrap(),
            plan: Arc::new(Mutex::new(plan)),
            seen: Arc::default(),
        };
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let app = Router::new()
            .fallback(handle)
            .layer(DefaultBodyLimit::disable())
            .with_state(proxy.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        (proxy, url)
    }

    pub(crate) fn plan(&self, plan: Plan) {
        *self.plan.lock().unwrap() = plan;
        self.seen.lock().unwrap().clear();
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    fn see(&self, method: &Method, headers: &HeaderMap) -> Treatment {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let target = text("x-amz-target").and_then(|target| target.split('.').nth(1));
        let operation = target.map_or_else(|| method.to_string(), str::to_owned);
        let attempt = text("amz-sdk-request")
            .and_then(|request| {
                request.split(';').find_map(|part| part.trim().strip_prefix("attempt="))
            })
            .and_then(|attempt| attempt.parse().ok())
            .unwrap_or(1);
        let mut all = self.seen.lock().unwrap();
        let nth = all.iter().filter(|seen| seen.operation == operation).count();
        let seen = Seen { operation, attempt, nth };
        let treatment = (self.plan.lock().unwrap())(&seen);
        all.push(seen);
        treatment
    }

    async fn forward(
        &self,
        method: Method,
        uri: &Uri,
        headers: HeaderMap,
        body: Bytes,
    ) -> Response {
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request =
            self.client.request(method, format!("{}{path}", self.upstream)).body(body);
        for (name, value) in &headers {
            if name != "transfer-encoding" {
                request = request.header(name, value);
            }
        }
        let answer = request.send().await.unwrap();
        let mut response = Response::builder().status(answer.status());
        for (name, value) in answer.headers() {
            if name != "transfer-encoding" && name != "connection" {
                response = response.header(name, value);
            }
        }
        response.body(Body::from(answer.bytes().await.unwrap())).unwrap()
    }
}

async fn handle(
    State(proxy): State<Proxy>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    match proxy.see(&method, &headers) {
        Treatment::Pass => proxy.forward(method, &uri, headers, body).await,
        Treatment::NotDone => broken(),
        Treatment::ReplyLost => {
            proxy.forward(method, &uri, headers, body).await;
            broken()
        }
        Treatment::Hangs => std::future::pending().await,
        Treatment::Refused(code) => refusal(&format!(r#"{{"__type":"x#{code}","message":"no"}}"#)),
        Treatment::Canceled(code) => refusal(&format!(
            r#"{{"__type":"x#TransactionCanceledException","Message":"no",
            "CancellationReasons":[{{"Code":"{code}"}},{{"Code":"None"}}]}}"#
        )),
        Treatment::Dated(offset_s) => {
            let mut response = proxy.forward(method, &uri, headers, body).await;
            let date = response.headers()["date"].to_str().unwrap();
            let date = DateTime::from_str(date, DateTimeFormat::HttpDate).unwrap();
            let date = DateTime::from_secs(date.secs() + offset_s);
            let date = date.fmt(DateTimeFormat::HttpDate).unwrap();
            response.headers_mut().insert("date", date.parse().unwrap());
            response
        }
        Treatment::SmallPage => {
            let (mut parts, page) = proxy.forward(method, &uri, headers, body).await.into_parts();
            let page = to_bytes(page, usize::MAX).await.unwrap();
            let page = small_page(serde_json::from_slice(&page).unwrap()).to_string();
            parts.headers.insert("content-length", page.len().into());
            Response::from_parts(parts, Body::from(page))
        }
    }
}

/// A page with its first items alone, and where the next one begins. The store reads all of them for each page, so
/// that pages of one of a long list would be read in quadratic time.
fn small_page(mut page: Value) -> Value {
    let Some(items) = page["Items"].as_array_mut().filter(|items| items.len() > 1) else {
        return page;
    };
    items.truncate(if items.len() > 12 { 10 } else { 1 });
    let (items, newest) = (items.len(), &items[items.len() - 1]);
    let last = json!({"pk": newest["pk"], "sk": newest["sk"]});
    assert!(last["pk"].is_object() && last["sk"].is_object(), "an item without its keys");
    (page["LastEvaluatedKey"], page["Count"]) = (last, json!(items));
    page
}

fn broken() -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, "broken on purpose").into_response()
}

fn refusal(json: &str) -> Response {
    let headers = [("content-type", "application/x-amz-json-1.0")];
    (StatusCode::BAD_REQUEST, headers, json.to_owned()).into_response()
}
