//! A deployed function: its configuration, and its idle environments.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::environment::{InvocationWork, Process, ReplySender};
use super::{LambdaRegion, lock};

/// A deployed function: one program, with its limits on Lambda.
#[derive(Debug, Clone)]
pub struct Function {
    /// The name of the function, for invocations.
    pub name: String,
    /// The path of the built `bootstrap`; every environment is a process of it.
    pub binary: PathBuf,
    /// The environment variables; nothing else is inherited.
    pub variables: Vec<(String, String)>,
    /// The timeout of one invocation.
    pub timeout: Duration,
    /// The maximum number of concurrent environments.
    pub concurrency: usize,
    /// The number of deliveries of each asynchronous invocation: 1, or more for duplicates.
    pub copies: usize,
    /// The file to which all output is appended.
    pub log: Option<PathBuf>,
}

/// The pieces of a response, in order of arrival.
pub(crate) type ResponsePieces = mpsc::UnboundedReceiver<io::Result<Bytes>>;

pub(crate) struct DeployedFunction {
    function: Function,
    room: Arc<Semaphore>,
    /// Idle processes with their tenants; the last one used is the next, as on Lambda.
    idle: Mutex<Vec<(Option<String>, Process)>>,
}

impl DeployedFunction {
    pub(crate) fn new(function: Function) -> Self {
        let room = Arc::new(Semaphore::new(function.concurrency));
        Self { function, room, idle: Mutex::default() }
    }

    /// Delivers an asynchronous invocation `copies` times, each as soon as there is room.
    pub(crate) fn invoke_later(self: &Arc<Self>, region: &Arc<LambdaRegion>, payload: &Bytes) {
        for _ in 0..self.function.copies {
            let deployment = Arc::clone(self);
            let own_region = Arc::clone(region);
            let work = InvocationWork { payload: payload.clone(), tenant: None, reply: None };
            region.spawn_task(async move {
                if let Ok(room) = Arc::clone(&deployment.room).acquire_owned().await {
                    deployment.run_work(&own_region, room, work).await;
                }
            });
        }
    }

    /// Starts a synchronous invocation; `None` without room.
    pub(crate) fn invoke(
        self: &Arc<Self>,
        region: &Arc<LambdaRegion>,
        payload: Bytes,
        tenant: Option<String>,
    ) -> Option<ResponsePieces> {
        let room = Arc::clone(&self.room).try_acquire_owned().ok()?;
        let (reply, pieces): (ReplySender, ResponsePieces) = mpsc::unbounded_channel();
        let deployment = Arc::clone(self);
        let own_region = Arc::clone(region);
        let work = InvocationWork { payload, tenant, reply: Some(reply) };
        region.spawn_task(async move { deployment.run_work(&own_region, room, work).await });
        Some(pieces)
    }

    async fn run_work(
        &self,
        region: &LambdaRegion,
        room: OwnedSemaphorePermit,
        work: InvocationWork,
    ) {
        let idle = {
            let mut idle = lock(&self.idle);
            idle.retain_mut(|(_, process)| process.is_alive());
            let place = idle.iter().rposition(|(tenant, _)| *tenant == work.tenant);
            place.map(|place| idle.remove(place).1)
        };
        let tenant = work.tenant.clone();
        let Some(mut process) = idle.or_else(|| Process::start(region, &self.function).ok()) else {
            return;
        };
        process.run(region, &self.function, work).await;
        if process.is_alive() {
            lock(&self.idle).push((tenant, process));
        }
        drop(room);
    }
}
