//! A sandbox that makes images small enough without looking at them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use djinn_core::id::FileName;
use djinn_runtime::port::sandbox::{
    JobContext, JobEnd, JobOutput, Sandbox, SandboxAnswer, SandboxError, SandboxFile, SandboxJob,
    SandboxWork,
};
use djinn_runtime::port::tool::BoxFuture;
use serde_json::{Map, Value, json};

/// What a [`Scaler`] makes of an image.
#[derive(Clone)]
pub(crate) enum Scaled {
    /// This smaller copy.
    To(Vec<u8>),
    /// These parts, since it is very long.
    Parts(Vec<Vec<u8>>),
    /// Nothing: it is as it should be.
    Kept,
    /// Nothing, for this reason.
    Not(&'static str),
}

/// A sandbox for images, which remembers its jobs.
#[derive(Clone, Default)]
pub(crate) struct Scaler {
    pub(crate) images: BTreeMap<&'static str, Scaled>,
    pub(crate) fails: bool,
    pub(crate) jobs: Arc<Mutex<Vec<SandboxJob>>>,
}

impl Scaler {
    pub(crate) fn of(images: impl IntoIterator<Item = (&'static str, Scaled)>) -> Self {
        Self { images: images.into_iter().collect(), ..Self::default() }
    }

    fn answer(&self, names: Vec<FileName>) -> SandboxAnswer {
        let (mut value, mut products) = (Map::new(), Vec::new());
        for name in names {
            let mut parts = Vec::new();
            let problem = match self.images.get(name.as_str()) {
                Some(Scaled::Parts(contents)) => {
                    for (at, content) in contents.iter().enumerate() {
                        let part = FileName::new(format!("{name}-{at}.png")).unwrap();
                        products.push(SandboxFile { name: part.clone(), content: content.clone() });
                        parts.push(part);
                    }
                    ""
                }
                Some(Scaled::To(content)) => {
                    products.push(SandboxFile { name: name.clone(), content: content.clone() });
                    ""
                }
                Some(Scaled::Not(problem)) => problem,
                Some(Scaled::Kept) | None => "",
            };
            let said = json!({"problem": problem, "width": 9, "height": 9, "parts": parts});
            value.insert(name.to_string(), said);
        }
        SandboxAnswer {
            end: JobEnd::Done,
            seconds: 0.1,
            output: JobOutput::default(),
            value: Value::Object(value),
            products,
            left_out: Vec::new(),
            state: Vec::new(),
        }
    }
}

impl Sandbox for Scaler {
    fn max_bytes(&self) -> u64 {
        8 * 1024 * 1024
    }

    fn run_job<'a>(
        &'a self,
        _: &'a JobContext,
        job: SandboxJob,
    ) -> BoxFuture<'a, Result<SandboxAnswer, SandboxError>> {
        self.jobs.lock().unwrap().push(job.clone());
        Box::pin(async move {
            match job.work {
                _ if self.fails => Err(SandboxError::Unavailable("it is away".to_owned())),
                SandboxWork::Scale { names, max_edge: 2_000, max_bytes: 5_000_000 } => {
                    Ok(self.answer(names))
                }
                other => panic!("{other:?}"),
            }
        })
    }
}
