//! The internal file of a plan, for users who list the session's files.

use djinn_core::file::media_type_of;
use djinn_core::id::{FileName, UserId};
use djinn_core::input::Input;
use djinn_core::plan::Plan;
use djinn_core::run::{PLAN_FILE, Run};

use crate::port::SessionKey;
use crate::port::file::{Files, NewFile};
use crate::world::Ports;

/// A plan to write to a file.
pub struct PlanWrite<P: Ports> {
    /// The store for the file.
    pub ports: P,
    /// The session of the file.
    pub session: SessionKey,
    /// The user of the run, recorded as the writer of the file.
    pub user: UserId,
    /// The plan as Markdown text.
    pub text: String,
    /// The version of the plan.
    pub version: u32,
}

impl<P: Ports> PlanWrite<P> {
    /// Creates the write of the current plan of `run`, under this version.
    #[must_use]
    pub fn of(ports: P, run: &Run, version: u32) -> Self {
        let session = SessionKey::of(run.spec());
        let text = run.plan().map(Plan::to_markdown).unwrap_or_default();
        Self { ports, session, user: run.spec().user.clone(), text, version }
    }

    /// Writes the file. The run continues after a failure; the next version is written again.
    pub async fn perform(self) -> Vec<Input> {
        let Self { ports, session, user, text, version } = self;
        if let Ok(name) = FileName::new(PLAN_FILE) {
            let media_type = media_type_of(PLAN_FILE).to_owned();
            let file = NewFile {
                name,
                description: String::new(),
                internal: true,
                media_type,
                uploaded: false,
                writer: user,
            };
            if let Err(error) = ports.store().write_file(&session, &file, text.as_bytes()).await {
                tracing::warn!(%error, version, "plan not kept");
            }
        }
        vec![Input::PlanSaved { version }]
    }
}
