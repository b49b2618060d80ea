//! The bodies of requests and the parameters of URLs: separate types, never used for stored data. A route
//! accepts exactly the fields of its type; a field's comment is the field's description in the contract.
//!
//! An optional field may also be null, and an empty text counts as absent.

mod ag_ui;
mod ai_sdk;
mod attachment;
mod chat_completions;
mod file;
mod human;
mod joyagent;
mod key;
mod mcp;
mod query;
mod responses_api;
mod run;
mod session;
mod value;

pub use ag_ui::{
    AgUiContent, AgUiContext, AgUiMessage, AgUiPart, AgUiProps, AgUiRequest, AgUiResponse,
    AgUiResume, AgUiResumeStatus, AgUiSettings, AgUiSource,
};
pub use ai_sdk::{AiApproval, AiChatRequest, AiMessageRequest, AiPart};
pub use attachment::{AttachmentRequest, JoyAgentFile, JoyAgentMessage};
pub use chat_completions::{
    ChatCompletionsRequest, ChatContent, ChatFile, ChatImage, ChatMessageRequest,
    ChatMetadataRequest, ChatPart, ResponseFormatRequest, StreamOptionsRequest,
};
pub use file::NewFileRequest;
pub use human::{
    CostThresholdRequest, HumanSettingsRequest, ResponseRequest, RiskWord, TimeoutWord,
};
pub use joyagent::{
    AnnounceRequest, DataPreviewQuery, DataRequest, FeedbackRequest, FeedbackWords,
    FileListRequest, FileRequest, JoyAgentRequest, UploadRequest,
};
pub use key::KeyRequest;
pub use mcp::{
    McpAskArguments, McpLookArguments, McpMessageRequest, McpSayArguments, McpStopArguments,
};
pub use query::{AiStreamQuery, FollowQuery, NoParameters, PageQuery, RunListQuery};
pub use responses_api::{
    ResponsesContent, ResponsesConversation, ResponsesInput, ResponsesItem, ResponsesPart,
    ResponsesQuery, ResponsesRequest, ResponsesTextRequest,
};
pub use run::{
    MessageRequest, PlanRequest, ReviewRequest, ReviewerRequest, RunRequest, StepRequest,
};
pub use session::{AudienceRequest, NamedUser, ShareRequest, TitleRequest};
pub use value::WholeNumber;
