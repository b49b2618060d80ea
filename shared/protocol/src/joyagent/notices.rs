//! Texts of our own for users of these protocols.

use djinn_core::human::ASK_USER;
use djinn_core::input::FinishReason;
use djinn_core::language::Language;
use djinn_core::tool::ToolFailure;
use djinn_messages::Wording;

/// Returns the placeholder for a text repeated as a result.
pub(super) fn see_below_notice(language: Language) -> &'static str {
    Wording::SeeBelow.text(language)
}

/// Returns the placeholder for an empty task result.
pub(super) fn no_result_notice(language: Language) -> &'static str {
    Wording::NoResult.text(language)
}

/// Returns the placeholder for the text of a void attempt.
pub(super) fn void_notice(language: Language) -> &'static str {
    Wording::TextVoid.text(language)
}

/// Returns a text with a note about the cut, if cut.
pub(super) fn mark_cut(text: &str, finish: FinishReason, language: Language) -> String {
    let mark = match finish {
        FinishReason::Done => return text.to_owned(),
        FinishReason::Length => Wording::CutByLength,
        FinishReason::Filtered => Wording::CutByFilter,
    };
    format!("{text}\n\n{}", mark.text(language))
}

/// Returns the reason for a call's missing result.
pub(super) fn failed_call_notice(
    tool: &str,
    reason: ToolFailure,
    detail: &str,
    language: Language,
) -> String {
    if tool == ASK_USER && reason == ToolFailure::Answered {
        return Wording::QuestionAnswered.fill(language, &[("text", detail)]);
    }
    let (why, has_words) = match reason {
        ToolFailure::UnknownTool => (Wording::UnknownTool, true),
        ToolFailure::Changed => (Wording::ToolChanged, false),
        ToolFailure::BadArguments => (Wording::BadArguments, true),
        ToolFailure::Error => (Wording::ToolError, true),
        ToolFailure::TimedOut => (Wording::CallTimedOut, false),
        ToolFailure::Crashed => (Wording::CallCrashed, false),
        ToolFailure::Uncertain => (Wording::CallUncertain, false),
        ToolFailure::TooMany => (Wording::TooManyCalls, false),
        ToolFailure::TooDeep => (Wording::CallTooDeep, false),
        ToolFailure::Untrusted => (Wording::CallUntrusted, false),
        ToolFailure::Stopped => (Wording::CallStopped, false),
        ToolFailure::Skipped => (Wording::CallSkipped, false),
        ToolFailure::Unanswered => (Wording::CallUnanswered, false),
        ToolFailure::Answered => (Wording::CallAnswered, true),
    };
    let notice = if detail.trim().is_empty() || !has_words {
        Wording::CallFailed
    } else {
        Wording::CallFailedWithDetail
    };
    let why = why.text(language);
    notice.fill(language, &[("tool", tool), ("why", why), ("detail", detail)])
}

/// Returns the notice for a call with a rejected plan or plan change.
pub(super) fn refused_plan_notice(tool: &str, language: Language) -> String {
    Wording::PlanRefused.fill(language, &[("tool", tool)])
}

/// Returns the placeholder for a table with a header and no rows.
pub(super) fn no_rows_notice(name: &str, language: Language) -> String {
    Wording::NoRows.fill(language, &[("name", name)])
}
