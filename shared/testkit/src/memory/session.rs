//! Sessions: the active run, ended runs and files.

use std::collections::BTreeMap;

use djinn_core::conversation::SessionMemory;
use djinn_core::file::ProductFile;
use djinn_core::id::{FileName, RequestId, RunId, SessionId, SessionName, UserId, sha256_hex};
use djinn_core::status::RunStatus;
use djinn_core::tool::ToolState;
use djinn_runtime::port::catalog::RunPosition;
use djinn_runtime::port::file::{NewFile, has_rows, numbered_names};
use djinn_runtime::port::journal::{EndedRun, MAX_ENDED_RUNS, MAX_EXCHANGES, SessionView};
use djinn_runtime::port::{SessionKey, StoreError, UserKey};

use super::{State, from_json};

/// The maximum number of files in a session's view.
const FILES: usize = 200;

/// The stored data of one session.
#[derive(Default)]
pub(super) struct StoredSession {
    pub(super) active: Option<RunId>,
    /// True after the first run; a session with only files has no label.
    has_runs: bool,
    /// The ended runs, ordered by start.
    pub(super) turns: BTreeMap<RunPosition, StoredTurn>,
    /// The newest summary, and the position of its run.
    summary: Option<(RunPosition, SessionMemory)>,
    files: BTreeMap<FileName, StoredFile>,
    objects: BTreeMap<String, Vec<u8>>,
}

struct StoredFile {
    /// The number of files written before.
    nth: u64,
    writer: UserId,
    file: ProductFile,
}

/// The stored turn of a run that has ended or was abandoned.
pub(super) struct StoredTurn {
    pub(super) status: RunStatus,
    pub(super) request: RequestId,
    pub(super) user: UserId,
    /// The exchange as JSON; `None` if the journal was unreadable.
    pub(super) exchange: Option<String>,
}

impl StoredSession {
    pub(super) fn start_run(&mut self, run: RunId) {
        self.active = Some(run);
        self.has_runs = true;
    }

    pub(super) fn release_run(&mut self, run: &RunId) {
        self.active.take_if(|active| active == run);
    }

    pub(super) fn end_run(
        &mut self,
        place: RunPosition,
        turn: StoredTurn,
        summary: Option<&SessionMemory>,
    ) {
        self.release_run(&place.run);
        if let Some(summary) = summary {
            self.summary = Some((place.clone(), summary.clone()));
        }
        self.turns.insert(place, turn);
    }
}

impl State {
    pub(super) fn session_mut(&mut self, key: &SessionKey) -> &mut StoredSession {
        self.sessions.entry(key.clone()).or_default()
    }

    pub(super) fn session(&self, key: &SessionKey) -> Result<SessionView, StoreError> {
        let Some(session) = self.sessions.get(key) else {
            return Ok(SessionView::default());
        };
        let ended_runs = session.turns.iter().rev().map(|(place, turn)| EndedRun {
            run: place.run.clone(),
            user: Some(turn.user.clone()),
        });
        let ended_runs = ended_runs.take(MAX_ENDED_RUNS).collect();
        let exchanges: Vec<(&RunPosition, &str)> = session
            .turns
            .iter()
            .filter_map(|(place, turn)| Some((place, turn.exchange.as_deref()?)))
            .collect();
        let exchange_count = session.summary.as_ref().map_or(MAX_EXCHANGES, |(maker, summary)| {
            let since_maker = exchanges.iter().filter(|(place, _)| *place >= maker).count();
            since_maker + summary.newer_exchanges as usize
        });
        let skip_count = exchanges.len().saturating_sub(exchange_count.min(MAX_EXCHANGES));
        let history = exchanges.iter().skip(skip_count).map(|(_, exchange)| from_json(exchange));
        let files = self.list_files(key);
        let file_skip_count = files.len().saturating_sub(FILES);
        Ok(SessionView {
            active: session.active.clone(),
            earlier: session.summary.as_ref().map(|(_, summary)| summary.compacted.clone()),
            history: history.collect::<Result<_, _>>()?,
            ended: ended_runs,
            files: files.into_iter().skip(file_skip_count).collect(),
        })
    }

    pub(super) fn list_files(&self, key: &SessionKey) -> Vec<ProductFile> {
        let files = self.sessions.get(key).map(|session| session.files.values());
        let mut files: Vec<_> = files.into_iter().flatten().collect();
        files.sort_by_key(|entry| entry.nth);
        files.into_iter().map(|entry| entry.file.clone()).collect()
    }

    pub(super) fn session_of(&self, user: &UserKey, label: &str) -> Option<SessionName> {
        let session = SessionId::new(label).ok()?;
        match self.sessions.get(&user.session_key(&session)) {
            Some(entry) if entry.has_runs => Some(session.into()),
            _ => self.requests.get(&(user.clone(), label.to_owned())).cloned(),
        }
    }

    pub(super) fn write_file(
        &mut self,
        session: &SessionKey,
        new: &NewFile,
        bytes: &[u8],
    ) -> Result<ProductFile, StoreError> {
        self.files_written += 1;
        let nth = self.files_written;
        let session = self.session_mut(session);
        let can_write = |name: &FileName| {
            session.files.get(name).is_none_or(|entry| entry.writer == new.writer)
        };
        let name = numbered_names(&new.name).find(can_write);
        let name = name.ok_or_else(|| StoreError::Unavailable("no free file name".to_owned()))?;
        let file = ProductFile {
            name,
            description: new.description.clone(),
            size: bytes.len() as u64,
            internal: new.internal,
            media_type: new.media_type.clone(),
            object: format!("files/{}", sha256_hex(bytes)),
            has_rows: has_rows(&new.media_type, bytes),
            uploaded: new.uploaded,
        };
        session.objects.insert(file.object.clone(), bytes.to_vec());
        let entry = StoredFile { nth, writer: new.writer.clone(), file: file.clone() };
        session.files.insert(file.name.clone(), entry);
        Ok(file)
    }

    pub(super) fn active(&self, session: &SessionKey) -> Option<RunId> {
        self.sessions.get(session)?.active.clone()
    }

    pub(super) fn find_file(&self, session: &SessionKey, name: &FileName) -> Option<ProductFile> {
        Some(self.sessions.get(session)?.files.get(name)?.file.clone())
    }

    pub(super) fn write_state(&mut self, session: &SessionKey, bytes: &[u8]) -> ToolState {
        let object = format!("files/{}", sha256_hex(bytes));
        self.session_mut(session).objects.insert(object.clone(), bytes.to_vec());
        ToolState { object, size: bytes.len() as u64, owner: None }
    }

    pub(super) fn read_bytes(
        &self,
        session: &SessionKey,
        object: &str,
        limit: u64,
    ) -> Result<Vec<u8>, StoreError> {
        let bytes = self.sessions.get(session).and_then(|session| session.objects.get(object));
        let bytes =
            bytes.ok_or_else(|| StoreError::Unreadable(format!("object {object} is gone")))?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(bytes.iter().take(limit).copied().collect())
    }
}
