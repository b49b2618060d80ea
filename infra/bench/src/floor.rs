//! The machine's floor for a run's requests, without Djinn. A bare server requests the same replies from the
//! model, passes each piece on at once, and puts the same records in sequence.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Result, ensure};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::routing::post;
use axum::serve::ListenerExt as _;
use djinn_core::id::{RunId, TenantId};
use djinn_core::journal::Record;
use djinn_local::LocalWorld;
use djinn_runtime::port::RunKey;
use djinn_runtime::port::journal::Journals as _;
use futures::stream;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::agent_server::AgentServer;
use crate::backend::Backend;
use crate::client::RunTimes;

/// Expiry of the records, Unix seconds: after the end of any measurement.
const EXPIRES: i64 = 4_102_444_800;

/// The number of the next journal; each request of each floor has a journal.
static NEXT_JOURNAL: AtomicU64 = AtomicU64::new(0);

/// The bare server and its client. Dropping the value stops the server.
pub(crate) struct Floor {
    http: reqwest::Client,
    url: String,
    work: Arc<FloorWork>,
    server: JoinHandle<()>,
}

/// The work for each request.
struct FloorWork {
    http: reqwest::Client,
    model: String,
    /// The bodies of the run's own model calls, repeated for each request.
    model_requests: Vec<Value>,
    world: LocalWorld,
    /// The run's own records, as many as the run's writes, numbered from 0.
    records: Vec<Record>,
}

impl Floor {
    /// Returns the floor of a finished run with this number of model calls and table writes.
    pub(crate) async fn of(
        run: &RunKey,
        (calls, writes): (usize, usize),
        backend: &Backend,
        agent: &AgentServer,
    ) -> Result<Self> {
        let records = agent.ports().store.read_from(run, 0).await?;
        let records = records.into_iter().cycle().take(writes).zip(0..);
        let records = records.map(|(record, n)| Record { number: n, ..record }).collect();
        let http = reqwest::Client::builder().tcp_nodelay(true).build()?;
        let model = format!("{}chat/completions", backend.address().model);
        let model_requests = backend.model_requests(calls);
        let world = agent.ports().clone();
        ensure!(
            model_requests.len() == calls,
            "the model was asked {} times only",
            model_requests.len()
        );
        let work =
            Arc::new(FloorWork { http: http.clone(), model, model_requests, world, records });
        let app = Router::new().route("/", post(answer_request)).with_state(Arc::clone(&work));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let listener = listener.tap_io(|socket| {
            // As in the agent.
            let _ = socket.set_nodelay(true);
        });
        let server = tokio::spawn(async move {
            // Returns only if the listener fails; then the client's requests fail.
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self { http, url, work, server })
    }

    /// Repeats the run's work once.
    pub(crate) async fn run_once(&self) -> Result<RunTimes> {
        let start = Instant::now();
        let mut response = self.http.post(&self.url).send().await?;
        let mut first_byte = None;
        let mut end = Bytes::new();
        while let Some(piece) = response.chunk().await? {
            first_byte.get_or_insert_with(|| start.elapsed());
            end = piece;
        }
        let whole = start.elapsed();
        ensure!(end.ends_with(DONE), "the floor broke: {}", String::from_utf8_lossy(&end));
        Ok(RunTimes { first_byte: first_byte.unwrap_or(whole), whole, entries: 0 })
    }

    /// Describes the work in words.
    pub(crate) fn describe_work(&self) -> String {
        let FloorWork { model_requests, records, .. } = &*self.work;
        format!(
            "a bare server that streams the same {} replies of the model to its client and puts {} \
             records of the same sizes, as many as the run writes",
            model_requests.len(),
            records.len()
        )
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// The last bytes of a complete stream.
const DONE: &[u8] = b"all done\n";

async fn answer_request(State(work): State<Arc<FloorWork>>) -> Body {
    let (sender, mut receiver) = unbounded_channel();
    tokio::spawn(async move {
        let last = match work.replay_run(&sender).await {
            Ok(()) => Bytes::from_static(DONE),
            Err(error) => Bytes::from(format!("{error:#}")),
        };
        // The client may be gone.
        let _ = sender.send(last);
    });
    let pieces = stream::poll_fn(move |context| receiver.poll_recv(context));
    Body::from_stream(futures::StreamExt::map(pieces, Ok::<Bytes, Infallible>))
}

impl FloorWork {
    async fn replay_run(&self, client: &UnboundedSender<Bytes>) -> Result<()> {
        let journal = NEXT_JOURNAL.fetch_add(1, Ordering::Relaxed);
        let key = RunKey::new(TenantId::new("floor")?, RunId::new(format!("run_{journal:032x}"))?);
        // The first record precedes the stream, because a run exists before its answer.
        let (first, rest) = self.records.split_at(self.records.len().min(1));
        self.append_records(&key, first).await?;
        let calls = self.model_requests.len().max(1);
        for (nth, request) in self.model_requests.iter().enumerate() {
            let mut reply = self.http.post(&self.model).json(request).send().await?;
            ensure!(reply.status().is_success(), "the model: {}", reply.status());
            while let Some(piece) = reply.chunk().await? {
                let _ = client.send(piece);
            }
            let share = rest.len() * nth / calls..rest.len() * (nth + 1) / calls;
            self.append_records(&key, rest.get(share).unwrap_or_default()).await?;
        }
        Ok(())
    }

    async fn append_records(&self, key: &RunKey, records: &[Record]) -> Result<()> {
        for record in records {
            let result = self.world.store.append(key, record, EXPIRES).await?;
            ensure!(result.is_appended(), "the floor's journal exists already");
        }
        Ok(())
    }
}
