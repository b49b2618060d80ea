//! Continues a run without a driver. Invoked by a driver at a handoff, by senders of mail to a run without a
//! driver, and by the run's alarm.
//!
//! Invocations are asynchronous: an invocation may arrive twice, late or not at all, always without harm.

use std::sync::Arc;

use djinn_aws::RunInvocation;
use djinn_core::run::MAX_HOPS;
use djinn_runtime::deadline::Deadline;
use djinn_runtime::port::StoreError;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::serve::{ServeContext, continue_run};
use djinn_runtime::world::Ports;
use djinn_wiring::{Djinn, Variables};
use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::Value;

/// The error of the function: an invalid variable or tool, or an error of Lambda's runtime.
pub use lambda_runtime::Error as FunctionError;

/// Runs a deployment's function in Lambda's runtime until the process ends. Reads the environment variables,
/// creates an asynchronous runtime and logs to standard output.
///
/// # Errors
/// Returns [`FunctionError`], whose text names the variable or the tool.
pub fn run_function(djinn: &Djinn) -> Result<(), FunctionError> {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    let var = |name: &str| std::env::var(name).ok();
    let variables: Variables = Arc::new(var);
    djinn_runtime::telemetry::init(var("AWS_LAMBDA_LOG_LEVEL").as_deref(), std::io::stdout);
    djinn_wiring::check_environment()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let executor = Executor { ports: djinn_wiring::build_lambda_world(djinn, &variables)? };
        let executor = &executor;
        lambda_runtime::run(service_fn(async |event: LambdaEvent<Value>| {
            let deadline_ms = i64::try_from(event.context.deadline).ok();
            executor.handle(event.payload, deadline_ms).await.map_err(FunctionError::from)
        }))
        .await
    })
}

/// The state of the function.
pub struct Executor<P> {
    /// The world of the runs.
    pub ports: P,
}

impl<P: Ports> Executor<P> {
    /// Handles one invocation. `deadline_ms` is Lambda's deadline, Unix milliseconds.
    ///
    /// An invalid payload is logged and ignored, as is a payload for a run that does not exist or has ended.
    /// A retry would not help.
    ///
    /// # Errors
    /// Returns [`StoreError`] if the store is unreachable; the run's alarm retries.
    pub async fn handle(&self, payload: Value, deadline_ms: Option<i64>) -> Result<(), StoreError> {
        let invocation: RunInvocation = match serde_json::from_value(payload) {
            Ok(invocation) => invocation,
            Err(error) => {
                tracing::error!("invoked with a payload that is none of ours");
                // The error's text quotes the payload, which may come from anywhere.
                tracing::debug!(%error, "the payload");
                return Ok(());
            }
        };
        let RunInvocation { v, hops, .. } = invocation;
        if v > RunInvocation::FORMAT || hops > MAX_HOPS {
            // A higher format comes from a newer executor. No driver sends more hops, because runs end
            // earlier.
            let run_id = invocation.run;
            tracing::error!(%run_id, v, hops, "invoked with a format or a hop that is none of ours");
            return Ok(());
        }
        let clock = self.ports.clock();
        let now_ms = clock.now_ms();
        let margin = self.ports.settings().hand_over_margin;
        let serving = ServeContext {
            key: invocation.key(),
            holder: format!("executor.{now_ms:x}.{:x}", fastrand::u64(..)),
            deadline: deadline_ms.map_or_else(Deadline::none, |at_ms| {
                Deadline::from_invocation(at_ms, now_ms, margin)
            }),
            hops: invocation.hops,
        };
        continue_run(&self.ports, serving).await
    }
}
