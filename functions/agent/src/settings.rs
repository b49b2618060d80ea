//! The agent's own settings, parsed once from variables.

mod feedback;

use std::collections::BTreeMap;

use djinn_core::budget::Budget;
use djinn_core::human::HumanSettings;
use djinn_core::language::Language;
use djinn_core::settings::{ContextSettings, Mode, PlanSettings, Role, RunSettings, SummaryPolicy};
use djinn_runtime::settings::{InvalidSetting, MAX_USD_VAR, parse_micro_usd, parse_number};

use crate::identity::Auth;
use crate::link::LinkSettings;
use crate::local::LocalOrigins;
use crate::slots::StreamLimits;

/// What a deployment decides about its agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// What every new run starts with.
    pub run: RunSettings,
    /// When people are asked in runs of one kind of agent, where that differs.
    pub feedback: BTreeMap<Mode, HumanSettings>,
    /// Instructions put into every run's system prompt.
    pub base_prompt: String,
    /// On a laptop: CORS is answered by the app. Never set on Lambda.
    pub local: bool,
    /// Whose pages may use a laptop's system.
    pub origins: LocalOrigins,
    /// How callers are told apart.
    pub auth: Auth,
    /// Whether plans that are asked for in JoyAgent's protocols have digital employees, even if
    /// those of `run` have none: their events have a place for them.
    pub joyagent_employees: bool,
    /// How many responses one process streams.
    pub streams: StreamLimits,
    /// The origin (and path) that clients reach us at, where it cannot be told from a request.
    pub public_url: Option<String>,
    /// Links by which people answer without credentials; `None`: there are none.
    pub links: Option<LinkSettings>,
}

impl Settings {
    /// Reads `DJINN_LANGUAGE`, `DJINN_MAX_STEPS`, `DJINN_MAX_TOOL_CALLS`, `DJINN_MAX_TOKENS`, `DJINN_MAX_USD`, `DJINN_MAX_SECONDS`,
    /// `DJINN_MAX_PARALLEL_TOOL_CALLS`, `DJINN_MAX_PARALLEL_PER_TOOL`, `DJINN_MAX_OBSERVE`, `DJINN_COMPACT_AT`,
    /// `DJINN_KEEP_TURNS`, `DJINN_SUMMARY`, `DJINN_COMPRESS_URLS`, `DJINN_MASK_PII`, `DJINN_BASE_PROMPT`, `DJINN_LOCAL`,
    /// `DJINN_PUBLIC_URL`, `DJINN_HUMAN_FEEDBACK`, what plans may do (see `plan`), how callers are told apart
    /// (see [`Auth`]), whose pages may call (see [`LocalOrigins`]), how many are streamed to (see
    /// [`StreamLimits`]) and links for answers (see [`LinkSettings`]).
    ///
    /// # Errors
    /// [`InvalidSetting`] names the variable.
    pub fn from_vars(var: &dyn Fn(&str) -> Option<String>) -> Result<Self, InvalidSetting> {
        let defaults = RunSettings::default();
        let small = |name, range| -> Result<Option<u32>, InvalidSetting> {
            Ok(parse_number(var, name, range)?.and_then(|number| u32::try_from(number).ok()))
        };
        let budget = Budget {
            steps: small("DJINN_MAX_STEPS", 1..=1_000)?.unwrap_or(defaults.budget.steps),
            tool_calls: small("DJINN_MAX_TOOL_CALLS", 1..=100_000)?
                .unwrap_or(defaults.budget.tool_calls),
            tokens: parse_number(var, "DJINN_MAX_TOKENS", 1_000..=1_000_000_000_000)?
                .unwrap_or(defaults.budget.tokens),
            micro_usd: parse_micro_usd(var, MAX_USD_VAR)?,
            wall_ms: parse_number(var, "DJINN_MAX_SECONDS", 1..=7 * 24 * 60 * 60)?
                .map_or(defaults.budget.wall_ms, |seconds| seconds * 1000),
        };
        let context = ContextSettings {
            compact_at_percent: small("DJINN_COMPACT_AT", 50..=95)?
                .unwrap_or(defaults.context.compact_at_percent),
            keep_turns: small("DJINN_KEEP_TURNS", 1..=100)?.unwrap_or(defaults.context.keep_turns),
            ..defaults.context.clone()
        };
        let (everywhere, feedback) = feedback::from_vars(var)?;
        let run = RunSettings {
            context,
            language: parse_language(var)?,
            budget,
            summary_policy: Some(parse_summary(var)?),
            plan: parse_plan(var)?,
            human: everywhere,
            compress_urls: parse_switch(var, "DJINN_COMPRESS_URLS")?.unwrap_or(true),
            mask_pii: parse_switch(var, "DJINN_MASK_PII")?.unwrap_or(false),
            max_parallel_tool_calls: small("DJINN_MAX_PARALLEL_TOOL_CALLS", 1..=64)?
                .unwrap_or(defaults.max_parallel_tool_calls),
            max_parallel_per_tool: parse_per_tool(var)?,
            max_result_chars: small("DJINN_MAX_OBSERVE", 1_000..=1_000_000)?
                .unwrap_or(defaults.max_result_chars),
            ..defaults
        };
        let local = var("DJINN_LOCAL").as_deref() == Some("1");
        let public_url = var("DJINN_PUBLIC_URL").filter(|url| !url.is_empty());
        Ok(Self {
            run,
            feedback,
            base_prompt: var("DJINN_BASE_PROMPT").unwrap_or_default(),
            joyagent_employees: parse_employees(var)? != EmployeePolicy::Never,
            local,
            origins: LocalOrigins::from_vars(var)?,
            auth: Auth::from_vars(var, local)?,
            streams: StreamLimits::from_vars(var)?,
            links: LinkSettings::from_vars(var)?,
            public_url: public_url.map(|url| url.trim_end_matches('/').to_owned()),
        })
    }
}

