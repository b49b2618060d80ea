//! Lists of a user's own.

use std::collections::BTreeMap;

use djinn_core::conversation::Exchange;
use djinn_core::id::SessionId;
use djinn_core::input::{Asked, Input};
use djinn_core::journal::Record;
use djinn_core::session::SharedSession;
use djinn_core::status::RunStatus;
use djinn_runtime::port::catalog::{
    Catalog, Forgotten, Page, RunPlace, RunSummary, SessionPlace, SessionSummary, Turn, UserKey,
    title_of,
};
use djinn_runtime::port::journal::{NewRun, RunMeta, SessionKey};
use djinn_runtime::port::{RunKey, StoreError};

use super::session::StoredTurn;
use super::{MemoryStore, OpKind, State, fits, parsed};

/// Everything of one user.
#[derive(Default)]
pub(super) struct StoredUser {
    sessions: BTreeMap<SessionId, SessionSummary>,
    runs: BTreeMap<RunPlace, RunSummary>,
}

impl Catalog for MemoryStore {
    async fn list_runs(
        &self,
        user: &UserKey,
        statuses: &[RunStatus],
        after: Option<&RunPlace>,
        limit: usize,
    ) -> Result<Page<RunSummary, RunPlace>, StoreError> {
        self.perform(OpKind::ListRuns, None, None, |state| {
            Ok(state.list_runs(user, statuses, after, limit))
        })
        .await
    }

