//! What these protocols say to people in our own words.

use crate::feedback::ASK_USER;
use crate::input::Finish;
use crate::settings::Language;
use crate::tool::FailReason;

/// In the place of a text that follows as a result: it is not shown twice.
pub(super) fn see_below(language: Language) -> &'static str {
    match language {
        Language::En => "The answer is below.",
        Language::Zh => "回答见下方。",
    }
}

/// In the place of a task's result that says nothing.
pub(super) fn no_result(language: Language) -> &'static str {
    match language {
        Language::En => "No result.",
        Language::Zh => "没有结果。",
    }
}

/// In the place of a text whose attempt is void.
pub(super) fn broke_off(language: Language) -> &'static str {
    match language {
        Language::En => "This attempt broke off; its text is void.",
        Language::Zh => "此次输出中断，已作废。",
    }
}

/// A text, and what cut it.
pub(super) fn marked(text: &str, finish: Finish, language: Language) -> String {
    let mark = match (finish, language) {
        (Finish::Done, _) => return text.to_owned(),
        (Finish::Length, Language::En) => "[Cut: the model reached its output limit.]",
        (Finish::Length, Language::Zh) => "[内容不完整：模型已达输出上限。]",
        (Finish::Filtered, Language::En) => "[Cut: by the provider's content filter.]",
        (Finish::Filtered, Language::Zh) => "[内容不完整：被服务商的内容过滤器截断。]",
    };
    format!("{text}\n\n{mark}")
}

/// Why a call has no result.
pub(super) fn failed_call(
    tool: &str,
    reason: FailReason,
    detail: &str,
    language: Language,
) -> String {
    if tool == ASK_USER && reason == FailReason::Answered {
        return match language {
            Language::En => format!("You said: {detail}"),
            Language::Zh => format!("您的答复：{detail}"),
        };
    }
    let why = match (reason, language) {
        (FailReason::UnknownTool, Language::En) => "there is no such tool",
        (FailReason::UnknownTool, Language::Zh) => "没有这个工具",
        (FailReason::BadArguments, Language::En) => "its arguments cannot be used",
        (FailReason::BadArguments, Language::Zh) => "参数无法使用",
        (FailReason::Error, Language::En) => "it reported an error",
        (FailReason::Error, Language::Zh) => "工具报错",
        (FailReason::BadPlan, Language::En) => "it makes no plan",
        (FailReason::BadPlan, Language::Zh) => "计划无效",
        (FailReason::TimedOut, Language::En) => "it took too long",
        (FailReason::TimedOut, Language::Zh) => "执行超时",
        (FailReason::Crashed, Language::En) => "it crashed",
        (FailReason::Crashed, Language::Zh) => "执行崩溃",
        (FailReason::Uncertain, Language::En) => "it was interrupted, and may have happened",
        (FailReason::Uncertain, Language::Zh) => "执行被打断，可能已生效",
        (FailReason::TooMany, Language::En) => "too many calls at once, not made",
        (FailReason::TooMany, Language::Zh) => "单次调用过多，未执行",
        (FailReason::Stopped, Language::En) => "stopped with its run",
        (FailReason::Stopped, Language::Zh) => "已随任务停止",
        (FailReason::Skipped, Language::En) => "skipped",
        (FailReason::Skipped, Language::Zh) => "已跳过",
        (FailReason::Answered, Language::En) => "not made; instead you said",
        (FailReason::Answered, Language::Zh) => "未执行，您的答复",
    };
    let has_words = matches!(
        reason,
        FailReason::Error
            | FailReason::BadArguments
            | FailReason::Answered
            | FailReason::UnknownTool
    );
    match (detail.trim().is_empty() || !has_words, language) {
        (true, Language::En) => format!("`{tool}`: {why}."),
        (true, Language::Zh) => format!("`{tool}`：{why}。"),
        (false, Language::En) => format!("`{tool}`: {why}: {detail}"),
        (false, Language::Zh) => format!("`{tool}`：{why}：{detail}"),
    }
}

/// In the place of a table that has a header and no rows.
pub(super) fn no_rows(name: &str, language: Language) -> String {
    match language {
        Language::En => format!("`{name}` has no rows below its header."),
        Language::Zh => format!("`{name}` 只有表头，没有数据行。"),
    }
}
