//! The shapes of requests, as the contract describes them. The agent reads each member by its name;
//! the stories of `tests/it` hold both together.

#![allow(dead_code, reason = "only their schemas are of use")]

use djinn_core::settings::{Mode, OutputStyle};
use schemars::JsonSchema;
use serde_json::{Map, Value};

/// A question and how it is answered.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct RunRequest {
    /// The question, at most 64 KB. `continue` goes on with a run that was cut off.
    question: String,
    /// The session it belongs to: 1 to 128 letters, digits, `-`, `_`, `.` and `:`, or the handle of a share.
    /// Without one the question is a session of its own.
    session_id: Option<String>,
    /// Your name for the request. The same name with the same question is the same run.
    request_id: Option<String>,
    /// Whether a plan is made; `react` unless it is said.
    mode: Option<Mode>,
    /// The form of the answer, if it is to be a file.
    output_style: Option<OutputStyle>,
    /// Instructions for this question, besides the deployment's.
    base_prompt: Option<String>,
    /// When people are asked: more often than the deployment says, never less. `enabled`, `clarify`,
    /// `confirm_plan`, `confirm_steps` and `confirm_results` are the members that a client offers.
    human_feedback: Option<Map<String, Value>>,
}

/// A question of JoyAgent's raw protocol.
#[derive(JsonSchema)]
#[allow(non_snake_case, reason = "as its clients write it")]
pub(crate) struct JoyAgentRequest {
    /// The question, at most 64 KB.
    query: String,
    /// The session it belongs to.
    sessionId: Option<String>,
    /// Your name for the request.
    requestId: Option<String>,
    /// 5 for `ReAct`, 3 for a plan.
    agentType: Option<WholeNumber>,
    /// Whether pieces of unfinished messages are sent.
    isStream: Option<bool>,
    /// The form of the answer; words that are none of ours add nothing.
    outputStyle: Option<String>,
    /// Instructions for this question.
    basePrompt: Option<String>,
    /// When people are asked.
    humanFeedback: Option<Map<String, Value>>,
}

/// A question of JoyAgent's web page.
#[derive(JsonSchema)]
#[allow(non_snake_case, reason = "as its clients write it")]
pub(crate) struct PageRequest {
    /// The question, at most 64 KB.
    query: String,
    /// The session it belongs to.
    sessionId: Option<String>,
    /// Your name for the request.
    requestId: Option<String>,
    /// 0 for `ReAct`, anything else for a plan.
    deepThink: Option<WholeNumber>,
    /// The form of the answer.
    outputStyle: Option<String>,
    /// Instructions for this question.
    basePrompt: Option<String>,
    /// When people are asked.
    humanFeedback: Option<Map<String, Value>>,
}

/// A data question of JoyAgent's web page.
#[derive(JsonSchema)]
pub(crate) struct DataRequest {
    /// The question, at most 64 KB.
    content: String,
}

/// A word to a run at work.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct MessageRequest {
    /// 1 to 16 384 bytes.
    text: String,
}

/// A plan as it is to be. A plan that was shown can be sent as it is.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct PlanRequest {
    /// The version that was shown.
    version: u32,
    /// What it is for; as it was, if it is absent.
    title: Option<String>,
    /// Its steps in their order. Those that have begun keep their words.
    steps: Vec<StepRequest>,
}

/// A step as it is to be.
#[derive(JsonSchema)]
pub(crate) struct StepRequest {
    /// The step that it is. Of a new one, nothing, or a name that others may depend on.
    id: Option<String>,
    /// What it belongs to.
    stage: Option<String>,
    /// What is to be done, 1 to 2 048 bytes.
    details: String,
    /// The steps of this list that must be completed before, by their ids.
    depends_on: Option<Vec<String>>,
    /// The run's to change: it has no effect, and a new step has none.
    status: Option<String>,
    /// The run's to change: it has no effect, and a new step has none.
    note: Option<String>,
}

/// An answer to something that was asked.
#[derive(JsonSchema)]
#[allow(non_snake_case, reason = "as its clients write it")]
pub(crate) struct FeedbackRequest {
    /// The name of what is answered, or of its group.
    feedbackId: String,
    /// `confirm`, `modify`, `skip`, `stop`, or words for the model; the parameters, of `modify`.
    feedback: Option<Value>,
    /// What stands in the place of what was shown, of `modify`.
    parameters: Option<Map<String, Value>>,
    /// What is said besides, at most 16 384 bytes.
    comment: Option<String>,
    /// The fingerprint of what was shown: another is refused.
    digest: Option<String>,
}

/// Another title of a session.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct TitleRequest {
    /// The title, which is put on one line.
    title: String,
}

/// Whom a session is to be shared with.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ShareRequest {
    /// A user's id, an object `{"user": …}` with one, or `tenant` for every user of yours.
    with: Value,
    /// Whether they may ask in it and add files; `false` unless it is said.
    write: Option<bool>,
}

/// The announcement of a file.
#[derive(JsonSchema)]
#[allow(non_snake_case, reason = "as its clients write it")]
pub(crate) struct AnnounceRequest {
    /// The session, or a request of it.
    requestId: String,
    /// The file's name, 1 to 255 bytes, without a path.
    fileName: String,
    /// Its size in bytes, 1 to 5 368 709 120.
    fileSize: WholeNumber,
    /// What it holds, in a sentence.
    description: Option<String>,
    /// Whether it is for the agents alone.
    isInternalFile: Option<bool>,
}

/// A text that becomes a file.
#[derive(JsonSchema)]
#[allow(non_snake_case, reason = "as its clients write it")]
pub(crate) struct UploadRequest {
    /// The session, or a request of it.
    requestId: String,
    /// The file's name, 1 to 255 bytes, without a path.
    fileName: String,
    /// The text of the file.
    content: Option<String>,
    /// What it holds, in a sentence.
    description: Option<String>,
    /// Whether it is for the agents alone.
    isInternalFile: Option<bool>,
}

/// Which file is wanted.
#[derive(JsonSchema)]
#[allow(non_snake_case, reason = "as its clients write it")]
pub(crate) struct FileRequest {
    /// The session, or a request of it.
    requestId: String,
    /// The name of the file.
    fileName: String,
}

/// Which files are wanted.
#[derive(JsonSchema)]
#[allow(non_snake_case, reason = "as its clients write it")]
pub(crate) struct FileListRequest {
    /// The session, or a request of it.
    requestId: String,
    /// Which page, counted from 1.
    page: Option<WholeNumber>,
    /// Files on a page.
    pageSize: Option<WholeNumber>,
}

/// A whole number, also one that is written as a text.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(crate) enum WholeNumber {
    /// Written as a number.
    Number(i64),
    /// Written as a text.
    Text(String),
}
