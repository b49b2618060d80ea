//! What the page of a link says, in both languages.

use djinn_core::feedback::{Estimate, Why};
use djinn_core::settings::Language;
use djinn_core::tool::Risk;

/// The words that stand alone.
pub(super) struct Words {
    /// The page's language, as HTML names it.
    pub(super) tag: &'static str,
    pub(super) title: &'static str,
    pub(super) asks: &'static str,
    pub(super) asks_of_result: &'static str,
    pub(super) asks_of_budget: &'static str,
    pub(super) budget: &'static str,
    pub(super) more: &'static str,
    pub(super) go_on_with_more: &'static str,
    pub(super) sum_up: &'static str,
    pub(super) interrupted: &'static str,
    pub(super) step: &'static str,
    pub(super) details: &'static str,
    pub(super) result: &'static str,
    pub(super) files: &'static str,
    pub(super) reasoning: &'static str,
    pub(super) tool: &'static str,
    pub(super) task: &'static str,
    pub(super) arguments: &'static str,
    pub(super) risk: &'static str,
    pub(super) why: &'static str,
    pub(super) estimate: &'static str,
    pub(super) expires: &'static str,
    pub(super) decided: &'static str,
    pub(super) cut: &'static str,
    pub(super) confirm: &'static str,
    pub(super) go_on: &'static str,
    pub(super) skip: &'static str,
    pub(super) stop: &'static str,
    pub(super) say: &'static str,
    pub(super) said: &'static str,
    pub(super) modify: &'static str,
    pub(super) modified: &'static str,
    pub(super) keep: &'static str,
    pub(super) reword: &'static str,
    pub(super) reworded: &'static str,
    pub(super) settled: &'static str,
    pub(super) nobody: &'static str,
    pub(super) by_default: &'static str,
    pub(super) taken: &'static str,
    pub(super) waiting: &'static str,
    pub(super) unchanged: &'static str,
}

const EN: Words = Words {
    tag: "en",
    title: "A run waits for your answer",
    asks: "This is asked before anything is done. Nothing happens until somebody answers.",
    asks_of_result: "Is this what you wanted? The work goes on when somebody answers; your words have the step done again.",
    asks_of_budget: "This run has used up its budget and stands still. Nothing is lost: it goes on where it was, if it may use up more.",
    budget: "What is used up",
    more: "What it may use up besides, at most: tokens, and millionths of a US dollar",
    go_on_with_more: "Go on with this much more",
    sum_up: "Sum up what there is",
    interrupted: "This stopped in the middle and can go on when you have seen to it.",
    step: "Step",
    details: "What is to be done",
    result: "What came of it",
    files: "Files",
    reasoning: "What the agent says",
    tool: "Tool",
    task: "Task",
    arguments: "Arguments",
    risk: "Risk",
    why: "Why you are asked",
    estimate: "What it may cost",
    expires: "This link counts until",
    decided: "Decided as the settings say, if nobody answers, at",
    cut: "This is the beginning; the rest is too long to be shown and to be changed here.",
    confirm: "Go ahead",
    go_on: "Go on",
    skip: "Skip it",
    stop: "Stop the run",
    say: "Say this instead",
    said: "Your words: the agent is told them in the place of a result, or they are kept as a comment beside another answer",
    modify: "Go ahead with these arguments",
    modified: "Other arguments, all of them, as JSON",
    keep: "Yes, go on with it",
    reword: "Go on with this text",
    reworded: "Another text in its place",
    settled: "This has been answered",
    nobody: "Nobody answered this in time",
    by_default: "as the settings say",
    taken: "Your answer was taken. You can close this page.",
    waiting: "Your answer is kept, and the run takes it up as soon as it can. You can close this page.",
    unchanged: "Your answer changed nothing.",
};

