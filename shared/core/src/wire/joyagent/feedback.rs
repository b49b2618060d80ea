//! What people are asked, with the fields of the JoyAgent design's `HumanFeedbackRequest` and
//! `ParameterModificationRequest`.

use serde_json::{Map, Value, json};

use super::{AgentResponse, Translator};
use crate::budget::dollars;
use crate::entry::Entry;
use crate::feedback::{ASK_USER, About, Ask, Estimate, TopUp, questions};
use crate::id::{CallId, FileName, TaskId};
use crate::settings::Language;
use crate::tool::Risk;
use crate::wire::native::add_answer_link;

/// Characters of a call's arguments in the question that a chat shows.
const MAX_SHOWN: usize = 300;

impl Translator {
    /// A request for each thing asked, so that each can be answered; for a call also what of it can
    /// be changed.
    pub(super) fn asked(
        &mut self,
        entry: &Entry,
        reasoning: &str,
        risk: Risk,
        estimate: Estimate,
        asks: &[Ask],
    ) -> Vec<AgentResponse> {
        let mut events = Vec::with_capacity(asks.len() * 2);
        for ask in asks {
            self.asks.insert(ask.id.clone(), ask.clone());
            let mut request = json!({
                "type": "human_feedback_required",
                "feedbackId": ask.id,
                "requestId": self.request,
                "agentName": agent_name(ask),
                "currentStep": current_step(ask),
                "requestType": request_type(&ask.about),
                "requestData": {
                    "plannedActions": asks.iter().filter_map(action).collect::<Vec<_>>(),
                    "reasoning": reasoning,
                    "riskLevel": risk,
                    "estimatedCost": cost(estimate),
                    "interrupt": ask.about.interrupt(),
                    "digest": ask.digest,
                },
                "options": self.options(&ask.about),
                "timestamp": entry.at_ms,
                "timeout": ask.expires_at_ms.map_or(0, |until_ms| until_ms - entry.at_ms),
                "agentType": self.agent_type(),
            });
            add_answer_link(&mut request, self.links.answer(ask, entry.at_ms));
            let id = format!("{}.ask", ask.id);
            let lane = ask.task.clone();
            let event = self.event(&id, "human_feedback_request", entry.at_ms);
            events.push(AgentResponse { result_map: request, lane: lane.clone(), ..event });
            if let Some(parameters) = changeable(&ask.about) {
                let id = format!("{}.parameters", ask.id);
                let event = self.event(&id, "parameter_modification_request", entry.at_ms);
                let result_map = self.modification(ask, &parameters);
                events.push(AgentResponse { result_map, lane, ..event });
            }
        }
        events
    }

    /// What is over is asked no longer: a call, or all that a task asked.
    pub(super) fn forget_asks(&mut self, task: Option<&TaskId>, call: Option<&CallId>) {
        self.asks.retain(|_, ask| {
            let about = ask.about.call().map(|(about, ..)| about);
            ask.task.as_ref() != task || (call.is_some() && about != call)
        });
    }

    fn modification(&self, ask: &Ask, arguments: &Map<String, Value>) -> Value {
        let fields = arguments.iter().map(|(name, value)| {
            json!({
                "name": name, "type": type_of(value), "currentValue": value, "description": "",
            })
        });
        json!({
            "type": "parameter_modification",
            "feedbackId": ask.id,
            "requestId": self.request,
            "currentParameters": arguments,
            "modifiableFields": fields.collect::<Vec<_>>(),
            "agentType": self.agent_type(),
        })
    }

    fn options(&self, about: &About) -> Value {
        let (confirm, modify, skip, stop) = match self.language {
            Language::En => ("Go ahead", "Change the parameters", "Skip it", "Stop the run"),
            Language::Zh => ("确认执行", "修改参数", "跳过此步骤", "停止执行"),
        };
        let (keep, reword) = match self.language {
            Language::En => ("Yes, go on with it", "Change the text"),
            Language::Zh => ("是的，继续", "修改内容"),
        };
        let (more, amount, sum_up) = match self.language {
            Language::En => ("Go on with more", "Change the amount", "Sum up what there is"),
            Language::Zh => ("追加并继续", "修改额度", "总结现有结果"),
        };
        match about {
            About::Call { .. } | About::Step { .. } => {
                json!({"confirm": confirm, "modify": modify, "skip": skip, "stop": stop})
            }
            About::Result { .. } => json!({"confirm": keep, "modify": reword, "stop": stop}),
            About::Budget { .. } => {
                json!({"confirm": more, "modify": amount, "skip": sum_up, "stop": stop})
            }
            About::CallInterrupted { .. } | About::ModelInterrupted { .. } => {
                json!({"confirm": confirm, "skip": skip, "stop": stop})
            }
        }
    }