    async fn list_sessions(
        &self,
        user: &UserKey,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Page<SessionSummary, SessionPlace>, StoreError> {
        self.perform(OpKind::ListSessions, None, None, |state| {
            let sessions = state.users.get(user).map(|user| user.sessions.values());
            let mut sessions: Vec<_> = sessions.into_iter().flatten().cloned().collect();
            sessions.sort_by_key(|session| std::cmp::Reverse(place(session)));
            sessions.retain(|session| after.is_none_or(|after| place(session) < *after));
            Ok(page(sessions, limit, place))
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

    async fn name_session(
        &self,
        user: &UserKey,
        session: &SessionId,
        title: &str,
    ) -> Result<bool, StoreError> {
        self.perform(OpKind::NameSession, None, None, |state| {
            fits(title.len())?;
            let found = state.users.get_mut(user).and_then(|user| user.sessions.get_mut(session));
            Ok(found.map(|found| title.clone_into(&mut found.title)).is_some())
        })
        .await
    }

    async fn list_turns(
        &self,
        session: &SessionKey,
        after: Option<&RunPlace>,
        limit: usize,
    ) -> Result<Page<Turn, RunPlace>, StoreError> {
        self.perform(OpKind::ListTurns, None, None, |state| state.turns(session, after, limit))
            .await
    }

    async fn forget_session(
        &self,
        user: &UserKey,
        session: &SessionId,
    ) -> Result<Forgotten, StoreError> {
        self.perform(OpKind::ForgetSession, None, None, |state| Ok(state.forget(user, session)))
            .await
    }
}

impl State {
    /// Puts a new run into its user's lists.
    pub(super) fn list(&mut self, key: &RunKey, new: &NewRun, asked: &Asked) {
        let (title, now_ms) = (title_of(&asked.question), new.record.at_ms);
        let owner = UserKey { tenant: key.tenant.clone(), user: asked.owner().clone() };
        let owner = self.users.entry(owner).or_default();
        let session = owner.sessions.entry(asked.session.clone()).or_insert(SessionSummary {
            session: asked.session.clone(),
            title: title.clone(),
            started_at_ms: now_ms,
            newest_at_ms: now_ms,
        });
        session.newest_at_ms = now_ms;
        let place = RunPlace { started_at_ms: now_ms, run: key.run.clone() };
        let run = RunSummary {
            run: key.run.clone(),
            session: asked.session_name(),
            request: asked.request.clone(),
            title,
            status: RunStatus::Queued,
            started_at_ms: now_ms,
            ended_at_ms: None,
        };
        self.users.entry(UserKey::of(asked)).or_default().runs.insert(place, run);
    }

    /// A session as its owner's list has it.
    pub(super) fn listed_session(&self, key: &SessionKey) -> Option<&SessionSummary> {
        self.users.get(&key.owner_key())?.sessions.get(&key.session)
    }

    fn list_runs(
        &self,
        user: &UserKey,
        statuses: &[RunStatus],
        after: Option<&RunPlace>,
        limit: usize,
    ) -> Page<RunSummary, RunPlace> {
        let listed = self.users.get(user).map(|user| user.runs.iter().rev());
        let behind = listed
            .into_iter()
            .flatten()
            .filter(|(place, _)| after.is_none_or(|after| *place < after));
        let runs = behind.map(|(_, run)| {
            let meta = self.meta(&RunKey::new(user.tenant.clone(), run.run.clone()));
            let (status, ended_at_ms) =
                meta.map_or((run.status, None), |meta| (meta.status, meta.ended_at_ms));
            RunSummary { status, ended_at_ms, ..run.clone() }
        });
        let runs = runs.filter(|run| statuses.is_empty() || statuses.contains(&run.status));
        page(runs.collect(), limit, |run| RunPlace {
            started_at_ms: run.started_at_ms,
            run: run.run.clone(),
        })
    }

    fn turns(
        &self,
        key: &SessionKey,
        after: Option<&RunPlace>,
        limit: usize,
    ) -> Result<Page<Turn, RunPlace>, StoreError> {
        let Some(session) = self.sessions.get(key) else {
            return Ok(Page { items: Vec::new(), next: None });
        };
        let ended = session
            .turns
            .iter()
            .rev()
            .filter(|(place, _)| after.is_none_or(|after| *place < after));
        let ended = ended.map(|(place, turn)| ended_turn(place, turn)).collect();
        let mut page = page(ended, limit, |turn: &Turn| RunPlace {
            started_at_ms: turn.started_at_ms,
            run: turn.run.clone(),
        });
        if let Some((run, meta)) = self.active_run(key).filter(|_| after.is_none()) {
            let RunMeta { request, user, started_at_ms, status, .. } = meta;
            let exchange = self.question(&run);
            let (request, user) = (Some(request), Some(user));
            let turn = Turn { run: run.run, request, user, started_at_ms, status, exchange };
            page.items.insert(0, turn);
        }
        Ok(page)
    }

    /// The run that a session is still answering.
    fn active_run(&self, key: &SessionKey) -> Option<(RunKey, RunMeta)> {
        let active = self.sessions.get(key)?.active.clone()?;
        let run = RunKey::new(key.tenant.clone(), active);
        let meta = self.meta(&run).filter(|meta| !meta.status.has_ended())?;
        Some((run, meta))
    }

    fn question(&self, run: &RunKey) -> Option<Exchange> {
        let record: Record = parsed(self.runs.get(run)?.records.get(&0)?).ok()?;
        match record.inputs.into_iter().next() {
            Some(Input::Asked(asked)) => {
                let (question, asker) = (asked.question, Some(asked.user));
                Some(Exchange { question, asker, ..Exchange::default() })
            }
            _ => None,
        }
    }

    fn forget(&mut self, user: &UserKey, session: &SessionId) -> Forgotten {
        let listed = self.users.get(user).is_some_and(|user| user.sessions.contains_key(session));
        let key = user.session(session);
        if !listed {
            return Forgotten::Unknown;
        }
        if let Some((run, _)) = self.active_run(&key) {
            return Forgotten::Busy(run.run);
        }
        let turns = self.sessions.remove(&key).map(|session| session.turns).unwrap_or_default();
        for place in turns.keys() {
            self.forget_run(&RunKey::new(user.tenant.clone(), place.run.clone()), place);
        }
        self.shares.retain(|_, share| share.session != key);
        if let Some(owner) = self.users.get_mut(user) {
            owner.sessions.remove(session);
        }
        Forgotten::Done
    }

    /// A run with its tasks, and where lists and labels name it.
    fn forget_run(&mut self, key: &RunKey, place: &RunPlace) {
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
        self.runs.retain(|run, _| run.without_task() != *key);
    }
}

fn ended_turn(place: &RunPlace, turn: &StoredTurn) -> Turn {
    let exchange = turn.exchange.as_deref().and_then(|exchange| parsed(exchange).ok());
    Turn {
        run: place.run.clone(),
        request: Some(turn.request.clone()),
        user: Some(turn.user.clone()),
        started_at_ms: place.started_at_ms,
        status: turn.status,
        exchange,
    }
}

/// The first of these, and the place of the last of them if there are more.
fn page<T, P>(mut items: Vec<T>, limit: usize, place: impl Fn(&T) -> P) -> Page<T, P> {
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(place);
    Page { items, next }
}

fn place(session: &SessionSummary) -> SessionPlace {
    SessionPlace { newest_at_ms: session.newest_at_ms, session: session.session.clone() }
}
