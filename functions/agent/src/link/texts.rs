//! What the page of a link says, in both languages.

use djinn_core::estimate::Estimate;
use djinn_core::human::Reason;
use djinn_core::language::Language;
use djinn_core::tool::Risk;

/// The words that stand alone.
pub(super) struct PageTexts {
    /// The page's language, as HTML names it.
    pub(super) tag: &'static str,
    pub(super) title: &'static str,
    pub(super) intro: &'static str,
    pub(super) result_intro: &'static str,
    pub(super) budget_intro: &'static str,
    pub(super) budget: &'static str,
    pub(super) more: &'static str,
    pub(super) extend_budget: &'static str,
    pub(super) sum_up: &'static str,
    pub(super) interrupt_intro: &'static str,
    pub(super) step: &'static str,
    pub(super) details: &'static str,
    pub(super) result: &'static str,
    pub(super) files: &'static str,
    pub(super) reasoning: &'static str,
    pub(super) tool: &'static str,
    pub(super) task: &'static str,
    pub(super) arguments: &'static str,
    pub(super) risk: &'static str,
    pub(super) reason: &'static str,
    pub(super) estimate: &'static str,
    pub(super) link_expiry: &'static str,
    pub(super) decision_time: &'static str,
    pub(super) truncated_note: &'static str,
    pub(super) confirm: &'static str,
    pub(super) resume: &'static str,
    pub(super) skip: &'static str,
    pub(super) stop: &'static str,
    pub(super) send_message: &'static str,
    pub(super) message_label: &'static str,
    pub(super) confirm_modified: &'static str,
    pub(super) arguments_label: &'static str,
    pub(super) accept_result: &'static str,
    pub(super) accept_text: &'static str,
    pub(super) text_label: &'static str,
    pub(super) resolved_title: &'static str,
    pub(super) unanswered_note: &'static str,
    pub(super) by_policy: &'static str,
    pub(super) accepted_note: &'static str,
    pub(super) pending_note: &'static str,
    pub(super) unchanged_note: &'static str,
}

const EN: PageTexts = PageTexts {
    tag: "en",
    title: "A run waits for your answer",
    intro: "This is asked before anything is done. Nothing happens until somebody answers.",
    result_intro: "Is this what you wanted? The work goes on when somebody answers; your words have the step done again.",
    budget_intro: "This run has used up its budget and stands still. Nothing is lost: it goes on where it was, if it may use up more.",
    budget: "What is used up",
    more: "What it may use up besides, at most: tokens, and millionths of a US dollar",
    extend_budget: "Go on with this much more",
    sum_up: "Sum up what there is",
    interrupt_intro: "This stopped in the middle and can go on when you have seen to it.",
    step: "Step",
    details: "What is to be done",
    result: "What came of it",
    files: "Files",
    reasoning: "What the agent says",
    tool: "Tool",
    task: "Task",
    arguments: "Arguments",
    risk: "Risk",
    reason: "Why you are asked",
    estimate: "What it may cost",
    link_expiry: "This link counts until",
    decision_time: "Decided as the settings say, if nobody answers, at",
    truncated_note: "This is the beginning; the rest is too long to be shown and to be changed here.",
    confirm: "Go ahead",
    resume: "Go on",
    skip: "Skip it",
    stop: "Stop the run",
    send_message: "Say this instead",
    message_label: "Your words: the agent is told them in the place of a result, or they are kept as a comment beside another answer",
    confirm_modified: "Go ahead with these arguments",
    arguments_label: "Other arguments, all of them, as JSON",
    accept_result: "Yes, go on with it",
    accept_text: "Go on with this text",
    text_label: "Another text in its place",
    resolved_title: "This has been answered",
    unanswered_note: "Nobody answered this in time",
    by_policy: "as the settings say",
    accepted_note: "Your answer was taken. You can close this page.",
    pending_note: "Your answer is kept, and the run takes it up as soon as it can. You can close this page.",
    unchanged_note: "Your answer changed nothing.",
};

const ZH: PageTexts = PageTexts {
    tag: "zh",
    title: "有一个运行正在等待您的答复",
    intro: "执行之前需要征得同意；在有人答复之前不会执行任何操作。",
    result_intro: "这是您想要的结果吗？有人答复后才会继续；填写您的话将使该步骤重做。",
    budget_intro: "该运行的预算已用完，现已暂停。没有内容丢失：追加预算后将从原处继续。",
    budget: "已用完的预算",
    more: "最多可追加：令牌数，以及百万分之一美元数",
    extend_budget: "追加后继续",
    sum_up: "总结现有结果",
    interrupt_intro: "此步骤中途停止，待您处理后可以继续。",
    step: "步骤",
    details: "要做什么",
    result: "结果",
    files: "文件",
    reasoning: "智能体的说明",
    tool: "工具",
    task: "任务",
    arguments: "参数",
    risk: "风险",
    reason: "询问原因",
    estimate: "预计开销",
    link_expiry: "此链接有效期至",
    decision_time: "若无人答复，将按设置处理的时间",
    truncated_note: "以上仅为开头；其余部分过长，无法在此显示和修改。",
    confirm: "确认执行",
    resume: "继续",
    skip: "跳过此步骤",
    stop: "停止执行",
    send_message: "改为告知以下内容",
    message_label: "您的话：将代替结果告知智能体；若选择其他答复，则作为备注保存",
    confirm_modified: "按以下参数执行",
    arguments_label: "修改后的全部参数（JSON）",
    accept_result: "是的，继续",
    accept_text: "按以下内容继续",
    text_label: "替换后的内容",
    resolved_title: "此事已有答复",
    unanswered_note: "无人及时答复此事",
    by_policy: "已按设置处理",
    accepted_note: "您的答复已被采纳，可以关闭此页面。",
    pending_note: "您的答复已保存，运行将尽快处理，可以关闭此页面。",
    unchanged_note: "您的答复没有改变任何内容。",
};

