//! The gateway of this machine.

use djinn_egress::EgressError;
use djinn_runtime::port::outside::{
    Outside, OutsideContext, OutsideError, PageAnswer, ReadJob, SealJob, SearchAnswer, SearchJob,
    ToolAnswer, ToolJob,
};
use djinn_runtime::port::secret::Secrets;
use djinn_runtime::port::tool::BoxFuture;

use crate::handler::GatewayHandler;
use crate::settings::GatewaySettings;

/// A gateway in this process.
pub struct LocalGateway<S> {
    handler: GatewayHandler<S>,
}

impl<S: Secrets> LocalGateway<S> {
    /// Creates a gateway, which reads stored keys from `secrets`.
    ///
    /// # Errors
    /// Returns [`EgressError`] if the HTTP client cannot be created, for lack of TLS.
    pub fn new(settings: GatewaySettings, secrets: S) -> Result<Self, EgressError> {
        Ok(Self { handler: GatewayHandler::new(settings, secrets)? })
    }
}

impl<S: Secrets + Send + Sync> Outside for LocalGateway<S> {
    fn read_pages<'a>(
        &'a self,
        _: &'a OutsideContext,
        job: ReadJob,
    ) -> BoxFuture<'a, Result<Vec<PageAnswer>, OutsideError>> {
        Box::pin(self.handler.read_pages(job))
    }

    fn search_web<'a>(
        &'a self,
        _: &'a OutsideContext,
        job: SearchJob,
    ) -> BoxFuture<'a, Result<SearchAnswer, OutsideError>> {
        Box::pin(self.handler.search_web(job))
    }

    fn call_tool<'a>(
        &'a self,
        _: &'a OutsideContext,
        job: ToolJob,
    ) -> BoxFuture<'a, Result<ToolAnswer, OutsideError>> {
        Box::pin(async move { Ok(self.handler.call_tool(job).await) })
    }

    fn seal_key(&self, job: SealJob) -> BoxFuture<'_, Result<String, OutsideError>> {
        Box::pin(self.handler.seal_key(job))
    }
}
