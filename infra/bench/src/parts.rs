//! The single parts of a run, which show how comparable the figures of two machines are.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use djinn_core::effect::ToolChoice;
use djinn_core::id::{RunId, TenantId, UserId};
use djinn_core::language::Language;
use djinn_core::settings::{ModelChoice, Role};
use djinn_local::LocalWorld;
use djinn_runtime::port::RunKey;
use djinn_runtime::port::mailbox::{Mail, Mailbox as _};
use djinn_runtime::port::model::{Message, Model as _, ModelRequest};
use djinn_scripted::{Bench, Script};
use futures::future::try_join_all;

use crate::agent_server::{AgentOptions, AgentServer};
use crate::backend::{Backend, standard_bench};
use crate::sample::Sample;

/// Repetitions of each part, alone and in parallel.
const TIMES: usize = 400;
const AT_ONCE: usize = 16;

/// Describes the durations of a put and of a stream with 200 deltas.
pub(crate) async fn describe_parts() -> Result<String> {
    let all = Bench { model_calls: 1, deltas: standard_bench().deltas, ..standard_bench() };
    let backend = Backend::start(Script::bench(all)).await?;
    let agent = AgentServer::start(&backend.address(), AgentOptions::default()).await?;
    let (put_ms, puts) = RunPart::Put.measure_part(agent.ports()).await?;
    let (stream_ms, streams) = RunPart::Stream.measure_part(agent.ports()).await?;
    backend.check_expected()?;
    Ok(format!(
        "a put {put_ms:.2} ms ({puts:.0}/s at {AT_ONCE}), a model's stream of 200 deltas \
         {stream_ms:.1} ms ({streams:.0}/s at {AT_ONCE})"
    ))
}

#[derive(Clone, Copy)]
enum RunPart {
    Put,
    Stream,
}

impl RunPart {
    /// Returns the milliseconds of a single part, and the parts per second in parallel.
    async fn measure_part(self, world: &LocalWorld) -> Result<(f64, f64)> {
        let mut sample = Sample::default();
        for took in self.repeat_part(world.clone()).await? {
            sample.add(took);
        }
        let began = Instant::now();
        let all = (0..AT_ONCE).map(|_| {
            let world = world.clone();
            async move { tokio::spawn(self.repeat_part(world)).await? }
        });
        try_join_all(all).await?;
        let rate = (TIMES * AT_ONCE) as f64 / began.elapsed().as_secs_f64();
        Ok((sample.median(), rate))
    }

    async fn repeat_part(self, world: LocalWorld) -> Result<Vec<Duration>> {
        let mut took = Vec::new();
        for _ in 0..TIMES {
            let began = Instant::now();
            match self {
                Self::Put => put_mail(&world).await?,
                Self::Stream => stream_reply(&world).await?,
            }
            took.push(began.elapsed());
        }
        Ok(took)
    }
}

async fn put_mail(world: &LocalWorld) -> Result<()> {
    let key = RunKey::new(TenantId::new("local")?, RunId::new(format!("run_{:032x}", 0))?);
    Ok(world.store.put_mail(&key, &Mail::Stop { by: UserId::new("you")? }, 4_102_444_800).await?)
}

async fn stream_reply(world: &LocalWorld) -> Result<()> {
    let request = ModelRequest {
        role: Role::Summary,
        choice: ModelChoice::Primary,
        call: "parts".to_owned(),
        language: Language::En,
        system: "You write reports.".to_owned(),
        // A question for which the benchmark's model makes no calls.
        messages: vec![Message::User("$$$".to_owned())],
        tools: Vec::new(),
        tool_choice: ToolChoice::None,
        external_texts: Vec::new(),
    };
    let reply = world.model.call(&request, &mut |_| ()).await;
    reply.map(drop).map_err(|error| anyhow!("the model: {}", error.detail))
}
