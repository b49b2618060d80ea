//! What is asked, for a client that can only chat.

use serde_json::Value;

use super::Translator;
use super::human_request::changeable_parameters;
use djinn_core::budget::format_dollars;
use djinn_core::human::{ASK_USER, HumanRequest, Subject, TopUp, parse_questions};
use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_core::plan::{PLANNING_TOOL, PlanCommand};
use djinn_core::tool::Risk;

/// Characters of a call's arguments in the question that a chat shows.
const MAX_SHOWN: usize = 300;

impl Translator {
    /// What is asked and how to answer; `None` if nothing is.
    pub(super) fn open_questions(&self) -> Option<String> {
        let asked: Vec<String> =
            self.open_requests.values().map(|ask| self.request_line(ask)).collect();
        (!asked.is_empty()).then(|| format!("{}\n\n{}", asked.join("\n"), self.response_hint()))
    }

    /// The words that answer it, of the language that it is asked in.
    fn response_hint(&self) -> String {
        let is_question = |ask: &HumanRequest| matches!(&ask.subject, Subject::Call { tool, .. } if tool == ASK_USER);
        let all_are_questions = self.open_requests.values().all(is_question);
        let mut can_change = self.open_requests.values().filter(|ask| !is_question(ask));
        let one_can_change = self.open_requests.len() == 1
            && can_change.all(|ask| changeable_parameters(&ask.subject).is_some())
            && !all_are_questions;
        let mut hint = match (all_are_questions, self.language) {
            (true, Language::En) => "Waiting for you: just answer. `skip` goes on without an answer.",
            (true, Language::Zh) => "正在等待您的答复：请直接回复；回复“跳过”则不作答继续。",
            (false, Language::En) => {
                "Waiting for you. Answer with `confirm`, `skip` or `stop`, or say what to do instead."
            }
            (false, Language::Zh) => {
                "正在等待您的答复：请回复“同意”“跳过”或“停止”，或直接说明应如何处理。"
            }
        }
        .to_owned();
        if one_can_change {
            hint.push_str(match self.language {
                Language::En => " `modify {\"name\": \"value\"}` changes a parameter.",
                Language::Zh => "回复“修改 {\"参数名\": \"值\"}”可修改参数。",
            });
        }
        hint
    }

    fn request_line(&self, ask: &HumanRequest) -> String {
        match &ask.subject {
            Subject::Call { tool, arguments, .. } if tool == ASK_USER => {
                let asked = parse_questions(arguments);
                asked.iter().map(|question| format!("- {question}")).collect::<Vec<_>>().join("\n")
            }
            Subject::Call { tool, arguments, .. } => {
                let plan = (tool == PLANNING_TOOL).then(|| self.plan_lines(arguments)).flatten();
                plan.unwrap_or_else(|| {
                    let arguments = Value::Object(arguments.clone()).to_string();
                    let shown: String = arguments.chars().take(MAX_SHOWN).collect();
                    format!("- `{tool}` ({}): {shown}", self.risk_label(ask.risk))
                })
            }
            Subject::CallInterrupt { tool, interrupt, .. } => {
                format!("- `{tool}`: {} ({})", interrupt.message, interrupt.code)
            }
            Subject::ModelInterrupt { interrupt, .. } => {
                format!("- {} ({})", interrupt.message, interrupt.code)
            }
            Subject::BudgetExtension { used_up, offer: more } => {
                self.budget_line(&used_up.detail, *more)
            }
            Subject::StepReview { step, details } => {
                let question = match self.language {
                    Language::En => "may this step begin?",
                    Language::Zh => "是否开始此步骤？",
                };
                format!("- {step} {details}: {question}")
            }
            Subject::ResultReview { step, details, text, files } => {
                let question = match self.language {
                    Language::En => "Is this what you wanted?",
                    Language::Zh => "这是您想要的结果吗？",
                };
                let files: Vec<&str> = files.iter().map(FileName::as_str).collect();
                let files = if files.is_empty() {
                    String::new()
                } else {
                    format!("\n\n{}", files.join(", "))
                };
                format!("- {step} {details}\n\n{text}{files}\n\n{question}")
            }
        }
    }

    /// A plan that is to be looked at, a line a step; `None` for arguments that make none.
    fn plan_lines(&self, arguments: &serde_json::Map<String, Value>) -> Option<String> {
        let plan = PlanCommand::parse(arguments).ok()?.apply_to(None, usize::MAX).ok()?;
        let title = match self.language {
            Language::En => format!("Is this plan right: {}", plan.title),
            Language::Zh => format!("请确认计划：{}", plan.title),
        };
        let steps =
            plan.steps().iter().zip(1..).map(|(step, nth)| format!("{nth}. {}", step.label()));
        Some([title].into_iter().chain(steps).collect::<Vec<_>>().join("\n"))
    }

    fn risk_label(&self, risk: Risk) -> &'static str {
        match (risk, self.language) {
            (Risk::Low, Language::En) => "low risk",
            (Risk::Medium, Language::En) => "medium risk",
            (Risk::High, Language::En) => "high risk",
            (Risk::Low, Language::Zh) => "低风险",
            (Risk::Medium, Language::Zh) => "中风险",
            (Risk::High, Language::Zh) => "高风险",
        }
    }

    fn budget_line(&self, spent: &str, more: TopUp) -> String {
        let (tokens, dollars) = (more.tokens, format_dollars(more.micro_usd));
        match self.language {
            Language::En => format!(
                "- The budget of {spent} is used up. Go on with {tokens} more tokens and {dollars} \
                 more dollars?"
            ),
            Language::Zh => {
                format!("- 预算（{spent}）已用完。是否追加 {tokens} 个令牌和 {dollars} 美元？")
            }
        }
    }
}
