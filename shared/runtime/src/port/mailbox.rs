//! The mailbox, in which every sender except the driver leaves mail for a run.

use djinn_core::file::ProductFile;
use djinn_core::human::ResponseRecord;
use djinn_core::id::UserId;
use djinn_core::input::{ChildEnded, ChildRequest, Input, PartialMessage, PlanEdit, UserMessage};
use serde::{Deserialize, Serialize};

use super::{RunKey, StoreError};

/// A mail to a run. The order of mails is undefined, except that a stop is handled first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mail", rename_all = "snake_case")]
pub enum Mail {
    /// A user stops the run.
    Stop {
        /// The user who stops the run.
        by: UserId,
    },
    /// A file was added to the session.
    FileAdded {
        /// The mail's id: a repeat is ignored.
        id: String,
        /// The file as stored.
        file: ProductFile,
    },
    /// A file is being uploaded to the session. The mail stays until all bytes of the file are stored.
    FileAnnounced {
        /// The file as announced.
        file: ProductFile,
    },
    /// A child of the run has ended.
    ChildEnded {
        /// The report of the child and its spending.
        ended: Box<ChildEnded>,
    },
    /// A child of the run has human requests, or waits for responses.
    ChildRequest {
        /// All requests of the child.
        request: Box<ChildRequest>,
    },
    /// A user sends the run a message.
    UserMessage {
        /// The message and its author.
        message: Box<UserMessage>,
    },
    /// A user changes the plan.
    PlanEdited {
        /// The change, and the version of the plan before the change.
        edit: Box<PlanEdit>,
    },
    /// A user responded to a human request; in a child, the parent forwards the response.
    HumanResponse {
        /// The response and its user.
        response: Box<ResponseRecord>,
    },
}

impl Mail {
    /// Returns the key of the mail in the store: a repeat replaces the first.
    #[must_use]
    pub fn id(&self) -> String {
        match self {
            Self::Stop { .. } => "stop#".to_owned(),
            Self::FileAdded { id, .. } => format!("file#{id}"),
            Self::FileAnnounced { file } => format!("announced#{}", file.object),
            Self::ChildEnded { ended } => format!("child#{}", ended.report.child),
            Self::ChildRequest { request: child_request } => {
                format!("child_request#{}#{}", child_request.child, child_request.version)
            }
            Self::UserMessage { message } => format!("user_message#{}", message.id),
            Self::PlanEdited { edit } => format!("edit#{}", edit.id),
            // A request may have several responses.
            Self::HumanResponse { response } => {
                format!("human_response#{}#{}", response.request, response.id)
            }
        }
    }

    /// Converts the mail to an input of the run. `partial` is the text so far of the message being written.
    #[must_use]
    pub fn into_input(self, partial: Option<PartialMessage>) -> Input {
        match self {
            Self::Stop { by } => Input::StopRequested { by, partial },
            Self::FileAdded { id, file } => Input::FileAdded { id, file },
            Self::FileAnnounced { file } => Input::FileAdded { id: file.object.clone(), file },
            Self::ChildEnded { ended } => Input::ChildEnded(ended),
            Self::ChildRequest { request: child_request } => Input::ChildRequested(child_request),
            Self::UserMessage { message } => Input::UserMessageAdded(message),
            Self::PlanEdited { edit } => Input::PlanEdited(edit),
            Self::HumanResponse { response } => Input::HumanResponded(response),
        }
    }
}

/// The contents of a mailbox.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MailboxContents {
    /// The mail, in no particular order.
    pub mail: Vec<Mail>,
    /// The time until which a viewer watches the run, in Unix milliseconds; 0 without viewers. See
    /// [`mark_watched`](super::live::LiveLog::mark_watched).
    pub watched_until_ms: i64,
}

/// The store of mailboxes. Needs `dynamodb:PutItem`, `Query` and `DeleteItem` on the table, `s3:GetObject`
/// and `PutObject` under the tenants' `runs/`, and `s3:ListBucket`.
pub trait Mailbox {
    /// Puts a mail of any length, replacing a mail of the same id. The separately stored part of a long mail
    /// is kept until its run is deleted or expires.
    fn put_mail(
        &self,
        key: &RunKey,
        mail: &Mail,
        expires_at_s: i64,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Returns every mail in the mailbox. Leaves out mail newer than this code, which waits for a newer
    /// driver, and unreadable mail, which must not block the rest. Strongly consistent.
    fn read_mailbox(
        &self,
        key: &RunKey,
    ) -> impl Future<Output = Result<MailboxContents, StoreError>> + Send;

    /// Returns only the mail of [`Self::read_mailbox`].
    fn list_mail(
        &self,
        key: &RunKey,
    ) -> impl Future<Output = Result<Vec<Mail>, StoreError>> + Send {
        let contents = self.read_mailbox(key);
        async move { Ok(contents.await?.mail) }
    }

    /// Deletes mail by id; missing mail is no error.
    fn delete_mail(
        &self,
        key: &RunKey,
        ids: &[String],
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}