const ZH: Words = Words {
    tag: "zh",
    title: "有一个运行正在等待您的答复",
    asks: "执行之前需要征得同意；在有人答复之前不会执行任何操作。",
    asks_of_result: "这是您想要的结果吗？有人答复后才会继续；填写您的话将使该步骤重做。",
    asks_of_budget: "该运行的预算已用完，现已暂停。没有内容丢失：追加预算后将从原处继续。",
    budget: "已用完的预算",
    more: "最多可追加：令牌数，以及百万分之一美元数",
    go_on_with_more: "追加后继续",
    sum_up: "总结现有结果",
    interrupted: "此步骤中途停止，待您处理后可以继续。",
    step: "步骤",
    details: "要做什么",
    result: "结果",
    files: "文件",
    reasoning: "智能体的说明",
    tool: "工具",
    task: "任务",
    arguments: "参数",
    risk: "风险",
    why: "询问原因",
    estimate: "预计开销",
    expires: "此链接有效期至",
    decided: "若无人答复，将按设置处理的时间",
    cut: "以上仅为开头；其余部分过长，无法在此显示和修改。",
    confirm: "确认执行",
    go_on: "继续",
    skip: "跳过此步骤",
    stop: "停止执行",
    say: "改为告知以下内容",
    said: "您的话：将代替结果告知智能体；若选择其他答复，则作为备注保存",
    modify: "按以下参数执行",
    modified: "修改后的全部参数（JSON）",
    keep: "是的，继续",
    reword: "按以下内容继续",
    reworded: "替换后的内容",
    settled: "此事已有答复",
    nobody: "无人及时答复此事",
    by_default: "已按设置处理",
    taken: "您的答复已被采纳，可以关闭此页面。",
    waiting: "您的答复已保存，运行将尽快处理，可以关闭此页面。",
    unchanged: "您的答复没有改变任何内容。",
};

pub(super) fn words(language: Language) -> &'static Words {
    match language {
        Language::En => &EN,
        Language::Zh => &ZH,
    }
}

pub(super) fn risk(risk: Risk, language: Language) -> &'static str {
    match (risk, language) {
        (Risk::Low, Language::En) => "low",
        (Risk::Medium, Language::En) => "medium",
        (Risk::High, Language::En) => "high",
        (Risk::Low, Language::Zh) => "低",
        (Risk::Medium, Language::Zh) => "中",
        (Risk::High, Language::Zh) => "高",
    }
}

pub(super) fn why(why: Why, language: Language) -> &'static str {
    match (why, language) {
        (Why::Required, Language::En) => "Its tool always needs consent here.",
        (Why::Risk, Language::En) => "Its risk is as high as calls are asked about here.",
        (Why::Cost, Language::En) => {
            "The calls of this turn may cost more than is allowed unasked."
        }
        (Why::Plan, Language::En) => "Plans are shown here before they begin.",
        (Why::Step, Language::En) => "This step is shown here before it begins.",
        (Why::Result, Language::En) => "What comes of each step is shown here.",
        (Why::Budget, Language::En) => "More of a budget is never used up unasked.",
        (Why::Clarification, Language::En) => "Something is missing that only you can say.",
        (Why::Untrusted, Language::En) => {
            "It sends data out and cannot be taken back, after text was read that anybody may have written."
        }
        (Why::Required, Language::Zh) => "该工具在此始终需要同意。",
        (Why::Risk, Language::Zh) => "其风险已达到需要询问的程度。",
        (Why::Cost, Language::Zh) => "本轮调用的开销可能超过无需询问的上限。",
        (Why::Plan, Language::Zh) => "计划在开始之前需要展示。",
        (Why::Step, Language::Zh) => "此步骤在开始之前需要展示。",
        (Why::Result, Language::Zh) => "每个步骤的结果都需要展示。",
        (Why::Budget, Language::Zh) => "超出预算之前必须征得同意。",
        (Why::Clarification, Language::Zh) => "缺少只有您能提供的信息。",
        (Why::Untrusted, Language::Zh) => {
            "在读取了可能由任何人编写的文本之后，它会将数据发送到外部且无法撤回。"
        }
    }
}

/// What it may cost, and where that is known from.
pub(super) fn estimate(estimate: &Estimate, language: Language) -> String {
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
pub(super) fn answered(answer: &str, language: Language) -> &str {
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
            estimate(&declared, Language::En),
            "tokens: 1000, seconds: 2, calls to others: 1 (as the tool declares)"
        );
        assert_eq!(
            estimate(&measured, Language::En),
            "tokens: 1000, seconds: 2, calls to others: 1, US dollars: 0.002500 (from 20 earlier calls, of \
             which few took more than 9 s)"
        );
        let chinese = estimate(&measured, Language::Zh);
        assert_eq!(
            chinese,
            "令牌：1000，秒：2，对外调用：1，美元：0.002500（依此前 20 次调用，其中少数超过 9 秒）"
        );
    }
}
