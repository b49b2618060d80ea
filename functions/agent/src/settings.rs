//! The agent's own settings, parsed once from variables.

mod human_requests;

use std::collections::BTreeMap;

use djinn_core::budget::Budget;
use djinn_core::human::HumanSettings;
use djinn_core::language::Language;
use djinn_core::settings::{
    ContextSettings, DEFAULT_MODE, PlanSettings, RunSettings, SummaryPolicy,
};
use djinn_core::time_zone::TimeZone;
use djinn_settings::table::agent as row;
use djinn_settings::table::runtime::{LOCAL, MAX_USD};
use djinn_settings::{InvalidSetting, VarLookup};

use crate::identity::Auth;
use crate::link::LinkSettings;
use crate::local::LocalOrigins;
use crate::page::PageSettings;
use crate::slots::StreamLimits;

/// The deployment's settings of the agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The initial settings of every new run.
    pub run: RunSettings,
    /// The settings of human requests for single modes, if different.
    pub human_requests: BTreeMap<String, HumanSettings>,
    /// Instructions in every run's system prompt.
    pub base_prompt: String,
    /// True on a laptop: the app adds the CORS headers. Never true on Lambda.
    pub local: bool,
    /// Origins of pages that may use a laptop's system.
    pub origins: LocalOrigins,
    /// The method of identifying callers.
    pub auth: Auth,
    /// True if plans over JoyAgent's protocols have digital employees, even if `run` has none. Events of
    /// JoyAgent's protocols contain employees.
    pub joyagent_employees: bool,
    /// The limits on a process's streams.
    pub streams: StreamLimits,
    /// The public origin (and path), if requests do not reveal the origin.
    pub public_url: Option<String>,
    /// Links for responding without credentials; `None` turns links off.
    pub links: Option<LinkSettings>,
    /// The web page.
    pub page: PageSettings,
}

impl Settings {
    /// Reads all settings of the agent, and the budget of a run.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] with the name of the invalid variable.
    pub fn from_vars(var: VarLookup<'_>) -> Result<Self, InvalidSetting> {
        let (everywhere, human_requests) = human_requests::from_vars(var)?;
        let employees = match row::DIGITAL_EMPLOYEES.find_choice(var)? {
            Some("1") => EmployeePolicy::Always,
            Some("joyagent") => EmployeePolicy::JoyAgent,
            _ => EmployeePolicy::Never,
        };
        let is_chinese = row::LANGUAGE.find_choice(var)? == Some("zh");
        let summary = row::SUMMARY.find_choice(var)?;
        let summary_policy =
            SummaryPolicy::ALL.iter().find(|policy| Some(policy.as_str()) == summary);
        let run = RunSettings {
            context: ContextSettings {
                compact_at_percent: row::COMPACT_AT.read_number(var)?,
                keep_turns: row::KEEP_TURNS.read_number(var)?,
                ..ContextSettings::default()
            },
            mode: row::DEFAULT_MODE.find_text(var).unwrap_or_else(|| DEFAULT_MODE.to_owned()),
            language: if is_chinese { Language::Zh } else { Language::En },
            time_zone: parse_time_zone(var)?,
            budget: Budget {
                steps: row::MAX_STEPS.read_number(var)?,
                tool_calls: row::MAX_TOOL_CALLS.read_number(var)?,
                tokens: row::MAX_TOKENS.read_number(var)?,
                micro_usd: MAX_USD.find_micro_usd(var)?,
                wall_ms: row::MAX_SECONDS.read_number::<u64>(var)? * 1000,
            },
            summary_policy: Some(summary_policy.copied().unwrap_or_default()),
            plan: parse_plan(var, employees == EmployeePolicy::Always)?,
            human: everywhere,
            compress_urls: row::COMPRESS_URLS.read_switch(var)?,
            mask_pii: row::MASK_PII.read_switch(var)?,
            max_parallel_tool_calls: row::MAX_PARALLEL_TOOL_CALLS.read_number(var)?,
            max_parallel_per_tool: parse_per_tool(var)?,
            max_result_chars: row::MAX_OBSERVE.read_number(var)?,
            ..RunSettings::default()
        };
        let local = LOCAL.read_switch(var)?;
        let public_url = row::PUBLIC_URL.find_text(var);
        let auth = Auth::from_vars(var, local)?;
        Ok(Self {
            run,
            human_requests,
            base_prompt: row::BASE_PROMPT.find_text(var).unwrap_or_default(),
            joyagent_employees: employees != EmployeePolicy::Never,
            local,
            origins: LocalOrigins::from_vars(var)?,
            streams: StreamLimits::from_vars(var)?,
            links: LinkSettings::from_vars(var)?,
            page: PageSettings::from_vars(var, &auth, local)?,
            auth,
            public_url: public_url.map(|url| url.trim_end_matches('/').to_owned()),
        })
    }
}

