//! Texts other than failures.

use crate::catalog::find_text;
use crate::language::Language;

macro_rules! wordings {
    ($($name:ident = $section:literal . $key:literal;)*) => {
        /// A text for users, named by its section and key in `messages/*.toml`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Wording {
            $(#[doc = concat!("The text `", $key, "` of the section `", $section, "`.")] $name,)*
        }

        impl Wording {
            /// Every wording, for tests.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the text's section and key.
            #[must_use]
            pub fn key(self) -> (&'static str, &'static str) {
                match self { $(Self::$name => ($section, $key),)* }
            }
        }
    };
}

wordings! {
    CallFailed = "call"."failed";
    CallFailedWithDetail = "call"."failed_with_detail";
    QuestionAnswered = "call"."question_answered";
    PlanRefused = "call"."plan_refused";
    UnknownParameters = "call"."unknown_parameters";
    ParametersRefused = "call"."parameters_refused";
    UnknownTool = "call_failure"."unknown_tool";
    ToolChanged = "call_failure"."changed";
    BadArguments = "call_failure"."bad_arguments";
    ToolError = "call_failure"."error";
    CallTimedOut = "call_failure"."timed_out";
    CallCrashed = "call_failure"."crashed";
    CallUncertain = "call_failure"."uncertain";
    TooManyCalls = "call_failure"."too_many";
    CallTooDeep = "call_failure"."too_deep";
    CallUntrusted = "call_failure"."untrusted";
    CallStopped = "call_failure"."stopped";
    CallSkipped = "call_failure"."skipped";
    CallUnanswered = "call_failure"."unanswered";
    CallAnswered = "call_failure"."answered";
    KeyMissing = "key"."missing";
    KeyRejected = "key"."rejected";
    SeeBelow = "notice"."see_below";
    NoResult = "notice"."no_result";
    DocumentWritten = "notice"."document_written";
    FileNotText = "notice"."file_not_text";
    FileTextCut = "notice"."file_text_cut";
    TextVoid = "notice"."text_void";
    CutByLength = "notice"."cut_by_length";
    CutByFilter = "notice"."cut_by_filter";
    NoRows = "notice"."no_rows";
    TableSlow = "notice"."table_slow";
    TableUnreadable = "notice"."table_unreadable";
    FallbackAnswers = "notice"."fallback_answers";
    ModelDelayed = "notice"."model_delayed";
    AnswerRejected = "notice"."answer_rejected";
    ReviewAccepted = "notice"."review_accepted";
    ReviewRejected = "notice"."review_rejected";
    ReviewFailed = "notice"."review_failed";
    VerdictChosen = "notice"."verdict_chosen";
    VerdictMerged = "notice"."verdict_merged";
    StillWorking = "notice"."still_working";
    SandboxInstallation = "progress"."sandbox_installation";
    SandboxQueue = "progress"."sandbox_queue";
    JustAnswer = "question"."just_answer";
    AnswerByWord = "question"."answer_by_word";
    ChangeByWord = "question"."change_by_word";
    ChangeNeedsParameters = "question"."change_needs_parameters";
    MayStepBegin = "question"."may_step_begin";
    IsResultWanted = "question"."is_result_wanted";
    IsPlanRight = "question"."is_plan_right";
    ExtendBudget = "question"."extend_budget";
    LowRisk = "question"."low_risk";
    MediumRisk = "question"."medium_risk";
    HighRisk = "question"."high_risk";
    OptionConfirm = "option"."confirm";
    OptionModify = "option"."modify";
    OptionSkip = "option"."skip";
    OptionStop = "option"."stop";
    OptionKeep = "option"."keep";
    OptionReword = "option"."reword";
    OptionMore = "option"."more";
    OptionAmount = "option"."amount";
    OptionSumUp = "option"."sum_up";
    ParameterDetails = "parameter"."details";
    ParameterText = "parameter"."text";
    ParameterTokens = "parameter"."tokens";
    ParameterMicroUsd = "parameter"."micro_usd";
    PageTitle = "page"."title";
    PageIntro = "page"."intro";
    PageResultIntro = "page"."result_intro";
    PageBudgetIntro = "page"."budget_intro";
    PageBudget = "page"."budget";
    PageMore = "page"."more";
    PageExtendBudget = "page"."extend_budget";
    PageSumUp = "page"."sum_up";
    PageInterruptIntro = "page"."interrupt_intro";
    PageStep = "page"."step";
    PageDetails = "page"."details";
    PageResult = "page"."result";
    PageFiles = "page"."files";
    PageReasoning = "page"."reasoning";
    PageTool = "page"."tool";
    PageTask = "page"."task";
    PageArguments = "page"."arguments";
    PageRisk = "page"."risk";
    PageReason = "page"."reason";
    PageEstimate = "page"."estimate";
    PageLinkExpiry = "page"."link_expiry";
    PageDecisionTime = "page"."decision_time";
    PageTruncatedNote = "page"."truncated_note";
    PageConfirm = "page"."confirm";
    PageResume = "page"."resume";
    PageKeyLabel = "page"."key_label";
    PageSetKey = "page"."set_key";
    PageSkip = "page"."skip";
    PageStop = "page"."stop";
    PageSendMessage = "page"."send_message";
    PageMessageLabel = "page"."message_label";
    PageConfirmModified = "page"."confirm_modified";
    PageArgumentsLabel = "page"."arguments_label";
    PageAcceptResult = "page"."accept_result";
    PageAcceptText = "page"."accept_text";
    PageTextLabel = "page"."text_label";
    PageResolvedTitle = "page"."resolved_title";
    PageUnansweredNote = "page"."unanswered_note";
    PageByPolicy = "page"."by_policy";
    PageAcceptedNote = "page"."accepted_note";
    PagePendingNote = "page"."pending_note";
    PageUnchangedNote = "page"."unchanged_note";
    RiskLow = "risk"."low";
    RiskMedium = "risk"."medium";
    RiskHigh = "risk"."high";
    ReasonRequired = "reason"."required";
    ReasonRisk = "reason"."risk";
    ReasonCost = "reason"."cost";
    ReasonPlan = "reason"."plan";
    ReasonStep = "reason"."step";
    ReasonResult = "reason"."result";
    ReasonBudget = "reason"."budget";
    ReasonClarification = "reason"."clarification";
    ReasonUntrusted = "reason"."untrusted";
    AnswerConfirm = "answer"."confirm";
    AnswerModify = "answer"."modify";
    AnswerSkip = "answer"."skip";
    AnswerStop = "answer"."stop";
    AnswerSay = "answer"."say";
    Estimate = "estimate"."estimate";
    EstimateDollars = "estimate"."dollars";
    EstimateDeclared = "estimate"."declared";
    EstimateSampled = "estimate"."sampled";
}

