//! The lists of a user's runs and sessions.

use std::collections::BTreeMap;

use djinn_core::conversation::Exchange;
use djinn_core::id::SessionId;
use djinn_core::input::{Input, RunSpec};
use djinn_core::session::SharedSession;
use djinn_core::status::RunStatus;
use djinn_runtime::port::catalog::{
    Catalog, ListPage, RunPosition, RunSummary, SessionDeletion, SessionPosition, SessionSummary,
    SessionTurn, run_title,
};
use djinn_runtime::port::journal::{NewRun, RunMeta};
use djinn_runtime::port::{RunKey, SessionKey, StoreError, UserKey};

use super::{MemoryStore, OpKind, State, check_item_size, from_json};

/// The stored lists of one user.
#[derive(Default)]
pub(super) struct StoredUser {
    sessions: BTreeMap<SessionId, SessionSummary>,
    runs: BTreeMap<RunPosition, RunSummary>,
}

impl Catalog for MemoryStore {
    async fn list_runs(
        &self,
        user: &UserKey,
        statuses: &[RunStatus],
        after: Option<&RunPosition>,
        limit: usize,
    ) -> Result<ListPage<RunSummary, RunPosition>, StoreError> {
        self.perform(OpKind::ListRuns, None, None, |state| {
            Ok(state.list_runs(user, statuses, after, limit))
        })
        .await
    }

    async fn list_sessions(
        &self,
        user: &UserKey,
        after: Option<&SessionPosition>,
        limit: usize,
    ) -> Result<ListPage<SessionSummary, SessionPosition>, StoreError> {
        self.perform(OpKind::ListSessions, None, None, |state| {
            let sessions = state.users.get(user).map(|user| user.sessions.values());
            let mut sessions: Vec<_> = sessions.into_iter().flatten().cloned().collect();
            sessions.sort_by_key(|session| std::cmp::Reverse(session_place(session)));
            sessions.retain(|session| after.is_none_or(|after| session_place(session) < *after));
            Ok(page_of(sessions, limit, session_place))
        })
        .await
    }

    async fn find_session(
        &self,
        user: &UserKey,
        session: &SessionId,
    ) -> Result<Option<SessionSummary>, StoreError> {
        self.perform(OpKind::FindSession, None, None, |state| {
            Ok(state.users.get(user).and_then(|user| user.sessions.get(session)).cloned())
        })
        .await
    }

    async fn rename_session(
        &self,
        user: &UserKey,
        session: &SessionId,
        title: &str,
    ) -> Result<bool, StoreError> {
        self.perform(OpKind::NameSession, None, None, |state| {
            check_item_size(title.len())?;
            let entry = state.users.get_mut(user).and_then(|user| user.sessions.get_mut(session));
            Ok(entry.map(|entry| title.clone_into(&mut entry.title)).is_some())
        })
        .await
    }

    async fn list_turns(
        &self,
        session: &SessionKey,
        after: Option<&RunPosition>,
        limit: usize,
    ) -> Result<ListPage<SessionTurn, RunPosition>, StoreError> {
        self.perform(OpKind::ListTurns, None, None, |state| state.list_turns(session, after, limit))
            .await
    }

    async fn delete_session(
        &self,
        user: &UserKey,
        session: &SessionId,
    ) -> Result<SessionDeletion, StoreError> {
        self.perform(OpKind::ForgetSession, None, None, |state| {
            Ok(state.forget_session(user, session))
        })
        .await
    }
}

impl State {
    /// Adds a new run to its user's lists.
    pub(super) fn list_run(&mut self, key: &RunKey, new: &NewRun, spec: &RunSpec) {
        let title = run_title(&spec.question);
        let now_ms = new.record.at_ms;
        let owner = UserKey { tenant: key.tenant.clone(), user: spec.owner().clone() };
        let owner = self.users.entry(owner).or_default();
        if !spec.is_unlisted {
            let session = owner.sessions.entry(spec.session.clone()).or_insert(SessionSummary {
                session: spec.session.clone(),
                title: title.clone(),
                newest_question: String::new(),
                started_at_ms: now_ms,
                newest_at_ms: now_ms,
            });
            session.newest_at_ms = now_ms;
            session.newest_question.clone_from(&title);
        }
        let place = RunPosition { started_at_ms: now_ms, run: key.run.clone() };
        let run = RunSummary {
            run: key.run.clone(),
            session: spec.session_name(),
            request: spec.request.clone(),
            title,
            status: RunStatus::Queued,
            has_open_requests: false,
            started_at_ms: now_ms,
            ended_at_ms: None,
        };
        self.users.entry(UserKey::of(spec)).or_default().runs.insert(place, run);
    }

    /// Returns the session's item in its owner's list.
    pub(super) fn listed_session(&self, key: &SessionKey) -> Option<&SessionSummary> {
        self.users.get(&key.owner_key())?.sessions.get(&key.session)
    }

