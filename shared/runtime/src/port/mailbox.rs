//! The mailbox: how anyone who is not the driver speaks to a run.

use djinn_core::feedback::Answered;
use djinn_core::file::ProductFile;
use djinn_core::id::UserId;
use djinn_core::input::{Input, Partial, PlanEdited, Said, TaskAsks, TaskEnded};
use serde::{Deserialize, Serialize};

use super::{RunKey, StoreError};

/// A message to a run. Its order among others means nothing, except that stop goes first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mail", rename_all = "snake_case")]
pub enum Mail {
    /// Stop.
    Stop {
        /// Who asks.
        by: UserId,
    },
    /// A file was added to the session.
    FileAdded {
        /// Names this message.
        id: String,
        /// The file.
        file: ProductFile,
    },
    /// A file is being uploaded to the session. The message stays until the file's bytes are there.
    FileAnnounced {
        /// The file as it will be.
        file: ProductFile,
    },
    /// A task of the run's has ended.
    TaskEnded {
        /// How.
        ended: Box<TaskEnded>,
    },
    /// A task of the run's asks, or waits for what it has asked.
    TaskAsks {
        /// What.
        asks: Box<TaskAsks>,
    },
    /// A person tells the run something.
    Said {
        /// What.
        said: Box<Said>,
    },
    /// A person changes the plan.
    PlanEdited {
        /// How.
        edited: Box<PlanEdited>,
    },
    /// A person answered what was asked; or, in a task, its run says so.
    Answered {
        /// How.
        answered: Box<Answered>,
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
            Self::TaskEnded { ended } => format!("task#{}", ended.report.task),
            Self::TaskAsks { asks } => format!("asks#{}#{}", asks.task, asks.version),
            Self::Said { said } => format!("said#{}", said.id),
            Self::PlanEdited { edited } => format!("edit#{}", edited.id),
            // Several may answer the same.
            Self::Answered { answered } => format!("answer#{}#{}", answered.feedback, answered.id),
        }
    }

    /// What the run is told. `partial` is what the message being written says so far.
    #[must_use]
    pub fn into_input(self, partial: Option<Partial>) -> Input {
        match self {
            Self::Stop { by } => Input::StopAsked { by, partial },
            Self::FileAdded { id, file } => Input::FileAdded { id, file },
            Self::FileAnnounced { file } => Input::FileAdded { id: file.object.clone(), file },
            Self::TaskEnded { ended } => Input::TaskEnded(ended),
            Self::TaskAsks { asks } => Input::TaskAsks(asks),
            Self::Said { said } => Input::UserSaid(said),
            Self::PlanEdited { edited } => Input::PlanEdited(edited),
            Self::Answered { answered } => Input::HumanAnswered(answered),
        }
    }
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

    /// Every message in the mailbox, but those that are newer than this code, which wait for a newer
    /// driver, and those that cannot be read: no other has to wait for them. Strongly consistent.
    fn mail(&self, key: &RunKey) -> impl Future<Output = Result<Vec<Mail>, StoreError>> + Send;

    /// Deletes messages by their ids; those that are gone already are no error.
    fn delete_mail(
        &self,
        key: &RunKey,
        ids: &[String],
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}