impl Wording {
    /// Returns the text with unfilled placeholders.
    #[must_use]
    pub fn text(self, language: Language) -> &'static str {
        let (section, key) = self.key();
        find_text(section, key, language).unwrap_or(key)
    }

    /// Returns the text with filled placeholders. Placeholders within values are not filled.
    #[must_use]
    pub fn fill(self, language: Language, values: &[(&str, &str)]) -> String {
        let mut rest = self.text(language);
        let mut output = String::with_capacity(rest.len());
        while let Some((before, name, after)) = split_at_placeholder(rest) {
            let value = values.iter().find(|(key, _)| *key == name);
            output.push_str(before);
            output.push_str(value.map_or(name, |(_, value)| value));
            rest = after;
        }
        output.push_str(rest);
        output
    }
}

/// Splits a text at the first `{name}`: the text before, the name, and the text after.
fn split_at_placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let starts = text.match_indices('{').map(|(at, _)| at);
    starts.into_iter().find_map(|at| {
        let (before, rest) = text.split_at(at);
        let (name, after) = rest.strip_prefix('{')?.split_once('}')?;
        let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        is_name.then_some((before, name, after))
    })
}

/// Returns the names of a text's placeholders, in order.
#[cfg(test)]
pub(crate) fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, name, after) = split_at_placeholder(rest)?;
        rest = after;
        Some(name)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::catalog::keys;

    #[test]
    fn every_text_but_those_of_codes_has_a_wording_and_every_wording_a_text() {
        let known: BTreeSet<_> = Wording::ALL.iter().map(|wording| wording.key()).collect();
        let texts: BTreeSet<_> =
            keys(Language::En).filter(|(section, _)| *section != "error").collect();
        assert_eq!(known, texts);
        assert_eq!(known.len(), Wording::ALL.len(), "two wordings have one text");
    }

    #[test]
    fn what_is_filled_in_is_not_read_again() {
        let names: Vec<_> = placeholders("`{tool}`: {why} {\"name\": {x}").collect();
        assert_eq!(names, ["tool", "why", "x"]);
        let values = [("tool", "{why}"), ("why", "late")];
        assert_eq!(Wording::CallFailed.fill(Language::En, &values), "`{why}`: late.");
    }
}
