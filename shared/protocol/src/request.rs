//! The bodies of requests: types of their own, which nothing stored is read from. What clients of a route
//! may send is what its type has; a comment of a member is its description in the contract.
//!
//! A member that may be absent may be null as well, and a text that is empty says nothing.

mod attachment;
mod file;
mod human;
mod joyagent;
mod run;
mod session;
mod value;

pub use attachment::{AttachmentRequest, JoyAgentFile, JoyAgentMessage};
pub use file::{AnnounceRequest, FileListRequest, FileRequest, UploadRequest};
pub use human::{
    CostThresholdRequest, FeedbackRequest, FeedbackWords, HumanFeedbackRequest, RiskWord,
    TimeoutWord,
};
pub use joyagent::{DataRequest, JoyAgentRequest, PageRequest};
pub use run::{MessageRequest, PlanRequest, RunRequest, StepRequest};
pub use session::{AudienceRequest, NamedUser, ShareRequest, TitleRequest};
pub use value::WholeNumber;