impl Settings {
    /// When people are asked in a run of this kind.
    #[must_use]
    pub fn feedback_for(&self, mode: Mode) -> HumanSettings {
        self.feedback.get(&mode).unwrap_or(&self.run.human).clone()
    }

    /// Names the configured model of each role in the records of new runs.
    #[must_use]
    pub fn with_models(mut self, models: BTreeMap<Role, String>) -> Self {
        self.run.models = models;
        self
    }
}

/// Reads `DJINN_MAX_PLAN_STEPS`, `DJINN_MAX_PARALLEL_TASKS`, `DJINN_MAX_ROUNDS`,
/// `DJINN_MAX_TASK_STEPS`, `DJINN_MAX_RUN_STEPS`, `DJINN_CLOSE_UPDATE`,
/// `DJINN_CLEAR_TOOL_CONTEXT` and `DJINN_DIGITAL_EMPLOYEES`.
fn parse_plan(var: &dyn Fn(&str) -> Option<String>) -> Result<PlanSettings, InvalidSetting> {
    let defaults = PlanSettings::default();
    let small = |name, most, default| -> Result<u32, InvalidSetting> {
        let given =
            parse_number(var, name, 1..=most)?.and_then(|number| u32::try_from(number).ok());
        Ok(given.unwrap_or(default))
    };
    Ok(PlanSettings {
        max_steps: small("DJINN_MAX_PLAN_STEPS", 1_000, defaults.max_steps)?,
        max_parallel_tasks: small("DJINN_MAX_PARALLEL_TASKS", 1_000, defaults.max_parallel_tasks)?,
        max_rounds: small("DJINN_MAX_ROUNDS", 100, defaults.max_rounds)?,
        max_task_turns: small("DJINN_MAX_TASK_STEPS", 1_000, defaults.max_task_turns)?,
        max_run_turns: small("DJINN_MAX_RUN_STEPS", 100_000, defaults.max_run_turns)?,
        ends_when_complete: parse_switch(var, "DJINN_CLOSE_UPDATE")?
            .unwrap_or(defaults.ends_when_complete),
        clear_tool_context: parse_switch(var, "DJINN_CLEAR_TOOL_CONTEXT")?
            .unwrap_or(defaults.clear_tool_context),
        employees: parse_employees(var)? == EmployeePolicy::Always,
    })
}