pub(super) fn page_texts(language: Language) -> &'static PageTexts {
    match language {
        Language::En => &EN,
        Language::Zh => &ZH,
    }
}

pub(super) fn risk_text(risk: Risk, language: Language) -> &'static str {
    match (risk, language) {
        (Risk::Low, Language::En) => "low",
        (Risk::Medium, Language::En) => "medium",
        (Risk::High, Language::En) => "high",
        (Risk::Low, Language::Zh) => "低",
        (Risk::Medium, Language::Zh) => "中",
        (Risk::High, Language::Zh) => "高",
    }
}

pub(super) fn reason_text(why: Reason, language: Language) -> &'static str {
    match (why, language) {
        (Reason::Required, Language::En) => "Its tool always needs consent here.",
        (Reason::Risk, Language::En) => "Its risk is as high as calls are asked about here.",
        (Reason::Cost, Language::En) => {
            "The calls of this turn may cost more than is allowed unasked."
        }
        (Reason::Plan, Language::En) => "Plans are shown here before they begin.",
        (Reason::Step, Language::En) => "This step is shown here before it begins.",
        (Reason::Result, Language::En) => "What comes of each step is shown here.",
        (Reason::Budget, Language::En) => "More of a budget is never used up unasked.",
        (Reason::Clarification, Language::En) => "Something is missing that only you can say.",
        (Reason::Untrusted, Language::En) => {
            "It sends data out and cannot be taken back, after text was read that anybody may have written."
        }
        (Reason::Required, Language::Zh) => "该工具在此始终需要同意。",
        (Reason::Risk, Language::Zh) => "其风险已达到需要询问的程度。",
        (Reason::Cost, Language::Zh) => "本轮调用的开销可能超过无需询问的上限。",
        (Reason::Plan, Language::Zh) => "计划在开始之前需要展示。",
        (Reason::Step, Language::Zh) => "此步骤在开始之前需要展示。",
        (Reason::Result, Language::Zh) => "每个步骤的结果都需要展示。",
        (Reason::Budget, Language::Zh) => "超出预算之前必须征得同意。",
        (Reason::Clarification, Language::Zh) => "缺少只有您能提供的信息。",
        (Reason::Untrusted, Language::Zh) => {
            "在读取了可能由任何人编写的文本之后，它会将数据发送到外部且无法撤回。"
        }
    }
}

/// What it may cost, and where that is known from.
pub(super) fn estimate_text(estimate: &Estimate, language: Language) -> String {
    let Estimate { tokens, calls, micro_usd, samples, .. } = *estimate;
    let (seconds, mostly_s) = (estimate.ms.div_ceil(1_000), estimate.ms_p95.div_ceil(1_000));
    let amount = |micro_usd: u64| format!("{}.{:06}", micro_usd / 1_000_000, micro_usd % 1_000_000);
    let priced = |before: &str| {
        micro_usd.map_or_else(String::new, |money| format!("{before}{}", amount(money)))
    };
    match language {
        Language::En => {
            let dollars = priced(", US dollars: ");
            let from = match samples {
                0 => "as the tool declares".to_owned(),
                _ => format!(
                    "from {samples} earlier calls, of which few took more than {mostly_s} s"
                ),
            };
            format!(
                "tokens: {tokens}, seconds: {seconds}, calls to others: {calls}{dollars} ({from})"
            )
        }
        Language::Zh => {
            let dollars = priced("，美元：");
            let from = match samples {
                0 => "依工具声明".to_owned(),
                _ => format!("依此前 {samples} 次调用，其中少数超过 {mostly_s} 秒"),
            };
            format!("令牌：{tokens}，秒：{seconds}，对外调用：{calls}{dollars}（{from}）")
        }
    }
}

/// The words of an answer, for people.
pub(super) fn answer_text(answer: &str, language: Language) -> &str {
    match (answer, language) {
        ("confirm", Language::En) => "go ahead",
        ("modify", Language::En) => "go ahead with other arguments",
        ("skip", Language::En) => "skip it",
        ("stop", Language::En) => "stop the run",
        ("say", Language::En) => "words in the place of a result",
        ("confirm", Language::Zh) => "确认执行",
        ("modify", Language::Zh) => "修改参数后执行",
        ("skip", Language::Zh) => "跳过此步骤",
        ("stop", Language::Zh) => "停止执行",
        ("say", Language::Zh) => "以文字代替结果",
        (other, _) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_says_where_it_is_from() {
        let declared = Estimate { tokens: 1_000, ms: 1_200, calls: 1, ..Estimate::default() };
        let measured = Estimate { samples: 20, ms_p95: 9_000, micro_usd: Some(2_500), ..declared };
        assert_eq!(
            estimate_text(&declared, Language::En),
            "tokens: 1000, seconds: 2, calls to others: 1 (as the tool declares)"
        );
        assert_eq!(
            estimate_text(&measured, Language::En),
            "tokens: 1000, seconds: 2, calls to others: 1, US dollars: 0.002500 (from 20 earlier calls, of \
             which few took more than 9 s)"
        );
        let chinese = estimate_text(&measured, Language::Zh);
        assert_eq!(
            chinese,
            "令牌：1000，秒：2，对外调用：1，美元：0.002500（依此前 20 次调用，其中少数超过 9 秒）"
        );
    }
}
