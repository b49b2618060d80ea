//! What a deployment keeps as texts and changes while it runs: its prompts, and the settings of its models.

use std::sync::Arc;
use std::time::Duration;

use super::tool::BoxFuture;
use crate::prompt::Prompts;

/// The prompts and models that hold at some moment.
pub struct Configuration<M> {
    /// The prompts, which stay as they are.
    pub prompts: Arc<Prompts>,
    /// The models by the settings of then.
    pub model: Arc<M>,
    /// What was wrong with the texts, in sentences for clients too.
    pub problems: Arc<[String]>,
}

/// Reads prompts and models anew. What is broken stays as it last was, which a log line says.
pub trait ConfigurationSource<M>: Send + Sync {
    /// Reads what has changed, unless that was done within `fresh`. Of those who want it at once one reads,
    /// while the others wait.
    fn update(&self, now_ms: i64, fresh: Duration) -> BoxFuture<'_, ()>;

    /// The configuration as it was last read.
    fn current(&self) -> Arc<Configuration<M>>;
}
