//! Typed ids, checked where they enter.
//!
//! Ids that clients choose (`SessionId`, `RequestId`) are labels. Ids that Djinn generates have a prefix, or
//! count the turns and calls of their own run. An inserted record therefore changes no other id.

mod bad_id;
mod child;
mod count;
mod entry;
mod hash;
mod human_request;
mod label;
mod message;
mod path;
mod task;

pub use bad_id::BadId;
pub use child::ChildId;
pub use entry::{EntryId, EntryName};
pub use hash::{encode_hex, sha256_hex};
pub use human_request::{HumanRequestId, RequestName};
pub use label::{
    FileName, KeyName, RequestId, RunId, SessionId, SessionName, ShareHandle, TenantId, UserId,
    WriteId,
};
pub use message::{CallId, CallName, MessageId, MessageKey, MessageName};
pub use path::{LocalName, MAX_DEPTH, Path, Scoped};
pub use task::{StepId, TaskId};
