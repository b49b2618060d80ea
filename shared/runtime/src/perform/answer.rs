//! The file of an answer, written before the caller receives the answer.

use std::sync::{Mutex, PoisonError};

use djinn_core::effect::AnswerFile;
use djinn_core::file::{ProductFile, media_type_of};
use djinn_core::id::FileName;
use djinn_core::run::Run;

use crate::port::file::{Files, NewFile};
use crate::port::{RunKey, SessionKey, StoreError};
use crate::world::Ports;

/// An answer to write to a file. Writing is idempotent.
pub(crate) struct AnswerWrite {
    session: SessionKey,
    file: Option<NewFile>,
    text: String,
    entry: Mutex<Option<ProductFile>>,
}

impl AnswerWrite {
    /// Creates the write of an answer. The file is the caller's requested document, or an internal file with
    /// the whole of a long answer.
    pub(crate) fn of<P: Ports>(_: &P, key: &RunKey, run: &Run, answer: AnswerFile) -> Self {
        let spec = run.spec();
        let description = spec.child.as_ref().map(|child| child.description.clone());
        let internal = answer.name.is_none();
        let name = answer.name.or_else(|| FileName::new(internal_name(key)).ok());
        let file = name.map(|name| NewFile {
            media_type: media_type_of(name.as_str()).to_owned(),
            description: description.unwrap_or_default(),
            internal,
            name,
            uploaded: false,
            writer: spec.user.clone(),
        });
        Self { session: SessionKey::of(spec), file, text: answer.text, entry: Mutex::default() }
    }

    /// Writes the answer's file.
    ///
    /// # Errors
    /// Returns [`StoreError`] if the file may be missing.
    pub(crate) async fn perform<P: Ports>(&self, ports: &P) -> Result<(), StoreError> {
        let Some(file) = &self.file else { return Ok(()) };
        let entry = ports.store().write_file(&self.session, file, self.text.as_bytes()).await?;
        *self.entry.lock().unwrap_or_else(PoisonError::into_inner) = Some(entry);
        Ok(())
    }

    /// Returns the file, if written.
    pub(crate) fn into_file(self) -> Option<ProductFile> {
        self.entry.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the name of an answer's internal file: unique in the session, equal for every attempt.
fn internal_name(key: &RunKey) -> String {
    let run: String = key.run.as_str().chars().skip(4).take(8).collect();
    format!("result-{run}-{}.txt", key.path)
}
