//! The answers of an ensemble in the prompt of the agent that judges them, and the tool for its verdict.

use std::collections::BTreeSet;

use djinn_core::conversation::Turn;
use djinn_core::id::CallId;
use djinn_core::run::Run;
use djinn_core::tool::{EffectClass, ToolPolicy, ToolSpec};
use djinn_core::verdict::{Candidate, MAX_SCORE, MERGED, VERDICT_TOOL};
use serde_json::{Value, json};

use super::MAX_DESCRIPTION;
use super::tool_result::{Framing, tool_result_text};
use crate::prompt::{self, Prompts, truncate_text};

/// Returns the tool for the verdict, if the agent has answers to judge. The run itself answers the call, when
/// the reply is recorded.
pub(super) fn verdict_tool(prompts: &Prompts, run: &Run) -> Option<ToolSpec> {
    let ensemble = run.ensemble().filter(|ensemble| ensemble.needs_verdict())?;
    let letters: Vec<String> =
        ensemble.candidates().map(|(letter, _)| letter.to_string()).collect();
    let choices: Vec<&str> = letters.iter().map(String::as_str).chain([MERGED]).collect();
    let words = prompts.describe_tool(run.spec().settings.language, prompt::TOOL_VERDICT);
    let about = |name: &str| words.parameters.get(name).cloned().unwrap_or_default();
    let score = json!({
        "type": "object",
        "properties": {
            "letter": {"type": "string", "enum": letters},
            "score": {"type": "integer", "minimum": 0, "maximum": MAX_SCORE},
            "reason": {"type": "string"},
        },
        "required": ["letter", "score", "reason"],
    });
    let schema = json!({
        "type": "object",
        "properties": {
            "scores": {"type": "array", "items": score, "description": about("scores")},
            "choice": {"type": "string", "enum": choices, "description": about("choice")},
        },
        "required": ["scores", "choice"],
    });
    Some(ToolSpec {
        name: VERDICT_TOOL.to_owned(),
        description: words.description,
        schema,
        effect: EffectClass::Read,
        policy: ToolPolicy::default(),
        timeout_ms: 0,
        visible: false,
    })
}

/// Renders the answers among a turn's results under their letters, and returns the ids of their calls. `None`
/// if the agent judges no answers.
pub(super) fn answers_text(
    prompts: &Prompts,
    run: &Run,
    turn: &Turn,
) -> Option<(String, BTreeSet<CallId>)> {
    let language = run.spec().settings.language;
    let mut shown = BTreeSet::new();
    let mut answers = Vec::new();
    for (letter, candidate) in run.ensemble()?.candidates() {
        let own = |call: &CallId| call.to_child().as_ref() == Some(&candidate.child);
        let Some((call, result)) = turn.calls.iter().find(|(call, _)| own(&call.id)) else {
            continue;
        };
        let text = tool_result_text(prompts, language, call, result, Framing::Each);
        answers.push(answer_values(letter, &text, candidate));
        shown.insert(call.id.clone());
    }
    let text = prompts.render(language, prompt::NOTE_ANSWERS, json!({"answers": answers}));
    (!shown.is_empty()).then_some((text, shown))
}

fn answer_values(letter: char, text: &str, candidate: &Candidate) -> Value {
    let file = |file: &djinn_core::file::ProductFile| {
        let description = truncate_text(&file.description, MAX_DESCRIPTION);
        json!({"name": file.name, "size": file.size, "description": description})
    };
    let files: Vec<Value> = candidate.files.iter().map(file).collect();
    json!({"letter": letter, "text": text, "files": files, "evidence": candidate.evidence})
}
