//! What these protocols say to people in our own words.

use djinn_core::human::ASK_USER;
use djinn_core::input::FinishReason;
use djinn_core::language::Language;
use djinn_core::tool::ToolFailure;

/// In the place of a text that follows as a result: it is not shown twice.
pub(super) fn see_below_notice(language: Language) -> &'static str {
    match language {
        Language::En => "The answer is below.",
        Language::Zh => "回答见下方。",
    }
}

/// In the place of a task's result that says nothing.
pub(super) fn no_result_notice(language: Language) -> &'static str {
    match language {
        Language::En => "No result.",
        Language::Zh => "没有结果。",
    }
}

/// In the place of a text whose attempt is void.
pub(super) fn void_notice(language: Language) -> &'static str {
    match language {
        Language::En => "This attempt broke off; its text is void.",
        Language::Zh => "此次输出中断，已作废。",
    }
}

/// A text, and what cut it.
pub(super) fn mark_cut(text: &str, finish: FinishReason, language: Language) -> String {
    let mark = match (finish, language) {
        (FinishReason::Done, _) => return text.to_owned(),
        (FinishReason::Length, Language::En) => "[Cut: the model reached its output limit.]",
        (FinishReason::Length, Language::Zh) => "[内容不完整：模型已达输出上限。]",
        (FinishReason::Filtered, Language::En) => "[Cut: by the provider's content filter.]",
        (FinishReason::Filtered, Language::Zh) => "[内容不完整：被服务商的内容过滤器截断。]",
    };
    format!("{text}\n\n{mark}")
}

/// Why a call has no result.
pub(super) fn failed_call_notice(
    tool: &str,
    reason: ToolFailure,
    detail: &str,
    language: Language,
) -> String {
    if tool == ASK_USER && reason == ToolFailure::Answered {
        return match language {
            Language::En => format!("You said: {detail}"),
            Language::Zh => format!("您的答复：{detail}"),
        };
    }
    let why = match (reason, language) {
        (ToolFailure::UnknownTool, Language::En) => "there is no such tool",
        (ToolFailure::UnknownTool, Language::Zh) => "没有这个工具",
        (ToolFailure::Changed, Language::En) => "it has changed since it was offered, not made",
        (ToolFailure::Changed, Language::Zh) => "工具已变更，未执行",
        (ToolFailure::BadArguments, Language::En) => "its arguments cannot be used",
        (ToolFailure::BadArguments, Language::Zh) => "参数无法使用",
        (ToolFailure::Error, Language::En) => "it reported an error",
        (ToolFailure::Error, Language::Zh) => "工具报错",
        (ToolFailure::TimedOut, Language::En) => "it took too long",
        (ToolFailure::TimedOut, Language::Zh) => "执行超时",
        (ToolFailure::Crashed, Language::En) => "it crashed",
        (ToolFailure::Crashed, Language::Zh) => "执行崩溃",
        (ToolFailure::Uncertain, Language::En) => "it was interrupted, and may have happened",
        (ToolFailure::Uncertain, Language::Zh) => "执行被打断，可能已生效",
        (ToolFailure::TooMany, Language::En) => "too many calls at once, not made",
        (ToolFailure::TooMany, Language::Zh) => "单次调用过多，未执行",
        (ToolFailure::Stopped, Language::En) => "stopped with its run",
        (ToolFailure::Stopped, Language::Zh) => "已随任务停止",
        (ToolFailure::Skipped, Language::En) => "skipped",
        (ToolFailure::Skipped, Language::Zh) => "已跳过",
        (ToolFailure::Answered, Language::En) => "not made; instead you said",
        (ToolFailure::Answered, Language::Zh) => "未执行，您的答复",
    };
    let has_words = matches!(
        reason,
        ToolFailure::Error
            | ToolFailure::BadArguments
            | ToolFailure::Answered
            | ToolFailure::UnknownTool
    );
    match (detail.trim().is_empty() || !has_words, language) {
        (true, Language::En) => format!("`{tool}`: {why}."),
        (true, Language::Zh) => format!("`{tool}`：{why}。"),
        (false, Language::En) => format!("`{tool}`: {why}: {detail}"),
        (false, Language::Zh) => format!("`{tool}`：{why}：{detail}"),
    }
}

/// Why a call makes no plan, or does not change it.
pub(super) fn refused_plan_notice(tool: &str, language: Language) -> String {
    match language {
        Language::En => format!("`{tool}`: it makes no plan."),
        Language::Zh => format!("`{tool}`：计划无效。"),
    }
}

/// In the place of a table that has a header and no rows.
pub(super) fn no_rows_notice(name: &str, language: Language) -> String {
    match language {
        Language::En => format!("`{name}` has no rows below its header."),
        Language::Zh => format!("`{name}` 只有表头，没有数据行。"),
    }
}
