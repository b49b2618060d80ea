//! A deployment's texts that can change at run time: its prompts, and the settings of its models.

use std::sync::Arc;
use std::time::Duration;

use super::tool::BoxFuture;
use crate::prompt::Prompts;

/// The prompts and models of one moment.
pub struct Configuration<M> {
    /// The prompts, which never change.
    pub prompts: Arc<Prompts>,
    /// The models with the settings of the same moment.
    pub model: Arc<M>,
    /// The problems with the texts, as sentences for clients too.
    pub problems: Arc<[String]>,
}

/// Reads prompts and models again. A broken text keeps its last good version, which is logged.
pub trait ConfigurationSource<M>: Send + Sync {
    /// Reads changed texts, unless the last read is within `fresh`. Of several concurrent callers one reads,
    /// and the others wait.
    fn update(&self, now_ms: i64, fresh: Duration) -> BoxFuture<'_, ()>;

    /// Returns the configuration of the last read.
    fn current(&self) -> Arc<Configuration<M>>;
}
