//! Clients of a simulation: each visit is one request, in an invocation of its own.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use djinn_core::error_code::Failure;
use djinn_core::id::RunId;
use djinn_core::language::Language;
use djinn_protocol::connection::{Connection, Projection};
use djinn_protocol::cursor::Cursor;
use djinn_protocol::joyagent::Translator;
use djinn_protocol::joyagent_ui::JoyAgentUi;
use djinn_protocol::link::SessionLinks;
use djinn_protocol::native::NativeProjection;
use djinn_runtime::client::ClientStream;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::question::UserQuestion;
use djinn_runtime::serve::{
    ReplayFrom, ServeContext, StartResult, replay_run, serve_client, start_streaming,
};
use djinn_runtime::world::Ports as _;
use tokio::sync::oneshot;

use super::{Sim, SimWorld};

/// The frames sent to one client, with times in Unix milliseconds.
pub type FrameLog = Arc<Mutex<Vec<(i64, String)>>>;

/// The factory for a client's protocol.
pub type ProjectionFactory = fn(&UserQuestion, RunId) -> Box<dyn Projection>;

/// Creates our own protocol, with links that begin with `http://sim`.
#[must_use]
pub fn native(question: &UserQuestion, _: RunId) -> Box<dyn Projection> {
    Box::new(NativeProjection::new(SessionLinks::new("http://sim", question.spec.session.clone())))
}

/// Creates the protocol of JoyAgent's UI.
#[must_use]
pub fn joyagent_ui(question: &UserQuestion, run: RunId) -> Box<dyn Projection> {
    let links = SessionLinks::new("http://sim", question.spec.session.clone());
    let translator = Translator::new(run, question.spec.request.clone(), links, Language::En);
    Box::new(JoyAgentUi::new(translator))
}

/// A visit sends its question in a new invocation, even if the run exists.
pub(super) struct Visit {
    pub(super) question: UserQuestion,
    /// The cursor from an earlier visit.
    pub(super) cursor: Option<Cursor>,
    /// The maximum time of the visit.
    pub(super) stay: Option<Duration>,
    pub(super) frames: FrameLog,
    /// Dropped when the client has left.
    pub(super) presence: Option<oneshot::Sender<()>>,
}

impl Sim {
    pub(super) fn spawn_visit(&mut self, visit: Visit) {
        let (process, ports, serving) = self.new_invocation(visit.question.run_key(), 0);
        let speaks = self.projection;
        let buffer_size = self.buffer_size;
        self.spawn_process(process, async move {
            // A rejected client simply retries.
            let _ = serve_visit(&ports, serving, visit, (speaks, buffer_size)).await;
        });
    }
}

async fn serve_visit(
    ports: &SimWorld,
    serving: ServeContext,
    visit: Visit,
    (speaks, buffer_size): (ProjectionFactory, usize),
) -> Result<(), Failure> {
    let Visit { question, cursor, stay: stays, frames, presence: there } = visit;
    let projection = speaks(&question, serving.key.run.clone());
    let start = start_streaming(ports, question, &serving.holder, None).await?;
    let connection = Connection::new(serving.key.run.clone(), projection, true);
    let now_ms = ports.clock().now_ms();
    let (mut client, mut body) = ClientStream::open(connection, buffer_size, now_ms);
    client.merge_previews(ports.settings().preview_merge_window);
    let driving = match start {
        StartResult::New { leased_run: driving, first_record: first, .. } => {
            client.send_record(&first, &[], now_ms);
            Some(driving)
        }
        StartResult::Existing { run, .. } => {
            let from = cursor.as_ref().map_or(ReplayFrom::Start, ReplayFrom::After);
            replay_run(ports, &run, &mut client, from).await?;
            None
        }
    };
    let frame_log = async {
        while let Some(frame) = body.next_frame().await {
            let at_ms = ports.clock().now_ms();
            frames.lock().unwrap_or_else(PoisonError::into_inner).push((at_ms, frame));
        }
    };
    let reading = async {
        match stays {
            // Frames after the client's stay are lost; the invocation continues.
            Some(stays) => drop(tokio::time::timeout(stays, frame_log).await),
            None => frame_log.await,
        }
        drop(there);
    };
    tokio::join!(serve_client(ports, serving, client, driving), reading);
    Ok(())
}
