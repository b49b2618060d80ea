//! Settings that tests change in functions that run in their own processes.

use std::time::Duration;

use djinn_settings::table::runtime::{LOCAL, TEST_SETTINGS};
use djinn_settings::{InvalidSetting, VarLookup};
use serde::Deserialize;

use super::Settings;

/// The variable's content as JSON; missing fields keep their settings.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TestSettings {
    lease_ms: Option<u64>,
    renew_every_ms: Option<u64>,
    mailbox_every_ms: Option<u64>,
    hand_over_margin_ms: Option<u64>,
    follow_every_ms: Option<u64>,
    dispatch_every_ms: Option<u64>,
    tool_timeout_ms: Option<u64>,
    hand_over_after_record: bool,
}

/// Applies `DJINN_TEST_SETTINGS`, if set.
pub(super) fn apply_test_settings(
    settings: &mut Settings,
    var: VarLookup<'_>,
) -> Result<(), InvalidSetting> {
    let Some(json) = TEST_SETTINGS.find_text(var) else { return Ok(()) };
    if !LOCAL.read_switch(var)? {
        return Err(TEST_SETTINGS.refuse_for("unset unless DJINN_LOCAL is 1", &json));
    }
    let of_tests: TestSettings = serde_json::from_str(&json).map_err(|error| {
        TEST_SETTINGS.refuse_for(&format!("{} ({error})", TEST_SETTINGS.kind), &json)
    })?;
    for (changed, ms) in [
        (&mut settings.lease, of_tests.lease_ms),
        (&mut settings.renew_every, of_tests.renew_every_ms),
        (&mut settings.mailbox_every, of_tests.mailbox_every_ms),
        (&mut settings.hand_over_margin, of_tests.hand_over_margin_ms),
        (&mut settings.follow_every, of_tests.follow_every_ms),
        (&mut settings.dispatch_every, of_tests.dispatch_every_ms),
        (&mut settings.tool_timeout, of_tests.tool_timeout_ms),
    ] {
        if let Some(ms) = ms {
            *changed = Duration::from_millis(ms);
        }
    }
    settings.hand_over_after_record = of_tests.hand_over_after_record;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(local: &'static str, json: &'static str) -> Result<Settings, InvalidSetting> {
        let var = |name: &str| match name {
            "DJINN_LOCAL" => Some(local.to_owned()),
            "DJINN_TEST_SETTINGS" => Some(json.to_owned()),
            _ => None,
        };
        Settings::from_vars(&var)
    }

    #[test]
    fn a_test_changes_what_it_names() {
        let changed = read("1", r#"{"lease_ms": 900, "hand_over_after_record": true}"#).unwrap();
        let lease = Duration::from_millis(900);
        let expected = Settings { lease, hand_over_after_record: true, ..Settings::default() };
        assert_eq!(changed, expected);
        let unknown = read("1", r#"{"leas_ms": 900}"#).unwrap_err().to_string();
        assert!(unknown.contains("unknown field `leas_ms`"), "{unknown}");
    }

    #[test]
    fn a_deployment_cannot_set_test_settings() {
        let refused = read("", "{}").unwrap_err().to_string();
        assert_eq!(refused, "DJINN_TEST_SETTINGS must be unset unless DJINN_LOCAL is 1, got `{}`");
    }
}
