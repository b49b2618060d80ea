//! The tools of the configuration folder as a source of tools.

use std::sync::Arc;
use std::time::Duration;

use djinn_runtime::configuration::ConfigurationSource;
use djinn_runtime::port::clock::{Clock, SystemClock};
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolAudience, ToolSource, ToolSourceError};

use crate::configuration::LiveConfiguration;

/// The tools that are files. A changed folder counts for the next turn, not only for the next run.
pub(crate) struct FileToolSource {
    pub(crate) configuration: Arc<LiveConfiguration>,
    /// The maximum age of the last read.
    pub(crate) fresh: Duration,
}

impl ToolSource for FileToolSource {
    fn name(&self) -> &'static str {
        "configuration"
    }

    fn list_tools<'a>(
        &'a self,
        audience: &'a ToolAudience,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolSourceError>> {
        Box::pin(async move {
            self.configuration.update(SystemClock.now_ms(), self.fresh).await;
            if !self.configuration.is_ready() {
                return Err(ToolSourceError("the folder was never read".to_owned()));
            }
            let current = self.configuration.current();
            let offered =
                current.tools.callable.iter().filter(|it| it.check_audience(audience).is_ok());
            Ok(offered.map(|it| Arc::clone(&it.tool)).collect())
        })
    }

    fn has_cache(&self) -> bool {
        true
    }
}