    fn list_runs(
        &self,
        user: &UserKey,
        statuses: &[RunStatus],
        after: Option<&RunPosition>,
        limit: usize,
    ) -> ListPage<RunSummary, RunPosition> {
        let all_runs = self.users.get(user).map(|user| user.runs.iter().rev());
        let behind = all_runs
            .into_iter()
            .flatten()
            .filter(|(place, _)| after.is_none_or(|after| *place < after));
        let runs = behind.map(|(_, run)| {
            let meta = self.meta(&RunKey::new(user.tenant.clone(), run.run.clone()));
            let Some(meta) = meta else { return run.clone() };
            let has_open_requests = meta.has_open_requests && meta.status == RunStatus::Running;
            let ended_at_ms = meta.ended_at_ms;
            RunSummary { status: meta.status, has_open_requests, ended_at_ms, ..run.clone() }
        });
        let runs = runs.filter(|run| statuses.is_empty() || statuses.contains(&run.status));
        page_of(runs.collect(), limit, |run| RunPosition {
            started_at_ms: run.started_at_ms,
            run: run.run.clone(),
        })
    }

    fn list_turns(
        &self,
        key: &SessionKey,
        after: Option<&RunPosition>,
        limit: usize,
    ) -> Result<ListPage<SessionTurn, RunPosition>, StoreError> {
        let Some(session) = self.sessions.get(key) else {
            return Ok(ListPage { items: Vec::new(), next: None });
        };
        let turns = session
            .turns
            .iter()
            .rev()
            .filter(|(place, _)| after.is_none_or(|after| *place < after));
        let turns = turns.map(|(place, turn)| {
            let exchange = turn.exchange.as_deref().and_then(|exchange| from_json(exchange).ok());
            SessionTurn {
                run: place.run.clone(),
                request: Some(turn.request.clone()),
                user: Some(turn.user.clone()),
                started_at_ms: place.started_at_ms,
                status: turn.status,
                exchange,
            }
        });
        let mut page = page_of(turns.collect(), limit, |turn: &SessionTurn| RunPosition {
            started_at_ms: turn.started_at_ms,
            run: turn.run.clone(),
        });
        if let Some((run, meta)) = self.active_run(key).filter(|_| after.is_none()) {
            let RunMeta { request, user, started_at_ms, status, .. } = meta;
            let exchange = self.read_question(&run);
            let request = Some(request);
            let user = Some(user);
            let turn = SessionTurn { run: run.run, request, user, started_at_ms, status, exchange };
            page.items.insert(0, turn);
        }
        Ok(page)
    }

    /// Returns the active run of a session.
    fn active_run(&self, key: &SessionKey) -> Option<(RunKey, RunMeta)> {
        let active = self.sessions.get(key)?.active.clone()?;
        let run = RunKey::new(key.tenant.clone(), active);
        let meta = self.meta(&run).filter(|meta| !meta.status.has_ended())?;
        Some((run, meta))
    }

    fn read_question(&self, run: &RunKey) -> Option<Exchange> {
        let record = self.runs.get(run)?.records.get(&0)?.decode().ok()?;
        match record.inputs.into_iter().next() {
            Some(Input::Started(spec)) => {
                let question = spec.question;
                let asker = Some(spec.user);
                Some(Exchange { question, asker, ..Exchange::default() })
            }
            _ => None,
        }
    }

    fn forget_session(&mut self, user: &UserKey, session: &SessionId) -> SessionDeletion {
        let is_listed =
            self.users.get(user).is_some_and(|user| user.sessions.contains_key(session));
        let key = user.session_key(session);
        if !is_listed {
            return SessionDeletion::Unknown;
        }
        if let Some((run, _)) = self.active_run(&key) {
            return SessionDeletion::Busy(run.run);
        }
        let turns = self.sessions.remove(&key).map(|session| session.turns).unwrap_or_default();
        for place in turns.keys() {
            self.forget_run(&RunKey::new(user.tenant.clone(), place.run.clone()), place);
        }
        self.shares.retain(|_, share| share.session != key);
        if let Some(owner) = self.users.get_mut(user) {
            owner.sessions.remove(session);
        }
        SessionDeletion::Done
    }

    /// Deletes a run with its children, list items and labels.
    fn forget_run(&mut self, key: &RunKey, place: &RunPosition) {
        if let Some(RunMeta { user, request, shared, session, .. }) = self.meta(key) {
            let user = UserKey { tenant: key.tenant.clone(), user };
            let name = SharedSession::name_of(shared.as_ref(), &session);
            let label = (user.clone(), request.as_str().to_owned());
            if self.requests.get(&label) == Some(&name) {
                self.requests.remove(&label);
            }
            if let Some(user) = self.users.get_mut(&user) {
                user.runs.remove(place);
            }
        }
        self.runs.retain(|run, _| run.root() != *key);
    }
}

/// Returns the first items, and the position of the last item if there are more.
fn page_of<T, P>(mut items: Vec<T>, limit: usize, place: impl Fn(&T) -> P) -> ListPage<T, P> {
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(place);
    ListPage { items, next }
}

fn session_place(session: &SessionSummary) -> SessionPosition {
    SessionPosition { newest_at_ms: session.newest_at_ms, session: session.session.clone() }
}