/// Reads `DJINN_MAX_PARALLEL_PER_TOOL`: `file_tool=2, web_fetch=4`.
fn parse_per_tool(
    var: &dyn Fn(&str) -> Option<String>,
) -> Result<BTreeMap<String, u32>, InvalidSetting> {
    const NAME: &str = "DJINN_MAX_PARALLEL_PER_TOOL";
    let Some(text) = var(NAME).filter(|text| !text.trim().is_empty()) else {
        return Ok(BTreeMap::new());
    };
    let bound = |pair: &str| {
        let (tool, bound) = pair.split_once('=')?;
        let bound = bound.trim().parse().ok().filter(|bound| (1..=64).contains(bound))?;
        Some((tool.trim().to_owned(), bound)).filter(|(tool, _)| !tool.is_empty())
    };
    let bounds: Option<_> = text.split(',').map(bound).collect();
    let wanted =
        "tools with the calls that may run at once, 1-64, such as `file_tool=2,web_fetch=4`";
    bounds.ok_or_else(|| InvalidSetting::new(NAME, wanted, text))
}

/// Whose tasks have digital employees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EmployeePolicy {
    Always,
    JoyAgent,
    Never,
}

fn parse_employees(var: &dyn Fn(&str) -> Option<String>) -> Result<EmployeePolicy, InvalidSetting> {
    const NAME: &str = "DJINN_DIGITAL_EMPLOYEES";
    match var(NAME).as_deref() {
        None | Some("" | "0") => Ok(EmployeePolicy::Never),
        Some("joyagent") => Ok(EmployeePolicy::JoyAgent),
        Some("1") => Ok(EmployeePolicy::Always),
        Some(other) => Err(InvalidSetting::new(NAME, "1, 0 or joyagent", other)),
    }
}

fn parse_language(var: &dyn Fn(&str) -> Option<String>) -> Result<Language, InvalidSetting> {
    match var("DJINN_LANGUAGE").as_deref() {
        None | Some("" | "en") => Ok(Language::En),
        Some("zh") => Ok(Language::Zh),
        Some(other) => Err(InvalidSetting::new("DJINN_LANGUAGE", "en or zh", other)),
    }
}

fn parse_summary(var: &dyn Fn(&str) -> Option<String>) -> Result<SummaryPolicy, InvalidSetting> {
    const NAME: &str = "DJINN_SUMMARY";
    let Some(word) = var(NAME).filter(|word| !word.is_empty()) else {
        return Ok(SummaryPolicy::default());
    };
    let policy = SummaryPolicy::ALL.iter().find(|policy| policy.as_str() == word);
    policy.copied().ok_or_else(|| InvalidSetting::new(NAME, "when_needed or always", word))
}

