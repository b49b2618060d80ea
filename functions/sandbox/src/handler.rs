//! Handles one job of the function: unpacks the envelope, runs the job, and packs the answer.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use djinn_runtime::port::payload::{MAX_PAYLOAD, PackedBytes, StoreRequest};
use djinn_runtime::port::sandbox::wire::{
    AnswerEnvelope, EnvelopeContent, EnvelopeFile, FORMAT, FunctionReply, JobEnvelope,
    MAX_STORED_ANSWER, PackedProduct, StoreHost,
};
use djinn_runtime::port::sandbox::{
    MAX_JOB_BYTES, SandboxAnswer, SandboxError, SandboxFile, SandboxJob,
};
use serde_json::Value;

use crate::local_sandbox::LocalSandbox;
use crate::objects::{ObjectCache, put_object};

/// Bytes reserved for the envelope around an answer in a payload.
const MARGIN: usize = 1024;

/// The sandbox and the object cache of the function.
pub(crate) struct Handler {
    sandbox: Arc<LocalSandbox>,
    objects: ObjectCache,
}

impl Handler {
    /// Creates a handler with an object cache in this folder.
    pub(crate) fn new(sandbox: Arc<LocalSandbox>, objects: PathBuf) -> Self {
        Self { sandbox, objects: ObjectCache::new(objects) }
    }

    /// Runs a job and returns the answer, or the reason for not running the job.
    pub(crate) async fn handle_job(&self, envelope: JobEnvelope) -> FunctionReply {
        match self.answer(envelope).await {
            Ok(reply) => reply,
            Err(SandboxError::Disabled(why)) => FunctionReply::Disabled(why),
            Err(
                error @ (SandboxError::Unavailable(_)
                | SandboxError::Unready(_)
                | SandboxError::Busy { .. }),
            ) => {
                tracing::warn!(%error, "a job was not done");
                FunctionReply::Unavailable(error.to_string())
            }
        }
    }

    async fn answer(&self, envelope: JobEnvelope) -> Result<FunctionReply, SandboxError> {
        if envelope.v != FORMAT {
            let why = "the sandbox's function is of another version: deploy the whole stack";
            return Err(SandboxError::Unavailable(why.to_owned()));
        }
        let JobEnvelope { work, files, state, store, put_answer, .. } = envelope;
        let walls = self.sandbox.start(work.sandbox()).await?;
        let store = store.as_ref();
        // Without a wall around files, a job could read cached objects of another user.
        let keeps = walls.landlock > 0 || walls.private_root;
        let mut room = MAX_JOB_BYTES;
        let mut sandbox_files = Vec::with_capacity(files.len());
        for EnvelopeFile { name, content } in files {
            let content = self.unpack_content(store, content, keeps, room).await?;
            room = room.saturating_sub(content.len() as u64);
            sandbox_files.push(SandboxFile { name, content });
        }
        let state = match state {
            Some(state) => self.unpack_content(store, state, keeps, MAX_JOB_BYTES).await?,
            None => Vec::new(),
        };
        let answer =
            self.sandbox.run_at_once(SandboxJob { work, files: sandbox_files, state }).await?;
        let answer = pack_answer(answer).map_err(say_unavailable)?;
        Ok(fit_reply(answer, store, put_answer.as_ref()).await)
    }

    async fn unpack_content(
        &self,
        store: Option<&StoreHost>,
        content: EnvelopeContent,
        keeps: bool,
        most: u64,
    ) -> Result<Vec<u8>, SandboxError> {
        match content {
            EnvelopeContent::Packed(packed) => packed.unpack(most).map_err(say_unavailable),
            EnvelopeContent::Stored(object) if object.size > most => {
                let why = format!("the files have more than {MAX_JOB_BYTES} bytes");
                Err(SandboxError::Unavailable(why))
            }
            EnvelopeContent::Stored(object) => {
                self.objects.read_object(store, &object, keeps).await.map_err(say_unavailable)
            }
        }
    }
}

#[allow(clippy::needless_pass_by_value, reason = "what map_err hands over")]
fn say_unavailable(error: impl std::error::Error) -> SandboxError {
    SandboxError::Unavailable(error.to_string())
}

/// Packs an answer, with as many products as the caller can accept.
fn pack_answer(answer: SandboxAnswer) -> io::Result<AnswerEnvelope> {
    let SandboxAnswer { end, seconds, output, value, products, mut left_out, state } = answer;
    let mut room = MAX_STORED_ANSWER;
    let mut packed_products = Vec::with_capacity(products.len());
    for SandboxFile { name, content } in products {
        let content = PackedBytes::pack(&content)?;
        match room.checked_sub(content.len()) {
            Some(rest) => {
                room = rest;
                packed_products.push(PackedProduct { name, content });
            }
            None => left_out.push(name.to_string()),
        }
    }
    let state = PackedBytes::pack(&state)?;
    let fits = state.len() <= room;
    let mut answer = AnswerEnvelope {
        v: FORMAT,
        end,
        seconds,
        output,
        value,
        products: packed_products,
        left_out,
        state,
    };
    if !fits {
        forget_variables(&mut answer);
    }
    Ok(answer)
}

