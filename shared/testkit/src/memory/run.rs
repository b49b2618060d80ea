//! Runs: journals, leases, mail and previews.

use std::collections::BTreeMap;

use djinn_core::id::WriteId;
use djinn_core::input::{Input, RunSpec};
use djinn_core::journal::{ChainHead, Record, RecordText};
use djinn_core::status::RunStatus;
use djinn_protocol::preview::Live;
use djinn_runtime::port::admission::{Admission, AdmissionError, minute_of};
use djinn_runtime::port::catalog::RunPosition;
use djinn_runtime::port::journal::{AppendResult, CreateResult, Lease, NewRun, RunEnd, RunMeta};
use djinn_runtime::port::lease::{LeaseAcquisition, LeaseNote, LeaseRenewal};
use djinn_runtime::port::mailbox::{Mail, MailboxContents};
use djinn_runtime::port::{RunKey, SessionKey, StoreError, UserKey};

use super::record::encode;
use super::session::StoredTurn;
use super::{State, check_item_size, from_json, to_json};

/// The stored data of one run.
#[derive(Default)]
pub(super) struct StoredRun {
    meta: Option<StoredMeta>,
    /// The records as stored, by number; a lost record has an empty text.
    pub(super) records: BTreeMap<u64, RecordText>,
    /// The mail as JSON, by id.
    mail: BTreeMap<String, String>,
    watched_until_ms: i64,
    pub(super) live: BTreeMap<String, Vec<Live>>,
}

struct StoredMeta {
    meta: RunMeta,
    /// The write that created the run.
    write: WriteId,
    /// The epoch, kept when the lease is released.
    epoch: u64,
    /// True if the current lease was taken after a lapse.
    lapsed: bool,
}

impl State {
    pub(super) fn create(
        &mut self,
        key: &RunKey,
        new: &NewRun,
    ) -> Result<CreateResult, StoreError> {
        let [Input::Started(spec), ..] = new.record.inputs.as_slice() else {
            return Err(StoreError::Unreadable("the first record holds no question".to_owned()));
        };
        let record = encode(key, &new.record)?;
        let holder = new.lease.as_ref().map_or(0, |lease| lease.holder.len());
        check_item_size(spec.body_hash.len() + holder)?;
        if let Some(entry) = self.stored_meta(key) {
            return Ok(if entry.write == new.record.write {
                CreateResult::Created(record.hash)
            } else {
                CreateResult::Exists(Box::new(entry.meta.clone()))
            });
        }
        if !key.is_root() {
            return Ok(self.insert_run(key, new, spec, record));
        }
        let session = SessionKey::of(spec);
        let active = self.sessions.get(&session).and_then(|session| session.active.clone());
        if let Some(active) = active.filter(|active| *active != key.run) {
            let active_key = RunKey::new(key.tenant.clone(), active.clone());
            if self.meta(&active_key).is_some_and(|meta| !meta.status.has_ended()) {
                return Ok(CreateResult::SessionBusy(active));
            }
        }
        if let Some(too_many) = self.check_admission(key, new, spec) {
            return Ok(CreateResult::NotAdmitted(too_many));
        }
        self.session_mut(&session).start_run(key.run.clone());
        let label = (UserKey::of(spec), spec.request.as_str().to_owned());
        self.requests.insert(label, spec.session_name());
        self.list_run(key, new, spec);
        Ok(self.insert_run(key, new, spec, record))
    }

    /// Checks the limits on the user's runs. Counts the new run if admitted.
    fn check_admission(
        &mut self,
        key: &RunKey,
        new: &NewRun,
        spec: &RunSpec,
    ) -> Option<AdmissionError> {
        let at_ms = new.record.at_ms;
        let user = UserKey::of(spec);
        let minute_key = (user, minute_of(at_ms));
        let Admission { runs_per_minute, runs_at_once } = new.admission;
        let count = self.runs_started.get(&minute_key).copied().unwrap_or_default();
        if runs_per_minute.is_some_and(|most| count >= most) {
            return Some(AdmissionError::rate_limited_at(at_ms));
        }
        let is_at_work = |(other, run): &(&RunKey, &StoredRun)| {
            let meta = run.meta.as_ref().map(|entry| &entry.meta);
            other.is_root()
                && other.tenant == key.tenant
                && meta.is_some_and(|meta| {
                    let works = matches!(meta.status, RunStatus::Queued | RunStatus::Running);
                    meta.user == spec.user && works
                })
        };
        let at_work = self.runs.iter().filter(is_at_work).count();
        if let Some(most) = runs_at_once.filter(|most| at_work >= *most as usize) {
            return Some(AdmissionError::TooManyRuns(most));
        }
        if runs_per_minute.is_some() {
            self.runs_started.insert(minute_key, count + 1);
        }
        None
    }