impl Settings {
    /// Returns the settings of human requests for a mode.
    #[must_use]
    pub fn human_settings(&self, mode: &str, group: &str) -> HumanSettings {
        let own = self.human_requests.get(mode).or_else(|| self.human_requests.get(group));
        own.unwrap_or(&self.run.human).clone()
    }
}

fn parse_time_zone(var: VarLookup<'_>) -> Result<TimeZone, InvalidSetting> {
    let Some(name) = row::TIME_ZONE.find_text(var) else { return Ok(TimeZone::default()) };
    TimeZone::parse(&name).ok_or_else(|| match TimeZone::nearest_name(&name) {
        Some(near) => {
            row::TIME_ZONE.refuse_for(&format!("an IANA time zone, such as `{near}`"), &name)
        }
        None => row::TIME_ZONE.refuse(&name),
    })
}

fn parse_plan(var: VarLookup<'_>, employees: bool) -> Result<PlanSettings, InvalidSetting> {
    Ok(PlanSettings {
        max_steps: row::MAX_PLAN_STEPS.read_number(var)?,
        max_parallel_tasks: row::MAX_PARALLEL_TASKS.read_number(var)?,
        max_rounds: row::MAX_ROUNDS.read_number(var)?,
        max_task_turns: row::MAX_TASK_STEPS.read_number(var)?,
        max_run_turns: row::MAX_RUN_STEPS.read_number(var)?,
        ends_when_complete: row::CLOSE_UPDATE.read_switch(var)?,
        clear_tool_context: row::CLEAR_TOOL_CONTEXT.read_switch(var)?,
        employees,
    })
}

/// Reads limits of single tools: `file_tool=2, web_fetch=4`.
fn parse_per_tool(var: VarLookup<'_>) -> Result<BTreeMap<String, u32>, InvalidSetting> {
    let Some(text) = row::MAX_PARALLEL_PER_TOOL.find_text(var) else {
        return Ok(BTreeMap::new());
    };
    let bound = |pair: &str| {
        let (tool, bound) = pair.split_once('=')?;
        let bound = bound.trim().parse().ok().filter(|bound| (1..=64).contains(bound))?;
        Some((tool.trim().to_owned(), bound)).filter(|(tool, _)| !tool.is_empty())
    };
    let bounds: Option<_> = text.split(',').map(bound).collect();
    bounds.ok_or_else(|| row::MAX_PARALLEL_PER_TOOL.refuse(&text))
}

