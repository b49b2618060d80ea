//! DynamoDB's limit of one partition, in front of the local store: write units a second.
//!
//! What a partition did not use of the last second may be used besides, and no more. DynamoDB itself is
//! more generous: it keeps what was not used for five minutes, as far as there is room.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Bytes of a write unit.
const UNIT: usize = 1024;

/// What is written, by its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Live,
    Mail,
    Record,
    /// The items of leases, lists and files.
    Other,
}

/// What a limit came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Writes that were let through.
    pub(crate) written: u64,
    /// Writes that were refused.
    pub(crate) throttled: u64,
    /// The most units that one partition took in one second, counted from its first write.
    pub(crate) most_units: u64,
}

/// What one partition takes, units a second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) live: u32,
    pub(crate) others: u32,
}

/// A proxy that throttles. Clones are the same.
#[derive(Clone)]
pub(crate) struct Throttle {
    upstream: String,
    client: reqwest::Client,
    limits: Limits,
    table: Arc<Mutex<Table>>,
}

#[derive(Default)]
struct Table {
    partitions: BTreeMap<String, Partition>,
    /// Units of the items that were put: what it takes to delete one.
    items: BTreeMap<(String, String), u64>,
    counted: BTreeMap<Kind, Counted>,
}

/// One partition: what it may take now, and what it took in this second.
struct Partition {
    left: f64,
    at: Instant,
    second: Instant,
    units: u64,
}

/// One item that a request writes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Write {
    partition: String,
    sort: String,
    units: u64,
}

impl Throttle {
    /// Starts a proxy; returns it and its URL.
    pub(crate) async fn start(upstream: &str, limits: Limits) -> (Self, String) {
        let client = reqwest::Client::builder().tcp_nodelay(true).build().unwrap();
        let (upstream, table) = (upstream.to_owned(), Arc::default());
        let proxy = Self { upstream, client, limits, table };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new().fallback(handle).layer(DefaultBodyLimit::disable());
        let app = app.with_state(proxy.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        (proxy, url)
    }

    /// What came of writes of this kind.
    pub(crate) fn counted(&self, kind: Kind) -> Counted {
        self.table.lock().unwrap().counted.get(&kind).copied().unwrap_or_default()
    }

    /// Takes the units of all of a request's writes, or of none: then which of them were too many.
    fn take(&self, writes: &[Write]) -> Result<(), Vec<bool>> {
        let now = Instant::now();
        let mut table = self.table.lock().unwrap();
        let over: Vec<bool> =
            writes.iter().map(|write| !table.has_room(write, now, self.limits)).collect();
        let refused = over.contains(&true);
        for (write, over) in writes.iter().zip(&over) {
            if refused {
                table.counted(write).throttled += u64::from(*over);
            } else {
                table.write(write, now);
            }
        }
        if refused { Err(over) } else { Ok(()) }
    }

    async fn forward(&self, headers: &HeaderMap, body: Bytes) -> Response {
        let mut request = self.client.post(&self.upstream).body(body);
        for (name, value) in headers.iter().filter(|(name, _)| *name != "transfer-encoding") {
            request = request.header(name, value);
        }
        let Ok(answer) = request.send().await else {
            return StatusCode::BAD_GATEWAY.into_response();
        };
        let mut response = Response::builder().status(answer.status());
        for (name, value) in answer.headers() {
            if name != "transfer-encoding" && name != "connection" {
                response = response.header(name, value);
            }
        }
        response.body(Body::from(answer.bytes().await.unwrap_or_default())).unwrap()
    }
}

impl Table {
    fn has_room(&mut self, write: &Write, now: Instant, limits: Limits) -> bool {
        let limit = f64::from(match write.kind() {
            Kind::Live => limits.live,
            Kind::Mail | Kind::Record | Kind::Other => limits.others,
        });
        let fresh = || Partition { left: limit, at: now, second: now, units: 0 };
        let partition = self.partitions.entry(write.partition.clone()).or_insert_with(fresh);
        let since = now.duration_since(partition.at).as_secs_f64();
        (partition.left, partition.at) = ((partition.left + since * limit).min(limit), now);
        // What is larger than a second's units is let through, and paid for afterwards.
        partition.left >= (write.units as f64).min(limit)
    }

