//! The record about a driver that died.

use djinn_core::budget::Usage;
use djinn_core::effect::Effect;
use djinn_core::input::Input;
use djinn_core::tool::EffectClass;

use super::start::EffectStarter;
use crate::world::Ports;

/// Returns the input about the last driver's death, or `None` if it did not die.
pub(super) async fn resumption_input<P: Ports>(starter: &EffectStarter<'_, P>) -> Option<Input> {
    let has_died = starter.lease.has_lapsed() || has_orphaned_once_calls(starter.run.due());
    if !has_died {
        return None;
    }
    let lost_usage = estimate_lost_usage(starter).await;
    Some(Input::Resumed { epoch: starter.lease.lease().epoch, lost_usage, isolated: true })
}

/// Returns true if a `once` call was started by a driver that is gone. A handoff waits for `once` calls, so
/// the driver died.
fn has_orphaned_once_calls(due: &[Effect]) -> bool {
    due.iter().any(|effect| {
        matches!(effect, Effect::RunTool(run) if run.class == EffectClass::Once && run.started)
    })
}

/// Estimates the usage of model calls in flight when the driver died.
async fn estimate_lost_usage<P: Ports>(starter: &EffectStarter<'_, P>) -> Option<Usage> {
    let lost_calls = starter.run.due().iter().filter_map(|effect| match effect {
        Effect::CallModel(call) if !call.waits && !call.message.is_of_agent_file() => {
            Some(call.clone())
        }
        _ => None,
    });
    let mut total: Option<Usage> = None;
    for call in lost_calls {
        let usage = starter.model_execution(call).estimate_usage().await;
        total = total.into_iter().chain(usage).reduce(Usage::plus);
    }
    total
}