/// The tasks with digital employees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EmployeePolicy {
    Always,
    JoyAgent,
    Never,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_defaults_and_name_what_is_wrong() {
        let none = Settings::from_vars(&|_| None).unwrap();
        assert_eq!((none.run.budget.steps, none.local), (40, false));
        assert_eq!(none.run, RunSettings { compress_urls: true, ..RunSettings::default() });
        let set = |name: &'static str, value: &'static str| {
            Settings::from_vars(&move |asked| (asked == name).then(|| value.to_owned()))
        };
        assert!(set("DJINN_LOCAL", "1").unwrap().local && !set("DJINN_LOCAL", "").unwrap().local);
        let refused = set("DJINN_LOCAL", "true").unwrap_err().to_string();
        assert_eq!(refused, "DJINN_LOCAL must be 1 or 0, got `true`");
        assert_eq!(set("DJINN_LANGUAGE", "zh").unwrap().run.language, Language::Zh);
        assert_eq!(
            set("DJINN_LANGUAGE", "fr").unwrap_err().to_string(),
            "DJINN_LANGUAGE must be en or zh, got `fr`"
        );
        let zone = set("DJINN_TIME_ZONE", "Asia/Tokyo").unwrap().run.time_zone;
        assert_eq!((zone.as_str(), none.run.time_zone.as_str()), ("Asia/Tokyo", "UTC"));
        for (name, near) in [("Asia/Toky", "Asia/Tokyo"), ("noon", "Asia/Shanghai")] {
            assert_eq!(
                set("DJINN_TIME_ZONE", name).unwrap_err().to_string(),
                format!(
                    "DJINN_TIME_ZONE must be an IANA time zone, such as `{near}`, got `{name}`"
                )
            );
        }
        assert_eq!(
            set("DJINN_LIMITS__MAX_STEPS", "0").unwrap_err().to_string(),
            "DJINN_LIMITS__MAX_STEPS must be a whole number from 1 to 1000, got `0`"
        );
        assert_eq!(
            set("DJINN_MODES__SUMMARY", "always").unwrap().run.summary_policy,
            Some(SummaryPolicy::Always)
        );
        assert_eq!(
            set("DJINN_MODES__SUMMARY", "never").unwrap_err().to_string(),
            "DJINN_MODES__SUMMARY must be when_needed or always, got `never`"
        );
        let context = set("DJINN_MEMORY__COMPACT_AT", "50").unwrap().run.context;
        assert_eq!((context.compact_at_percent, context.keep_turns), (50, 4));
        assert_eq!(set("DJINN_MEMORY__KEEP_TURNS", "1").unwrap().run.context.keep_turns, 1);
        for (name, value) in [("DJINN_MEMORY__COMPACT_AT", "96"), ("DJINN_MEMORY__KEEP_TURNS", "0")]
        {
            assert!(set(name, value).unwrap_err().to_string().starts_with(name));
        }
        assert_eq!(none.run.budget.tool_calls, 200);
        assert_eq!(set("DJINN_LIMITS__MAX_TOOL_CALLS", "7").unwrap().run.budget.tool_calls, 7);
        assert!(
            set("DJINN_LIMITS__MAX_TOOL_CALLS", "0")
                .unwrap_err()
                .to_string()
                .contains("1 to 100000")
        );
        assert_eq!(set("DJINN_LIMITS__MAX_TOKENS", "5000").unwrap().run.budget.tokens, 5_000);
        assert_eq!(
            set("DJINN_LIMITS__MAX_USD", "2.5").unwrap().run.budget.micro_usd,
            Some(2_500_000)
        );
        assert_eq!(set("DJINN_LIMITS__MAX_PLAN_STEPS", "1000").unwrap().run.plan.max_steps, 1_000);
        assert_eq!(
            set("DJINN_LIMITS__MAX_PARALLEL_TASKS", "3").unwrap().run.plan.max_parallel_tasks,
            3
        );
        assert!(set("DJINN_MODES__CLOSE_UPDATE", "1").unwrap().run.plan.ends_when_complete);
        for name in [
            "DJINN_LIMITS__MAX_PLAN_STEPS",
            "DJINN_LIMITS__MAX_PARALLEL_TASKS",
            "DJINN_LIMITS__MAX_ROUNDS",
        ] {
            assert!(set(name, "1001").unwrap_err().to_string().starts_with(name));
        }
        assert_eq!(set("DJINN_LIMITS__MAX_RUN_STEPS", "9").unwrap().run.plan.max_run_turns, 9);
        assert!(none.run.compress_urls);
        assert!(!set("DJINN_MEMORY__COMPRESS_URLS", "0").unwrap().run.compress_urls);
        assert!(!none.run.mask_pii && set("DJINN_SAFETY__MASK_PII", "1").unwrap().run.mask_pii);
        assert!(none.run.plan.clear_tool_context);
        assert!(!set("DJINN_MEMORY__CLEAR_TOOL_CONTEXT", "0").unwrap().run.plan.clear_tool_context);
        assert_eq!(
            set("DJINN_MEMORY__CLEAR_TOOL_CONTEXT", "no").unwrap_err().to_string(),
            "DJINN_MEMORY__CLEAR_TOOL_CONTEXT must be 1 or 0, got `no`"
        );
        for (value, always, joyagent) in
            [("1", true, true), ("", false, false), ("joyagent", false, true), ("0", false, false)]
        {
            let set = set("DJINN_MODES__DIGITAL_EMPLOYEES", value).unwrap();
            assert_eq!((set.run.plan.employees, set.joyagent_employees), (always, joyagent));
        }
        assert_eq!(
            set("DJINN_MODES__DIGITAL_EMPLOYEES", "yes").unwrap_err().to_string(),
            "DJINN_MODES__DIGITAL_EMPLOYEES must be 1, 0 or joyagent, got `yes`"
        );
        let per_tool =
            set("DJINN_LIMITS__MAX_PARALLEL_PER_TOOL", "file_tool=2, web=64").unwrap().run;
        let per_tool: Vec<_> = per_tool.max_parallel_per_tool.into_iter().collect();
        assert_eq!(per_tool, [("file_tool".to_owned(), 2), ("web".to_owned(), 64)]);
        for bad in ["file_tool", "file_tool=0", "=2", "file_tool=65", "file_tool=2,"] {
            let error = set("DJINN_LIMITS__MAX_PARALLEL_PER_TOOL", bad).unwrap_err().to_string();
            assert!(error.ends_with(&format!("got `{bad}`")), "{error}");
        }
        let url = set("DJINN_PUBLIC_URL", "http://h/x/").unwrap().public_url;
        assert_eq!(url.as_deref(), Some("http://h/x"));
    }
}