    fn write(&mut self, write: &Write, now: Instant) {
        let most = self.partitions.get_mut(&write.partition).map_or(0, |partition| {
            partition.left -= write.units as f64;
            if now.duration_since(partition.second).as_secs() >= 1 {
                (partition.second, partition.units) = (now, 0);
            }
            partition.units += write.units;
            partition.units
        });
        let counted = self.counted(write);
        counted.written += 1;
        counted.most_units = counted.most_units.max(most);
    }

    fn counted(&mut self, write: &Write) -> &mut Counted {
        self.counted.entry(write.kind()).or_default()
    }

    /// What a request writes.
    fn writes(&mut self, operation: &str, body: &Value) -> Vec<Write> {
        match operation {
            "PutItem" => vec![self.put(&body["Item"])],
            "UpdateItem" | "DeleteItem" => vec![self.touched(&body["Key"])],
            "TransactWriteItems" => {
                let items = body["TransactItems"].as_array().unwrap().iter();
                let of = |item: &Value| {
                    let (kind, write) = item.as_object().unwrap().iter().next().unwrap();
                    let write = match kind.as_str() {
                        "Put" => self.put(&write["Item"]),
                        _ => self.touched(&write["Key"]),
                    };
                    // Written once to prepare and once to commit.
                    Write { units: 2 * write.units, ..write }
                };
                items.map(of).collect()
            }
            "GetItem" | "BatchGetItem" | "Query" | "Scan" => Vec::new(),
            other => panic!("what {other} writes is not known"),
        }
    }

    fn put(&mut self, item: &Value) -> Write {
        let bytes: usize = item.as_object().unwrap().iter().map(|(n, v)| n.len() + size(v)).sum();
        let write = Write::of(item, bytes.div_ceil(UNIT) as u64);
        self.items.insert((write.partition.clone(), write.sort.clone()), write.units);
        write
    }

    /// An item that is changed or deleted takes as much as it is large.
    fn touched(&self, key: &Value) -> Write {
        let write = Write::of(key, 1);
        let known = self.items.get(&(write.partition.clone(), write.sort.clone()));
        Write { units: known.copied().unwrap_or(1), ..write }
    }
}

impl Write {
    fn of(keys: &Value, units: u64) -> Self {
        let text = |name: &str| keys[name]["S"].as_str().unwrap().to_owned();
        Self { partition: text("pk"), sort: text("sk"), units }
    }

    fn kind(&self) -> Kind {
        let family = self.sort.split('#').next().unwrap_or_default();
        match (self.partition.split('#').nth(1), family) {
            (Some("LIVE"), _) => Kind::Live,
            (_, "IN") => Kind::Mail,
            (_, "J") => Kind::Record,
            _ => Kind::Other,
        }
    }
}

/// Bytes of a value as DynamoDB counts them; a number's digits count half.
fn size(value: &Value) -> usize {
    match value.as_object().unwrap().iter().next() {
        Some((kind, Value::String(text))) if kind == "N" => text.len().div_ceil(2) + 1,
        Some((_, Value::String(text))) => text.len(),
        Some((_, other)) => other.to_string().len(),
        None => 0,
    }
}

async fn handle(State(proxy): State<Throttle>, headers: HeaderMap, body: Bytes) -> Response {
    let target = headers["x-amz-target"].to_str().unwrap();
    let operation = target.split('.').nth(1).unwrap_or_default();
    let request: Value = serde_json::from_slice(&body).unwrap();
    let writes = proxy.table.lock().unwrap().writes(operation, &request);
    let Err(over) = proxy.take(&writes) else {
        return proxy.forward(&headers, body).await;
    };
    let (code, reasons) = match operation {
        "TransactWriteItems" => ("TransactionCanceledException", over),
        _ => ("ProvisionedThroughputExceededException", Vec::new()),
    };
    let code_of = |over: &bool| json!({"Code": if *over { "ThrottlingError" } else { "None" }});
    let reasons: Vec<Value> = reasons.iter().map(code_of).collect();
    let kind = format!("com.amazonaws.dynamodb.v20120810#{code}");
    let refusal = json!({"__type": kind, "message": "slow down", "CancellationReasons": reasons});
    let headers = [("content-type", "application/x-amz-json-1.0")];
    (StatusCode::BAD_REQUEST, headers, refusal.to_string()).into_response()
}