    fn insert_run(
        &mut self,
        key: &RunKey,
        new: &NewRun,
        spec: &RunSpec,
        record: RecordText,
    ) -> CreateResult {
        let run = self.runs.entry(key.clone()).or_default();
        run.meta = Some(StoredMeta {
            meta: new_meta(spec, new),
            write: new.record.write.clone(),
            epoch: new.lease.as_ref().map_or(0, |lease| lease.epoch),
            lapsed: false,
        });
        let hash = record.hash.clone();
        run.records.insert(record.number, record);
        CreateResult::Created(hash)
    }

    pub(super) fn end(
        &mut self,
        key: &RunKey,
        record: &Record,
        end: &RunEnd,
        expires_at_s: i64,
    ) -> Result<AppendResult, StoreError> {
        let is_new =
            !self.runs.get(key).is_some_and(|run| run.records.contains_key(&record.number));
        if is_new && self.stored_meta(key).is_none() {
            return Err(StoreError::Unreadable(format!("{key} has no metadata")));
        }
        let outcome = self.append(key, record)?;
        if let AppendResult::Appended(hash) = &outcome
            && is_new
        {
            if let Some(entry) = self.meta_mut(key) {
                entry.meta.status = end.status;
                entry.meta.ended_at_ms = Some(record.at_ms);
                entry.meta.end_shown = end.end_shown;
                entry.meta.outline = end.outline.clone().map(Box::new);
                let records = record.number + 1;
                entry.meta.chain_head = Some(ChainHead { records, hash: hash.clone() });
                entry.meta.journal_expires_at_s = expires_at_s;
                entry.meta.lease = None;
            }
            if !key.is_root() {
                return Ok(outcome);
            }
            for (day, change) in &end.day_changes {
                self.change_day(day, change);
            }
            let place = RunPosition { started_at_ms: end.started_at_ms, run: key.run.clone() };
            let turn = StoredTurn {
                status: end.status,
                request: end.request.clone(),
                user: end.user.clone(),
                exchange: Some(to_json(&end.exchange)?),
            };
            self.session_mut(&end.session).end_run(place, turn, end.memory.as_ref());
        }
        Ok(outcome)
    }

    pub(super) fn give_up(&mut self, key: &RunKey, at_ms: i64) {
        let Some(entry) = self.meta_mut(key).filter(|entry| !entry.meta.status.has_ended()) else {
            return;
        };
        entry.meta.status = RunStatus::Failed;
        entry.meta.ended_at_ms = Some(at_ms);
        entry.meta.end_shown = true;
        entry.meta.lease = None;
        if !key.is_root() {
            return;
        }
        let RunMeta { started_at_ms, request, user, .. } = entry.meta.clone();
        let session = entry.meta.session_key(&key.tenant);
        let place = RunPosition { started_at_ms, run: key.run.clone() };
        let turn = StoredTurn { status: RunStatus::Failed, request, user, exchange: None };
        self.session_mut(&session).end_run(place, turn, None);
    }

    pub(super) fn note_end_shown(&mut self, key: &RunKey) {
        if let Some(entry) = self.meta_mut(key).filter(|entry| entry.meta.status.has_ended()) {
            entry.meta.end_shown = true;
        }
    }

    pub(super) fn meta(&self, key: &RunKey) -> Option<RunMeta> {
        self.stored_meta(key).map(|entry| entry.meta.clone())
    }

