//! The gateway on a laptop: the function's handler in this process, created on first use.

use std::sync::LazyLock;

use djinn_aws::AwsSecrets;
use djinn_runtime::port::outside::{
    Outside, OutsideContext, OutsideError, PageAnswer, ReadJob, SealJob, SearchAnswer, SearchJob,
    ToolAnswer, ToolJob,
};
use djinn_runtime::port::tool::BoxFuture;
use gateway::{GatewaySettings, LocalGateway};

/// Creates the gateway, or returns the reason for the failure.
type Start = Box<dyn FnOnce() -> Result<LocalGateway<AwsSecrets>, String> + Send>;

/// A gateway that is created on first use.
pub(crate) struct LaptopGateway(LazyLock<Result<LocalGateway<AwsSecrets>, String>, Start>);

impl LaptopGateway {
    pub(crate) fn new(settings: GatewaySettings, secrets: AwsSecrets) -> Self {
        let start = move || LocalGateway::new(settings, secrets).map_err(|error| error.to_string());
        Self(LazyLock::new(Box::new(start)))
    }

    fn gateway(&self) -> Result<&LocalGateway<AwsSecrets>, OutsideError> {
        self.0.as_ref().map_err(|why| OutsideError::Disabled(why.clone()))
    }
}

impl Outside for LaptopGateway {
    fn read_pages<'a>(
        &'a self,
        context: &'a OutsideContext,
        job: ReadJob,
    ) -> BoxFuture<'a, Result<Vec<PageAnswer>, OutsideError>> {
        Box::pin(async move { self.gateway()?.read_pages(context, job).await })
    }

    fn search_web<'a>(
        &'a self,
        context: &'a OutsideContext,
        job: SearchJob,
    ) -> BoxFuture<'a, Result<SearchAnswer, OutsideError>> {
        Box::pin(async move { self.gateway()?.search_web(context, job).await })
    }

    fn call_tool<'a>(
        &'a self,
        context: &'a OutsideContext,
        job: ToolJob,
    ) -> BoxFuture<'a, Result<ToolAnswer, OutsideError>> {
        Box::pin(async move { self.gateway()?.call_tool(context, job).await })
    }

    fn seal_key(&self, job: SealJob) -> BoxFuture<'_, Result<String, OutsideError>> {
        Box::pin(async move { self.gateway()?.seal_key(job).await })
    }
}
