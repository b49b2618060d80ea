//! A counter of requests, for tests and benchmarks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::BeforeTransmitInterceptorContextRef;
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
// The SDK passes the configuration to interceptors as this type.
use aws_sdk_dynamodb::config::ConfigBag;

/// A counter of requests by operation: `PutItem`, `Query`, `GetObject`. Every attempt counts. Presigning a
/// URL sends no request and does not count.
#[derive(Debug, Clone, Default)]
pub struct RequestCounter(Arc<Mutex<BTreeMap<String, u64>>>);

impl RequestCounter {
    /// Returns the number of requests so far, by operation.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the number of requests since the last call, by operation, and resets the counts.
    #[must_use]
    pub fn take_counts(&self) -> BTreeMap<String, u64> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[dyn_dispatch_hint]
impl Intercept for RequestCounter {
    fn name(&self) -> &'static str {
        "RequestCounter"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let is_presigned = context.request().uri().contains("X-Amz-Signature=");
        if let (Some(metadata), false) = (cfg.load::<Metadata>(), is_presigned) {
            let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match counts.get_mut(metadata.name()) {
                Some(count) => *count += 1,
                None => drop(counts.insert(metadata.name().to_owned(), 1)),
            }
        }
        Ok(())
    }
}