    pub(super) fn take_lease(
        &mut self,
        key: &RunKey,
        holder: &str,
        now_ms: i64,
        until_ms: i64,
    ) -> LeaseAcquisition {
        let Some(entry) = self.meta_mut(key).filter(|entry| !entry.meta.status.has_ended()) else {
            return LeaseAcquisition::Unavailable;
        };
        if let Some(lease) = entry.meta.lease.as_ref().filter(|lease| lease.until_ms > now_ms) {
            return if lease.holder == holder {
                LeaseAcquisition::Acquired { lease: lease.clone(), lapsed: entry.lapsed }
            } else {
                LeaseAcquisition::Unavailable
            };
        }
        entry.epoch += 1;
        entry.lapsed = entry.meta.lease.is_some();
        entry.meta.status = RunStatus::Running;
        let lease = Lease { holder: holder.to_owned(), until_ms, epoch: entry.epoch };
        entry.meta.lease = Some(lease.clone());
        LeaseAcquisition::Acquired { lease, lapsed: entry.lapsed }
    }

    pub(super) fn renew_lease(
        &mut self,
        key: &RunKey,
        lease: &Lease,
        until_ms: i64,
        has_open_requests: bool,
    ) -> LeaseRenewal {
        let Some(entry) = self.meta_mut(key) else {
            return LeaseRenewal::Lost;
        };
        match entry.meta.lease.as_mut().filter(|current| is_same(current, lease)) {
            Some(current) => {
                current.until_ms = until_ms;
                entry.meta.has_open_requests = has_open_requests;
                LeaseRenewal::Renewed
            }
            None => LeaseRenewal::Lost,
        }
    }

    pub(super) fn release_lease(
        &mut self,
        key: &RunKey,
        lease: &Lease,
        status: RunStatus,
        note: Option<LeaseNote<'_>>,
    ) {
        if let Some(entry) = self.meta_mut(key)
            && entry.meta.lease.take_if(|current| is_same(current, lease)).is_some()
        {
            entry.meta.status = status;
            if let Some(LeaseNote { head, has_open_requests }) = note {
                entry.meta.chain_head = Some(head.clone());
                entry.meta.has_open_requests = has_open_requests;
            }
        }
    }

    pub(super) fn put_mail(&mut self, key: &RunKey, mail: &Mail) -> Result<(), StoreError> {
        let text = to_json(mail)?;
        self.runs.entry(key.clone()).or_default().mail.insert(mail.id(), text);
        Ok(())
    }

    pub(super) fn mailbox(&mut self, key: &RunKey) -> Result<MailboxContents, StoreError> {
        let run = self.runs.get(key);
        let watched_until_ms = run.map_or(0, |run| run.watched_until_ms);
        let mail = run.into_iter().flat_map(|run| run.mail.values());
        let mut mail: Vec<Mail> = mail.map(|json| from_json(json)).collect::<Result<_, _>>()?;
        if let Some(chance) = &mut self.chance {
            chance.shuffle(&mut mail);
        }
        Ok(MailboxContents { mail, watched_until_ms })
    }

    pub(super) fn delete_mail(&mut self, key: &RunKey, ids: &[String]) {
        if let Some(run) = self.runs.get_mut(key) {
            run.mail.retain(|id, _| !ids.contains(id));
        }
    }

    pub(super) fn watch(&mut self, key: &RunKey, until_ms: i64) {
        let run = self.runs.entry(key.clone()).or_default();
        run.watched_until_ms = run.watched_until_ms.max(until_ms);
    }

    fn stored_meta(&self, key: &RunKey) -> Option<&StoredMeta> {
        self.runs.get(key)?.meta.as_ref()
    }

    fn meta_mut(&mut self, key: &RunKey) -> Option<&mut StoredMeta> {
        self.runs.get_mut(key)?.meta.as_mut()
    }
}

fn is_same(current: &Lease, lease: &Lease) -> bool {
    current.holder == lease.holder && current.epoch == lease.epoch
}

fn new_meta(spec: &RunSpec, new: &NewRun) -> RunMeta {
    let lease = new.lease.clone();
    RunMeta {
        mode: spec.settings.mode.clone(),
        has_open_requests: false,
        started_at_ms: new.record.at_ms,
        ended_at_ms: None,
        end_shown: false,
        outline: None,
        chain_head: None,
        journal_expires_at_s: new.expires_at_s,
        status: if lease.is_some() { RunStatus::Running } else { RunStatus::Queued },
        session: spec.session.clone(),
        shared: spec.shared.clone(),
        user: spec.user.clone(),
        request: spec.request.clone(),
        body_hash: spec.body_hash.clone(),
        lease,
    }
}
