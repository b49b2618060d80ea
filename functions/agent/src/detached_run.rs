//! Runs that another invocation drives.

use djinn_core::error_code::ErrorCode;
use djinn_runtime::port::RunKey;
use djinn_runtime::port::alarm::Invoker;
use djinn_runtime::question::UserQuestion;
use djinn_runtime::serve::start_background;
use djinn_runtime::sleep::set_alarm_in_time;

use crate::agent::{AgentPorts, SharedAgent};
use crate::api_error::ApiError;

/// Starts the question's run in another invocation. Returns the run, which is another run for a `continue`.
pub(crate) async fn start_detached<P: AgentPorts>(
    agent: &SharedAgent<P>,
    question: UserQuestion,
) -> Result<RunKey, ApiError> {
    let key = start_background(&agent.ports, question).await?;
    // An invocation may get lost, and then only the alarm would start this run.
    if let Err(error) = set_alarm_in_time(&agent.ports, &key).await {
        tracing::warn!(%error, run_id = %key.run, "alarm not made: its driver tries again");
    }
    if let Err(error) = agent.ports.invoker().kick_run(&key, 0).await {
        tracing::error!(%error, run_id = %key.run, "run not kicked");
        return Err(ErrorCode::StoreUnavailable.into());
    }
    Ok(key)
}
