//! The mailbox: how anyone who is not the driver speaks to a run.

use djinn_core::file::ProductFile;
use djinn_core::human::ResponseRecord;
use djinn_core::id::UserId;
use djinn_core::input::{ChildEnded, ChildRequest, Input, PartialMessage, PlanEdit, UserMessage};
use serde::{Deserialize, Serialize};

use super::{RunKey, StoreError};

/// A message to a run. Its order among others means nothing, except that stop goes first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mail", rename_all = "snake_case")]
pub enum Mail {
    /// A user wants the run to stop.
    Stop {
        /// The user who asks for the stop.
        by: UserId,
    },
    /// A file was added to the session.
    FileAdded {
        /// Names this message, so that a repeat is ignored.
        id: String,
        /// The file as it was stored.
        file: ProductFile,
    },
    /// A file is being uploaded to the session. The message stays until the file's bytes are there.
    FileAnnounced {
        /// The file as it will be.
        file: ProductFile,
    },
    /// A child of the run's has ended.
    ChildEnded {
        /// The report of the child and what it used up.
        ended: Box<ChildEnded>,
    },
    /// A child of the run's asks, or waits for what it has asked.
    ChildRequest {
        /// The requests of the child, all of them.
        request: Box<ChildRequest>,
    },
    /// A person tells the run something.
    UserMessage {
        /// The message, and who wrote it.
        message: Box<UserMessage>,
    },
    /// A person changes the plan.
    PlanEdited {
        /// The change, and the version of the plan it was made from.
        edit: Box<PlanEdit>,
    },
    /// A person answered what was asked; or, in a child, its run says so.
    HumanResponse {
        /// The answer, and who gave it.
        response: Box<ResponseRecord>,
    },
}

impl Mail {
    /// What the message is stored under: putting it twice is putting it once.
    #[must_use]
    pub fn id(&self) -> String {
        match self {
            Self::Stop { .. } => "stop#".to_owned(),
            Self::FileAdded { id, .. } => format!("file#{id}"),
            Self::FileAnnounced { file } => format!("announced#{}", file.object),
            Self::ChildEnded { ended } => format!("child#{}", ended.report.child),
            Self::ChildRequest { request: asks } => {
                format!("child_request#{}#{}", asks.child, asks.version)
            }
            Self::UserMessage { message: said } => format!("user_message#{}", said.id),
            Self::PlanEdited { edit: edited } => format!("edit#{}", edited.id),
            // Several may answer the same.
            Self::HumanResponse { response: answered } => {
                format!("human_response#{}#{}", answered.request, answered.id)
            }
        }
    }

    /// What the run is told. `partial` is what the message being written says so far.
    #[must_use]
    pub fn into_input(self, partial: Option<PartialMessage>) -> Input {
        match self {
            Self::Stop { by } => Input::StopRequested { by, partial },
            Self::FileAdded { id, file } => Input::FileAdded { id, file },
            Self::FileAnnounced { file } => Input::FileAdded { id: file.object.clone(), file },
            Self::ChildEnded { ended } => Input::ChildEnded(ended),
            Self::ChildRequest { request: asks } => Input::ChildRequested(asks),
            Self::UserMessage { message: said } => Input::UserMessageAdded(said),
            Self::PlanEdited { edit: edited } => Input::PlanEdited(edited),
            Self::HumanResponse { response: answered } => Input::HumanResponded(answered),
        }
    }
}

/// The contents of a mailbox.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MailboxContents {
    /// The messages, in no particular order.
    pub mail: Vec<Mail>,
    /// The moment until which a viewer watches the run, Unix milliseconds; 0 without viewers. See
    /// [`mark_watched`](super::live::LiveLog::mark_watched).
    pub watched_until_ms: i64,
}

/// Mailboxes. Needs `dynamodb:PutItem`, `Query` and `DeleteItem` on the table, `s3:GetObject`, `PutObject`
/// under the tenants' `runs/`, and `s3:ListBucket`.
pub trait Mailbox {
    /// Puts a message of any length, replacing one of the same id. What it holds of a long one besides is
    /// kept until its run is deleted, or expires.
    fn put_mail(
        &self,
        key: &RunKey,
        mail: &Mail,
        expires_at_s: i64,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Returns every message in the mailbox, except those that are newer than this code, which wait for a newer
    /// driver, and those that cannot be read: no other has to wait for them. Strongly consistent.
    fn read_mailbox(
        &self,
        key: &RunKey,
    ) -> impl Future<Output = Result<MailboxContents, StoreError>> + Send;

    /// Returns the messages of [`Self::read_mailbox`] alone.
    fn list_mail(
        &self,
        key: &RunKey,
    ) -> impl Future<Output = Result<Vec<Mail>, StoreError>> + Send {
        let contents = self.read_mailbox(key);
        async move { Ok(contents.await?.mail) }
    }

    /// Deletes messages by their ids; those that are gone already are no error.
    fn delete_mail(
        &self,
        key: &RunKey,
        ids: &[String],
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}
