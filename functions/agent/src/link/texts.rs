//! The texts of a link's page, in both languages.

use std::sync::LazyLock;

use djinn_core::estimate::Estimate;
use djinn_core::human::Reason;
use djinn_core::language::Language;
use djinn_core::tool::Risk;
use djinn_messages::Wording;

macro_rules! page_texts {
    ($($field:ident = $message:ident,)*) => {
        /// The fixed texts.
        pub(super) struct PageTexts {
            /// The page's language tag in HTML.
            pub(super) tag: &'static str,
            $(pub(super) $field: &'static str,)*
        }

        impl PageTexts {
            fn of(language: Language) -> Self {
                Self { tag: language.as_str(), $($field: Wording::$message.text(language),)* }
            }
        }
    };
}

page_texts! {
    title = PageTitle,
    intro = PageIntro,
    result_intro = PageResultIntro,
    budget_intro = PageBudgetIntro,
    budget = PageBudget,
    more = PageMore,
    extend_budget = PageExtendBudget,
    sum_up = PageSumUp,
    interrupt_intro = PageInterruptIntro,
    step = PageStep,
    details = PageDetails,
    result = PageResult,
    files = PageFiles,
    reasoning = PageReasoning,
    tool = PageTool,
    task = PageTask,
    arguments = PageArguments,
    risk = PageRisk,
    reason = PageReason,
    estimate = PageEstimate,
    link_expiry = PageLinkExpiry,
    decision_time = PageDecisionTime,
    truncated_note = PageTruncatedNote,
    confirm = PageConfirm,
    resume = PageResume,
    set_key = PageSetKey,
    skip = PageSkip,
    stop = PageStop,
    send_message = PageSendMessage,
    message_label = PageMessageLabel,
    confirm_modified = PageConfirmModified,
    arguments_label = PageArgumentsLabel,
    accept_result = PageAcceptResult,
    accept_text = PageAcceptText,
    text_label = PageTextLabel,
    resolved_title = PageResolvedTitle,
    unanswered_note = PageUnansweredNote,
    by_policy = PageByPolicy,
    accepted_note = PageAcceptedNote,
    pending_note = PagePendingNote,
    unchanged_note = PageUnchangedNote,
}

static EN: LazyLock<PageTexts> = LazyLock::new(|| PageTexts::of(Language::En));
static ZH: LazyLock<PageTexts> = LazyLock::new(|| PageTexts::of(Language::Zh));

pub(super) fn page_texts(language: Language) -> &'static PageTexts {
    match language {
        Language::En => &EN,
        Language::Zh => &ZH,
    }
}

pub(super) fn risk_text(risk: Risk, language: Language) -> &'static str {
    let text = match risk {
        Risk::Low => Wording::RiskLow,
        Risk::Medium => Wording::RiskMedium,
        Risk::High => Wording::RiskHigh,
    };
    text.text(language)
}

pub(super) fn reason_text(why: Reason, language: Language) -> &'static str {
    let text = match why {
        Reason::Required => Wording::ReasonRequired,
        Reason::Risk => Wording::ReasonRisk,
        Reason::Cost => Wording::ReasonCost,
        Reason::Plan => Wording::ReasonPlan,
        Reason::Step => Wording::ReasonStep,
        Reason::Result => Wording::ReasonResult,
        Reason::Budget => Wording::ReasonBudget,
        Reason::Clarification => Wording::ReasonClarification,
        Reason::Untrusted => Wording::ReasonUntrusted,
    };
    text.text(language)
}

/// Describes the estimated cost and the source of the estimate.
pub(super) fn estimate_text(estimate: &Estimate, language: Language) -> String {
    let Estimate { tokens, calls, micro_usd, samples, .. } = *estimate;
    let seconds = estimate.ms.div_ceil(1_000);
    let mostly_s = estimate.ms_p95.div_ceil(1_000);
    let amount = |micro_usd: u64| format!("{}.{:06}", micro_usd / 1_000_000, micro_usd % 1_000_000);
    let dollars = micro_usd.map_or_else(String::new, |money| {
        Wording::EstimateDollars.fill(language, &[("amount", &amount(money))])
    });
    let from = match samples {
        0 => Wording::EstimateDeclared.text(language).to_owned(),
        _ => {
            let samples = samples.to_string();
            let seconds = mostly_s.to_string();
            let values = [("samples", samples.as_str()), ("seconds", &seconds)];
            Wording::EstimateSampled.fill(language, &values)
        }
    };
    let [tokens, seconds, calls] = [tokens, seconds, calls.into()].map(|count| count.to_string());
    let values = [
        ("tokens", tokens.as_str()),
        ("seconds", &seconds),
        ("calls", &calls),
        ("dollars", &dollars),
        ("from", &from),
    ];
    Wording::Estimate.fill(language, &values)
}

/// Returns the wording of a response for users.
pub(super) fn response_text(response: &str, language: Language) -> &str {
    let text = match response {
        "confirm" => Wording::AnswerConfirm,
        "modify" => Wording::AnswerModify,
        "skip" => Wording::AnswerSkip,
        "stop" => Wording::AnswerStop,
        "say" => Wording::AnswerSay,
        other => return other,
    };
    text.text(language)
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
            "tokens: 1000, seconds: 2, external calls: 1 (as declared by the tool)"
        );
        assert_eq!(
            estimate_text(&measured, Language::En),
            "tokens: 1000, seconds: 2, external calls: 1, US dollars: 0.002500 (from 20 earlier calls, \
             few of which took more than 9 s)"
        );
        let chinese = estimate_text(&measured, Language::Zh);
        assert_eq!(
            chinese,
            "Token 数：1000，秒数：2，外部调用：1，美元：0.002500（根据此前 20 次调用，其中仅少数超过 9 秒）"
        );
    }
}
