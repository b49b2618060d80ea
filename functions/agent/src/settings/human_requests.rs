//! `DJINN_PEOPLE__REQUESTS`: the settings of human requests, for all modes and by mode.

use std::collections::BTreeMap;

use djinn_core::human::HumanSettings;
use djinn_core::settings::Machine;
use djinn_settings::table::agent::HUMAN_REQUESTS;
use djinn_settings::{InvalidSetting, VarLookup};
use djinn_text::near_miss::find_near_miss;
use serde_json::Value;

use crate::human_settings_change::HumanSettingsChange;

/// The field with the changes of single agents.
const AGENTS: &str = "agents";

/// Reads a JSON object with the fields of [`HumanSettingsChange`]. The field `agents` contains the same
/// object for single modes, by name.
pub(super) fn from_vars(
    var: VarLookup<'_>,
) -> Result<(HumanSettings, BTreeMap<String, HumanSettings>), InvalidSetting> {
    let Some(text) = HUMAN_REQUESTS.find_text(var) else {
        return Ok((HumanSettings::default(), BTreeMap::new()));
    };
    let bad = |problem: String| HUMAN_REQUESTS.refuse(&problem);
    let mut document: Value =
        serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    let agents = document.as_object_mut().and_then(|members| members.remove(AGENTS));
    let everywhere = parse_change(document).map_err(bad)?.apply_to(HumanSettings::default());
    let mut own = BTreeMap::new();
    if let Some(agents) = agents {
        let agents: BTreeMap<String, Value> =
            serde_json::from_value(agents).map_err(|error| bad(error.to_string()))?;
        for (mode, change) in agents {
            let near_miss = find_near_miss(&mode, Machine::ALL.map(Machine::as_str));
            if let Some(name) = near_miss.filter(|name| *name != mode) {
                return Err(bad(format!("`{AGENTS}` names `{mode}`: did you mean `{name}`?")));
            }
            own.insert(mode, parse_change(change).map_err(bad)?.apply_to(everywhere.clone()));
        }
    }
    Ok((everywhere, own))
}

fn parse_change(value: Value) -> Result<HumanSettingsChange, String> {
    let change: HumanSettingsChange =
        serde_json::from_value(value).map_err(|error| error.to_string())?;
    change.find_problem().map_or(Ok(change), |problem| Err(problem.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_core::human::{CostThreshold, TimeoutAction};
    use djinn_core::tool::Risk;

    fn set(text: &str) -> Result<(HumanSettings, BTreeMap<String, HumanSettings>), InvalidSetting> {
        from_vars(&|name| (name == HUMAN_REQUESTS.name).then(|| text.to_owned()))
    }

    #[test]
    fn it_is_off_until_it_is_set_and_agents_may_differ() {
        assert_eq!(set("").unwrap(), (HumanSettings::default(), BTreeMap::new()));
        let (everywhere, agents) =
            set(r#"{"enabled": true, "timeout": 60, "on_timeout": "stop", "risk": "high",
                "require-confirmation-tools": ["send"], "costThreshold": {"token": 5},
                "agents": {"react": {"enabled": false}}}"#)
            .unwrap();
        let cost = CostThreshold { token: 5, ..CostThreshold::default() };
        let wanted = HumanSettings {
            enabled: true,
            timeout_s: 60,
            on_timeout: TimeoutAction::Stop,
            risk: Risk::High,
            require: ["send".to_owned()].into(),
            cost,
            ..HumanSettings::default()
        };
        assert_eq!(everywhere, wanted);
        let react = HumanSettings { enabled: false, ..wanted };
        assert_eq!(agents, BTreeMap::from([("react".to_owned(), react)]));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("true", "invalid type"),
            ("{", "EOF"),
            (r#"{"enable": true}"#, "unknown field `enable`"),
            (r#"{"agents": {"plan-solve": {}}}"#, "did you mean `plan_solve`?"),
            (r#"{"timeout": 99999999}"#, "`timeout` is 0 to 31536000 seconds"),
            (r#"{"risk": "huge"}"#, "unknown variant `huge`"),
        ] {
            let error = set(text).unwrap_err().to_string();
            assert!(
                error.starts_with(HUMAN_REQUESTS.name) && error.contains(part),
                "{text}: {error}"
            );
        }
    }
}
