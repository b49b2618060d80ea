//! The bodies of HTTP answers: types of their own, so that a stored one can change without a client
//! noticing.

mod error;
mod file;
mod human;
mod model;
mod run;
mod session;

pub use error::{ErrorBody, FeedbackErrorBody, PageErrorBody, PlanConflictBody};
pub use file::{FileListBody, FileLocationBody, UploadBody, UploadTargetBody};
pub use human::{FeedbackBody, FeedbackReceipt, FeedbackState, PendingBody};
pub use model::ModelListBody;
pub use run::{
    AcceptedBody, AmountBody, BudgetBody, EndBody, ExpiredWord, FailureBody, JournalBody,
    MessageBody, MessageState, PlanEditState, PlanVersionBody, PlanWaitingBody, RunBody,
    RunListBody, RunState, RunSummaryBody, StopBody, TaskWordsBody, UsageBody,
};
pub use session::{
    AudienceBody, SessionBody, SessionListBody, SessionSummaryBody, ShareBody, TenantWord,
    TitleBody, TurnBody,
};
