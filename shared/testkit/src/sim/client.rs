//! Clients of a simulation: each visit is one request, in an invocation of its own.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use djinn_core::code::Failure;
use djinn_core::id::RunId;
use djinn_core::settings::Language;
use djinn_core::wire::cursor::Cursor;
use djinn_core::wire::joyagent::Translator;
use djinn_core::wire::joyagent_ui::JoyAgentUi;
use djinn_core::wire::link::Links;
use djinn_core::wire::native::Native;
use djinn_core::wire::{Connection, Projection};
use djinn_runtime::client::{ClientBody, ClientStream};
use djinn_runtime::port::Ports as _;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::serve::{Opened, Question, ReplayFrom, Serving, open, replay, serve};
use tokio::sync::oneshot;

use super::{Sim, SimWorld};

/// The frames one client was sent, each with the Unix milliseconds at which it came.
pub type Frames = Arc<Mutex<Vec<(i64, String)>>>;

/// A protocol that clients speak.
pub type Speaks = fn(&Question, RunId) -> Box<dyn Projection>;

/// Our own protocol.
#[must_use]
pub fn native(question: &Question, _: RunId) -> Box<dyn Projection> {
    Box::new(Native::new(Links::new("http://sim", question.session.clone())))
}

/// The protocol of JoyAgent's UI.
#[must_use]
pub fn joyagent_ui(question: &Question, run: RunId) -> Box<dyn Projection> {
    let links = Links::new("http://sim", question.session.clone());
    let translator = Translator::new(run, question.request.clone(), links, Language::En);
    Box::new(JoyAgentUi::new(translator))
}

/// One request.
pub(super) struct Visit {
    pub(super) question: Question,
    /// Up to where the client has the run from an earlier visit.
    pub(super) cursor: Option<Cursor>,
    /// How long it stays at most.
    pub(super) stays: Option<Duration>,
    pub(super) frames: Frames,
    /// Dropped when the client is there no longer.
    pub(super) there: Option<oneshot::Sender<()>>,
}

impl Sim {
    pub(super) fn visit(&mut self, visit: Visit) {
        let (process, ports, serving) = self.invocation_of(visit.question.run_key(), 0);
        let (speaks, buffer_size) = (self.speaks, self.buffer_size);
        self.spawn(process, async move {
            // A client that is refused says so by asking again.
            let _ = answer(&ports, serving, visit, (speaks, buffer_size)).await;
        });
    }
}

async fn answer(
    ports: &SimWorld,
    serving: Serving,
    visit: Visit,
    (speaks, buffer_size): (Speaks, usize),
) -> Result<(), Failure> {
    let Visit { question, cursor, stays, frames, there } = visit;
    let projection = speaks(&question, serving.key.run.clone());
    let opened = open(ports, question, &serving.holder).await?;
    let connection = Connection::new(serving.key.run.clone(), projection, true);
    let now_ms = ports.clock().now_ms();
    let (mut client, body) = ClientStream::open(connection, buffer_size, now_ms);
    client.merge_previews(ports.settings().merge_previews);
    let driving = match opened {
        Opened::New { driving, first, .. } => {
            client.record(&first, &[], now_ms);
            Some(driving)
        }
        Opened::Existing { key, .. } => {
            let from = cursor.as_ref().map_or(ReplayFrom::Start, ReplayFrom::After);
            replay(ports, &key, &mut client, from).await?;
            None
        }
    };
    let reading = read(ports, body, frames);
    let read = async {
        match stays {
            // What it does not stay for goes nowhere; the invocation goes on.
            Some(stays) => drop(tokio::time::timeout(stays, reading).await),
            None => reading.await,
        }
        drop(there);
    };
    tokio::join!(serve(ports, serving, client, driving), read);
    Ok(())
}

async fn read(ports: &SimWorld, mut body: ClientBody, frames: Frames) {
    while let Some(frame) = body.next_frame().await {
        let at_ms = ports.clock().now_ms();
        frames.lock().unwrap_or_else(PoisonError::into_inner).push((at_ms, frame));
    }
}