/// Returns the answer inline if a payload can hold the answer. A larger answer goes to the store. If the
/// upload fails, large parts are left out and listed by name.
async fn fit_reply(
    mut answer: AnswerEnvelope,
    store: Option<&StoreHost>,
    put_answer: Option<&StoreRequest>,
) -> FunctionReply {
    let mut size = json_size(&answer);
    if let Some(put_answer) = put_answer.filter(|_| size > MAX_PAYLOAD - MARGIN) {
        let body = serde_json::to_vec(&answer).unwrap_or_default();
        match put_object(store, put_answer, body).await {
            Ok(()) => return FunctionReply::Stored,
            Err(error) => tracing::warn!(%error, size, "a large answer was not stored"),
        }
    }
    if size > MAX_PAYLOAD - MARGIN {
        forget_variables(&mut answer);
        size = json_size(&answer);
    }
    while size > MAX_PAYLOAD - MARGIN
        && let Some(product) = answer.products.pop()
    {
        answer.left_out.push(product.name.to_string());
        size = json_size(&answer);
    }
    FunctionReply::Answer(Box::new(answer))
}

fn json_size(answer: &AnswerEnvelope) -> usize {
    serde_json::to_vec(answer).map_or(usize::MAX, |json| json.len())
}

/// Drops the variables, so the next block does not expect any.
fn forget_variables(answer: &mut AnswerEnvelope) {
    answer.state = PackedBytes::default();
    let Some(value) = answer.value.as_object_mut() else { return };
    let names = match value.get_mut("kept") {
        Some(Value::Array(names)) => std::mem::take(names),
        Some(_) | None => return,
    };
    if let Some(Value::Array(lost)) = value.get_mut("lost") {
        lost.extend(names);
    }
}

#[cfg(test)]
mod tests {
    use djinn_core::id::FileName;
    use djinn_runtime::port::sandbox::{JobEnd, JobOutput};
    use serde_json::json;

    use super::*;

    fn answer(sizes: &[usize], state: usize) -> SandboxAnswer {
        let mut chance = fastrand::Rng::with_seed(1);
        let mut noise = |size: usize| (0..size).map(|_| chance.u8(..)).collect::<Vec<_>>();
        let file = |(number, size): (usize, &usize)| SandboxFile {
            name: FileName::new(format!("{number}.png")).unwrap(),
            content: noise(*size),
        };
        SandboxAnswer {
            end: JobEnd::Done,
            seconds: 1.0,
            output: JobOutput::default(),
            products: sizes.iter().enumerate().map(file).collect(),
            left_out: Vec::new(),
            state: noise(state),
            value: json!({"kept": ["table"], "lost": ["lock"]}),
        }
    }

    async fn fit(answer: SandboxAnswer) -> AnswerEnvelope {
        let reply = fit_reply(pack_answer(answer).unwrap(), None, None).await;
        let FunctionReply::Answer(answer) = reply else { panic!("{reply:?}") };
        assert!(json_size(&answer) <= MAX_PAYLOAD - MARGIN);
        *answer
    }

    #[tokio::test]
    async fn an_answer_that_fits_is_whole() {
        let whole = fit(answer(&[2_000_000, 1_000_000], 1_000_000)).await;
        assert_eq!((whole.products.len(), whole.left_out.len()), (2, 0));
        assert_eq!(whole.products[0].content.unpack(2_000_000).unwrap().len(), 2_000_000);
        assert_eq!(whole.value["kept"], json!(["table"]));
        assert!(!whole.state.is_empty());
    }

    #[tokio::test]
    async fn what_is_too_large_is_left_out_by_name_the_variables_first() {
        let fitted = fit(answer(&[2_000_000, 1_000_000], 2_000_000)).await;
        assert_eq!((fitted.products.len(), fitted.state.is_empty()), (2, true));
        assert_eq!(fitted.value, json!({"kept": [], "lost": ["lock", "table"]}));
        let fitted = fit(answer(&[3_000_000, 3_000_000, 10], 10)).await;
        assert_eq!(fitted.left_out, ["2.png", "1.png"]);
        let stored = pack_answer(answer(&[20_000_000, 20_000_000, 10], 0)).unwrap();
        assert_eq!((stored.products.len(), stored.left_out), (2, vec!["1.png".to_owned()]));
    }
}
