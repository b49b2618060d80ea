//! The plan, written to its file: internal, for whoever looks at the session's files.

use djinn_core::file::media_type_of;
use djinn_core::id::{FileName, UserId};
use djinn_core::input::Input;
use djinn_core::plan::Plan;
use djinn_core::run::{PLAN_FILE, Run};

use crate::port::SessionKey;
use crate::port::file::{Files, NewFile};
use crate::world::Ports;

/// A plan to be written.
pub struct PlanWrite<P: Ports> {
    /// The store that the file is written to.
    pub ports: P,
    /// Whose file it is.
    pub session: SessionKey,
    /// Whose run it is.
    pub user: UserId,
    /// The plan, in Markdown.
    pub text: String,
    /// Which version of it.
    pub version: u32,
}

impl<P: Ports> PlanWrite<P> {
    /// This version of the plan of `run`.
    #[must_use]
    pub fn of(ports: P, run: &Run, version: u32) -> Self {
        let session = SessionKey::of(run.spec());
        let text = run.plan().map(Plan::to_markdown).unwrap_or_default();
        Self { ports, session, user: run.spec().user.clone(), text, version }
    }

    /// Writes it. A run goes on without its file where that cannot be written; the next version is
    /// tried again.
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
