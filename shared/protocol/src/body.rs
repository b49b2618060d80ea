//! The bodies of HTTP responses: separate types, so that stored types can change without affecting clients.

mod chat_completions;
mod error;
mod file;
mod human;
mod joyagent;
mod key;
mod mcp;
mod mode;
mod model;
mod page;
mod responses_api;
mod run;
mod session;
mod tool;

use serde::Serialize;

pub use chat_completions::{
    ChatAnswerBody, ChatChoiceBody, ChatCompletionBody, ChatErrorBody, ChatModelBody,
    ChatModelListBody, ChatUsageBody,
};
pub use error::{ErrorBody, PlanConflictBody};
pub use file::{FileUpload, NewFileBody, SessionFilesBody};
pub use human::{HumanRequestListBody, OpenHumanRequestBody, ResponseBody, ResponseState};
pub use joyagent::{
    FeedbackBody, FeedbackErrorBody, FeedbackReceipt, FileListBody, FileLocationBody,
    PageErrorBody, PendingBody, UploadBody, UploadTargetBody,
};
pub use key::{KeyBody, KeyListBody};
pub use mcp::{McpAnswerBody, ProtectedResourceBody};
pub use mode::{ModeBody, ModeListBody};
pub use model::{DataColumnBody, DataModelBody, DataPreviewBody, DataPreviewRows, ModelListBody};
pub use page::{PageConfigBody, PageIssuerBody, PageLanguage, PageToken, SignInMethod};
pub use responses_api::{
    IncompleteDetailsBody, ResponseErrorBody, ResponseMetadataBody, ResponseObjectBody,
    ResponseSessionBody, ResponseUsageBody,
};
pub use run::{
    AcceptedBody, AmountBody, BudgetBody, ChildBody, EndBody, ExpiredWord, FailureBody,
    JournalBody, MessageBody, MessageState, PlanEditState, PlanVersionBody, PlanWaitingBody,
    RunBody, RunListBody, RunState, RunSummaryBody, StopBody, UsageBody,
};
pub use session::{
    AudienceBody, SessionBody, SessionListBody, SessionSummaryBody, ShareBody, SharedSessionBody,
    TenantWord, TitleBody, TurnBody,
};
pub use tool::{NotOfferedWord, ToolBody, ToolListBody};

/// The JSON body of a route's response. No other type is sent as JSON.
pub trait AnswerBody: Serialize {}

macro_rules! answer_bodies {
    ($($body:ty),* $(,)?) => { $(impl AnswerBody for $body {})* };
}

answer_bodies! {
    AcceptedBody, ChatModelListBody, FeedbackBody, FileListBody, FileLocationBody, HumanRequestListBody<'_>, KeyListBody, MessageBody,
    ModeListBody, ModelListBody, DataPreviewBody, NewFileBody<'_>, PageConfigBody<'_>, PendingBody<'_>, ProtectedResourceBody<'_>, PlanConflictBody<'_>, PlanVersionBody<'_>,
    PlanWaitingBody, ResponseBody, RunBody<'_>, RunListBody, SessionBody<'_>, SessionFilesBody<'_>,
    SessionListBody, ShareBody, StopBody, TitleBody, ToolListBody, UploadBody,
    UploadTargetBody,
}
