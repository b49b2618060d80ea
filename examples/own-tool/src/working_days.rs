//! `working_days`: how many days there are to work. Models are bad at counting dates.

use djinn_tools::{
    EffectClass, Language, ToolContext, ToolDefinition, ToolError, ToolOutput, TypedTool,
};
use schemars::JsonSchema;
use serde::Deserialize;
use time::{Date, Month, Weekday};

/// Maximum days of one call: a hundred years.
const MOST_DAYS: i64 = 36_525;

/// A tool that counts the days from Monday to Friday without holidays.
pub struct WorkingDays;

/// The arguments of a call. A comment is the description for the model.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct WorkingDaysArguments {
    /// The first day counted, as YYYY-MM-DD.
    from: Day,
    /// The last day counted, as YYYY-MM-DD.
    to: Day,
    /// Holidays from Monday to Friday, not counted as working days.
    holidays: Option<Vec<Day>>,
}

/// A day of the calendar, as YYYY-MM-DD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct Day(#[schemars(with = "String")] Date);

impl TryFrom<String> for Day {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut parts = text.splitn(3, '-');
        let mut next = || parts.next()?.parse::<u16>().ok();
        let date = next().zip(next()).zip(next()).and_then(|((year, month), day)| {
            let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
            Date::from_calendar_date(year.into(), month, u8::try_from(day).ok()?).ok()
        });
        date.map(Self).ok_or_else(|| format!("`{text}` is no day: write it as YYYY-MM-DD"))
    }
}

impl TypedTool for WorkingDays {
    type Arguments = WorkingDaysArguments;

    fn definition(&self, language: Language) -> ToolDefinition {
        let description = match language {
            Language::En => "Counts the working days (Monday to Friday) from one day to another.",
            Language::Zh => "计算两个日期之间（含首尾）的工作日（周一至周五）天数。",
        };
        let definition = ToolDefinition::new("working_days", description, EffectClass::Read);
        ToolDefinition { visible: true, ..definition }
    }

    async fn run(
        &self,
        _context: &ToolContext,
        arguments: WorkingDaysArguments,
    ) -> Result<ToolOutput, ToolError> {
        count_days(&arguments).map(ToolOutput::from_text).map_err(ToolError::from_detail)
    }
}

fn count_days(arguments: &WorkingDaysArguments) -> Result<String, String> {
    let WorkingDaysArguments { from: Day(from), to: Day(to), holidays } = arguments;
    let all = (*to - *from).whole_days() + 1;
    if !(1..=MOST_DAYS).contains(&all) {
        return Err(format!("{to} has to come after {from}, by a hundred years at most"));
    }
    let holidays = holidays.as_deref().unwrap_or_default();
    let days = std::iter::successors(Some(*from), |day| day.next_day().filter(|day| day <= to));
    let working = days.filter(|day| {
        let is_weekend = matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday);
        !is_weekend && !holidays.contains(&Day(*day))
    });
    Ok(format!("{} working days from {from} to {to}", working.count()))
}