/// A variable that is `1` or `0`; `None` if it is not set or empty.
fn parse_switch(
    var: &dyn Fn(&str) -> Option<String>,
    name: &'static str,
) -> Result<Option<bool>, InvalidSetting> {
    match var(name).as_deref() {
        None | Some("") => Ok(None),
        Some("1") => Ok(Some(true)),
        Some("0") => Ok(Some(false)),
        Some(other) => Err(InvalidSetting::new(name, "1 or 0", other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_defaults_and_name_what_is_wrong() {
        let none = Settings::from_vars(&|_| None).unwrap();
        assert_eq!((none.run.budget.steps, none.local), (40, false));
        let set = |name: &'static str, value: &'static str| {
            Settings::from_vars(&move |asked| (asked == name).then(|| value.to_owned()))
        };
        assert_eq!(set("DJINN_LANGUAGE", "zh").unwrap().run.language, Language::Zh);
        assert_eq!(
            set("DJINN_LANGUAGE", "fr").unwrap_err().to_string(),
            "DJINN_LANGUAGE must be en or zh, got `fr`"
        );
        assert_eq!(
            set("DJINN_MAX_STEPS", "0").unwrap_err().to_string(),
            "DJINN_MAX_STEPS must be a whole number from 1 to 1000, got `0`"
        );
        assert_eq!(none.run.summary_policy, Some(SummaryPolicy::WhenNeeded));
        assert_eq!(
            set("DJINN_SUMMARY", "always").unwrap().run.summary_policy,
            Some(SummaryPolicy::Always)
        );
        assert_eq!(
            set("DJINN_SUMMARY", "never").unwrap_err().to_string(),
            "DJINN_SUMMARY must be when_needed or always, got `never`"
        );
        let context = set("DJINN_COMPACT_AT", "50").unwrap().run.context;
        assert_eq!((context.compact_at_percent, context.keep_turns), (50, 4));
        assert_eq!(set("DJINN_KEEP_TURNS", "1").unwrap().run.context.keep_turns, 1);
        for (name, value) in [("DJINN_COMPACT_AT", "96"), ("DJINN_KEEP_TURNS", "0")] {
            assert!(set(name, value).unwrap_err().to_string().starts_with(name));
        }
        assert_eq!(none.run.budget.tool_calls, 200);
        assert_eq!(set("DJINN_MAX_TOOL_CALLS", "7").unwrap().run.budget.tool_calls, 7);
        assert!(set("DJINN_MAX_TOOL_CALLS", "0").unwrap_err().to_string().contains("1 to 100000"));
        assert_eq!(set("DJINN_MAX_TOKENS", "5000").unwrap().run.budget.tokens, 5_000);
        assert_eq!(set("DJINN_MAX_USD", "2.5").unwrap().run.budget.micro_usd, Some(2_500_000));
        assert_eq!(set("DJINN_MAX_PLAN_STEPS", "1000").unwrap().run.plan.max_steps, 1_000);
        assert_eq!(set("DJINN_MAX_PARALLEL_TASKS", "3").unwrap().run.plan.max_parallel_tasks, 3);
        assert!(set("DJINN_CLOSE_UPDATE", "1").unwrap().run.plan.ends_when_complete);
        for name in ["DJINN_MAX_PLAN_STEPS", "DJINN_MAX_PARALLEL_TASKS", "DJINN_MAX_ROUNDS"] {
            assert!(set(name, "1001").unwrap_err().to_string().starts_with(name));
        }
        assert_eq!(set("DJINN_MAX_RUN_STEPS", "9").unwrap().run.plan.max_run_turns, 9);
        assert!(none.run.compress_urls);
        assert!(!set("DJINN_COMPRESS_URLS", "0").unwrap().run.compress_urls);
        assert!(!none.run.mask_pii && set("DJINN_MASK_PII", "1").unwrap().run.mask_pii);
        assert!(none.run.plan.clear_tool_context);
        assert!(!set("DJINN_CLEAR_TOOL_CONTEXT", "0").unwrap().run.plan.clear_tool_context);
        assert_eq!(
            set("DJINN_CLEAR_TOOL_CONTEXT", "no").unwrap_err().to_string(),
            "DJINN_CLEAR_TOOL_CONTEXT must be 1 or 0, got `no`"
        );
        for (value, always, joyagent) in
            [("1", true, true), ("", false, false), ("joyagent", false, true), ("0", false, false)]
        {
            let set = set("DJINN_DIGITAL_EMPLOYEES", value).unwrap();
            assert_eq!((set.run.plan.employees, set.joyagent_employees), (always, joyagent));
        }
        assert_eq!(
            set("DJINN_DIGITAL_EMPLOYEES", "yes").unwrap_err().to_string(),
            "DJINN_DIGITAL_EMPLOYEES must be 1, 0 or joyagent, got `yes`"
        );
        let per_tool = set("DJINN_MAX_PARALLEL_PER_TOOL", "file_tool=2, web=64").unwrap().run;
        let per_tool: Vec<_> = per_tool.max_parallel_per_tool.into_iter().collect();
        assert_eq!(per_tool, [("file_tool".to_owned(), 2), ("web".to_owned(), 64)]);
        for bad in ["file_tool", "file_tool=0", "=2", "file_tool=65", "file_tool=2,"] {
            let error = set("DJINN_MAX_PARALLEL_PER_TOOL", bad).unwrap_err().to_string();
            assert!(error.ends_with(&format!("got `{bad}`")), "{error}");
        }
        let url = set("DJINN_PUBLIC_URL", "http://h/x/").unwrap().public_url;
        assert_eq!(url.as_deref(), Some("http://h/x"));
    }
}