    /// What is asked, for a client that can only chat. `None` if nothing is.
    pub(super) fn question(&self) -> Option<String> {
        let asked: Vec<String> = self.asks.values().map(|ask| self.line(ask)).collect();
        let answers = match self.language {
            Language::En => {
                "Waiting for you. Answer with `confirm`, `skip` or `stop`, or say what to do instead."
            }
            Language::Zh => {
                "正在等待您的答复：请回复“confirm”“skip”或“stop”，或直接说明应如何处理。"
            }
        };
        (!asked.is_empty()).then(|| format!("{}\n\n{answers}", asked.join("\n")))
    }

    fn line(&self, ask: &Ask) -> String {
        let risk = match (ask.risk, self.language) {
            (Risk::Low, Language::En) => "low risk",
            (Risk::Medium, Language::En) => "medium risk",
            (Risk::High, Language::En) => "high risk",
            (Risk::Low, Language::Zh) => "低风险",
            (Risk::Medium, Language::Zh) => "中风险",
            (Risk::High, Language::Zh) => "高风险",
        };
        match &ask.about {
            About::Call { tool, arguments, .. } if tool == ASK_USER => {
                let asked = questions(arguments);
                asked.iter().map(|question| format!("- {question}")).collect::<Vec<_>>().join("\n")
            }
            About::Call { tool, arguments, .. } => {
                let arguments = Value::Object(arguments.clone()).to_string();
                let shown: String = arguments.chars().take(MAX_SHOWN).collect();
                format!("- `{tool}` ({risk}): {shown}")
            }
            About::CallInterrupted { tool, interrupt, .. } => {
                format!("- `{tool}`: {} ({})", interrupt.message, interrupt.code)
            }
            About::ModelInterrupted { interrupt, .. } => {
                format!("- {} ({})", interrupt.message, interrupt.code)
            }
            About::Budget { used_up, more } => self.budget_line(&used_up.detail, *more),
            About::Step { step, details } => {
                let question = match self.language {
                    Language::En => "may this step begin?",
                    Language::Zh => "是否开始此步骤？",
                };
                format!("- {step} {details}: {question}")
            }
            About::Result { step, details, text, files } => {
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

    fn budget_line(&self, spent: &str, more: TopUp) -> String {
        let (tokens, dollars) = (more.tokens, dollars(more.micro_usd));
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

/// What of it can be changed by an answer. An interrupted call is made again as it was.
fn changeable(about: &About) -> Option<Map<String, Value>> {
    match about {
        About::Call { .. } | About::Step { .. } | About::Result { .. } | About::Budget { .. } => {
            about.parameters()
        }
        About::CallInterrupted { .. } | About::ModelInterrupted { .. } => None,
    }
}

fn action(ask: &Ask) -> Option<Value> {
    let parameters = ask.about.parameters()?;
    let (tool, step) = match &ask.about {
        About::Call { tool, .. } | About::CallInterrupted { tool, .. } => (Some(tool), None),
        About::Step { step, details } | About::Result { step, details, .. } => {
            (None, Some((step.to_string(), details)))
        }
        About::ModelInterrupted { .. } | About::Budget { .. } => (None, None),
    };
    let mut action = json!({
        "toolName": tool, "parameters": parameters, "risk": ask.risk, "feedbackId": ask.id,
        "estimatedCost": cost(ask.estimate), "why": ask.why,
    });
    if let (Some((step, details)), Value::Object(members)) = (step, &mut action) {
        members.insert("step".to_owned(), step.into());
        members.insert("description".to_owned(), details.as_str().into());
    }
    Some(action)
}

/// The design's three figures, and ours; money where there is a price.
fn cost(estimate: Estimate) -> Value {
    let mut cost = json!({
        "tokenCost": estimate.tokens,
        "timeCost": estimate.ms.div_ceil(1_000),
        "apiCost": estimate.calls,
        "tokenCostP95": estimate.tokens_p95,
        "timeCostP95": estimate.ms_p95.div_ceil(1_000),
        "samples": estimate.samples,
    });
    if let (Some(money), Value::Object(members)) = (estimate.micro_usd, &mut cost) {
        members.insert("moneyCost".to_owned(), money.into());
    }
    cost
}

fn agent_name(ask: &Ask) -> &'static str {
    match &ask.about {
        About::Step { .. } | About::Result { .. } => "planning",
        _ if ask.task.is_some() => "executor",
        About::Call { .. }
        | About::CallInterrupted { .. }
        | About::ModelInterrupted { .. }
        | About::Budget { .. } => "react",
    }
}

/// The turn that it came up in.
fn current_step(ask: &Ask) -> u32 {
    let call = ask.about.call().map(|(call, ..)| call.as_str());
    let turn = call.and_then(|call| call.split('.').next()?.strip_prefix('t'));
    turn.and_then(|turn| turn.parse().ok()).unwrap_or_default()
}

fn request_type(about: &About) -> &'static str {
    match about {
        About::Call { .. } => "tool_execution_confirmation",
        About::CallInterrupted { .. } => "tool_interrupted",
        About::ModelInterrupted { .. } => "model_interrupted",
        About::Step { .. } => "step_confirmation",
        About::Result { .. } => "result_confirmation",
        About::Budget { .. } => "budget_used_up",
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
