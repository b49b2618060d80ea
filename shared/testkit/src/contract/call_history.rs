//! Checks of the samples of tool calls.

use djinn_core::id::{TenantId, UserId};
use djinn_runtime::port::call_history::CallSample;
use djinn_runtime::port::call_history::{KEPT_SAMPLES, ToolKey};
use djinn_runtime::port::{Store, UserKey};

use super::Checked;

fn tool_key(
    tenant: &str,
    user: &str,
    tool: &str,
) -> Result<ToolKey, Box<dyn std::error::Error + Send + Sync>> {
    let user = UserKey { tenant: TenantId::new(tenant)?, user: UserId::new(user)? };
    Ok(ToolKey { user, tool: tool.to_owned() })
}

fn samples_of(of: std::ops::Range<u64>) -> Vec<CallSample> {
    of.map(|ms| CallSample { ms, tokens: ms * 2 }).collect()
}

/// Samples are separate for each user and each tool.
pub async fn samples_of_a_tool_are_its_users_own(store: &impl Store) -> Checked {
    let own = tool_key("t", "ann", "search")?;
    assert_eq!(store.call_samples(&own).await?, []);
    store.add_call_samples(&own, &samples_of(0..2)).await?;
    store.add_call_samples(&own, &samples_of(2..3)).await?;
    assert_eq!(store.call_samples(&own).await?, samples_of(0..3));
    for other in [
        tool_key("u", "ann", "search")?,
        tool_key("t", "bob", "search")?,
        tool_key("t", "ann", "send")?,
    ] {
        assert_eq!(store.call_samples(&other).await?, []);
    }
    Ok(())
}

/// The oldest samples are dropped for new ones.
pub async fn the_newest_samples_are_kept(store: &impl Store) -> Checked {
    let tool = tool_key("t", "ann", "search")?;
    let limit = KEPT_SAMPLES as u64;
    for nth in 0..5 {
        store.add_call_samples(&tool, &samples_of(nth * limit..(nth + 1) * limit)).await?;
    }
    let samples = store.call_samples(&tool).await?;
    assert!((KEPT_SAMPLES..=2 * KEPT_SAMPLES).contains(&samples.len()), "{}", samples.len());
    assert!(samples.ends_with(&samples_of(4 * limit..5 * limit)), "{samples:?}");
    Ok(())
}
