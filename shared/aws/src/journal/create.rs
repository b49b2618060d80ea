//! Creation of a run, in one transaction.

use aws_sdk_dynamodb::types::TransactWriteItem;
use djinn_core::id::RunId;
use djinn_core::input::{Input, RunSpec};
use djinn_core::journal::Record;
use djinn_core::status::RunStatus;
use djinn_runtime::port::admission::{Admission, AdmissionError};
use djinn_runtime::port::catalog::run_title;
use djinn_runtime::port::journal::{CreateResult, Journals, NewRun};
use djinn_runtime::port::{RunKey, SessionKey, StoreError, UserKey};

use crate::change::{ItemChange, number, text, values};
use crate::item::record::RecordItem;
use crate::item::request::RequestItem;
use crate::item::run::{RunItem, meta_expiry};
use crate::item::session::SessionItem;
use crate::item::user_run::UserRunItem;
use crate::item::user_session::UserSessionItem;
use crate::key::Attributes;
use crate::store::AwsStore;
use crate::transaction::{RefusedItems, TransactionResult};

/// Maximum number of attempts. Another attempt follows if the session's active run was stale or room was freed. The
/// maximum is 1 more than ever needed.
const STALE_RETRIES: usize = 3;

/// Positions in the transaction of items with a meaningful rejection.
const META: usize = 0;
const RECORD: usize = 1;
const ACTIVE: usize = 2;
/// Number of items before the counters.
const ADMISSION_INDEX: usize = 6;

/// The inputs of a run's creation.
struct Creation<'a> {
    key: &'a RunKey,
    run: &'a NewRun,
    spec: &'a RunSpec,
    session: SessionKey,
    record: RecordItem,
}

impl AwsStore {
    pub(super) async fn create_run(
        &self,
        key: &RunKey,
        run: &NewRun,
    ) -> Result<CreateResult, StoreError> {
        let spec = run_spec(&run.record)?;
        let record = self.record_item(key, &run.record, run.expires_at_s).await?;
        let session = SessionKey::of(spec);
        let creation = Creation { key, run, spec, session, record };
        let mut stale = None;
        for _ in 0..STALE_RETRIES {
            let items = self.creation_items(&creation, stale.as_ref())?;
            let refusals = match self.write_transaction(items).await? {
                TransactionResult::Done => return Ok(creation.created()),
                TransactionResult::Refused(refusals) => refusals,
            };
            match self.explain_refusal(&creation, &refusals).await? {
                CreationRefusal::Final(created) => return Ok(created),
                CreationRefusal::StaleSession(run) => stale = Some(run),
                CreationRefusal::RoomFreed => {}
            }
        }
        Err(StoreError::Unavailable(format!("{} keeps changing its active run", spec.session)))
    }

    fn creation_items(
        &self,
        creation: &Creation<'_>,
        stale: Option<&RunId>,
    ) -> Result<Vec<TransactWriteItem>, StoreError> {
        let Creation { key, spec, session, record, .. } = creation;
        if !key.is_root() {
            // Only the root run holds the session and appears in the user's lists.
            return Ok(vec![
                self.transact_create(creation.run_item().to_item(key)?)?,
                self.transact_create(record.to_item(key)?)?,
            ]);
        }
        let tenant = &key.tenant;
        let user = &spec.user;
        let expires = creation.expires_at_s();
        let request = RequestItem { session: spec.session_name(), expires };
        let admission_updates = self.admission_items(
            &creation.user_key(),
            &key.run,
            &creation.run.admission,
            record.at_ms,
        )?;
        let session_item = self.transact_update(ItemChange {
            key: UserSessionItem::key(tenant, spec.owner(), &spec.session),
            expression: "SET #session = :session, #title = if_not_exists(#title, :title), \
                    #newest_question = :title, \
                    #started_at_ms = if_not_exists(#started_at_ms, :now), \
                    #newest_at_ms = :now, #expires = :expires",
            condition: "",
            values: values([
                (":session", text(&spec.session)),
                (":title", text(&run_title(&spec.question))),
                (":now", number(&record.at_ms)),
                (":expires", number(&expires)),
            ]),
        })?;
        let creation_updates = [
            self.transact_create(creation.run_item().to_item(key)?)?,
            self.transact_create(record.to_item(key)?)?,
            self.transact_update(ItemChange {
                key: SessionItem::key(session),
                expression: "SET #active = :run, #expires = :expires",
                condition: "attribute_not_exists(#active) OR #active IN (:run, :stale)",
                values: values([
                    (":run", text(&key.run)),
                    (":stale", text(stale.unwrap_or(&key.run))),
                    (":expires", number(&expires)),
                ]),
            })?,
            self.transact_put(request.to_item(&creation.user_key(), &spec.request)?)?,
            self.transact_put(creation.user_run_item().to_item(tenant, user)?)?,
        ];
        Ok(creation_updates
            .into_iter()
            .chain((!spec.is_unlisted).then_some(session_item))
            .chain(admission_updates.minute)
            .chain(admission_updates.active)
            .collect())
    }

    async fn explain_refusal(
        &self,
        creation: &Creation<'_>,
        refusals: &RefusedItems,
    ) -> Result<CreationRefusal, StoreError> {
        if let Some(item) = refusals.of(META) {
            return creation.resolve_existing(item).map(CreationRefusal::Final);
        }
        if let Some(item) = refusals.of(ACTIVE) {
            let session = SessionItem::from_item(item.clone())?;
            let Some(active) = session.active else {
                return Err(StoreError::Unreadable("a session is busy with no run".to_owned()));
            };
            let key = RunKey::new(creation.key.tenant.clone(), active);
            // An ended run should have released the session. A stale entry must not lock the session forever.
            let is_over = self.find_meta(&key).await?.is_none_or(|meta| meta.status.has_ended());
            return Ok(if is_over {
                CreationRefusal::StaleSession(key.run)
            } else {
                CreationRefusal::Final(CreateResult::SessionBusy(key.run))
            });
        }
        if let Some((too_many, full)) = creation.exceeded_limit(refusals) {
            // A repeated creation returns the existing run, even if a limit is reached.
            if let Some(item) = self.get_item(RunItem::key(creation.key)).await? {
                return creation.resolve_existing(&item).map(CreationRefusal::Final);
            }
            let room = match full {
                Some(item) => self.free_ended_runs(&creation.user_key(), item).await?,
                None => false,
            };
            return Ok(if room {
                CreationRefusal::RoomFreed
            } else {
                CreationRefusal::Final(CreateResult::NotAdmitted(too_many))
            });
        }
        let what = if refusals.of(RECORD).is_some() { "a journal without a run" } else { "a run" };
        Err(StoreError::Unreadable(format!("{} meets {what}", creation.key)))
    }
}

/// The reason for a rejected creation.
enum CreationRefusal {
    /// The run exists, the session has another active run, or a limit is reached.
    Final(CreateResult),
    /// The session's active run has ended or does not exist.
    StaleSession(RunId),
    /// The user had too many active runs, and some stale entries were removed.
    RoomFreed,
}

impl Creation<'_> {
    fn expires_at_s(&self) -> i64 {
        meta_expiry(self.run.expires_at_s)
    }

    fn user_key(&self) -> UserKey {
        UserKey::of(self.spec)
    }

    /// Returns the exceeded limit; for the limit of active runs, also the stored item.
    fn exceeded_limit<'r>(
        &self,
        refusals: &'r RefusedItems,
    ) -> Option<(AdmissionError, Option<&'r Attributes>)> {
        let Admission { runs_per_minute, runs_at_once } = self.run.admission;
        let minute = runs_per_minute.and_then(|_| refusals.of(ADMISSION_INDEX));
        let place = ADMISSION_INDEX + usize::from(runs_per_minute.is_some());
        match (minute, runs_at_once, refusals.of(place)) {
            (Some(_), _, _) => Some((AdmissionError::rate_limited_at(self.record.at_ms), None)),
            (None, Some(most), Some(item)) => Some((AdmissionError::TooManyRuns(most), Some(item))),
            (None, _, _) => None,
        }
    }

    fn initial_status(&self) -> RunStatus {
        if self.run.lease.is_some() { RunStatus::Running } else { RunStatus::Queued }
    }

    fn run_item(&self) -> RunItem {
        let spec = self.spec;
        let lease = self.run.lease.as_ref();
        RunItem {
            status: self.initial_status(),
            mode: spec.settings.mode.clone(),
            session: spec.session.clone(),
            shared: spec.shared.clone(),
            user: spec.user.clone(),
            request: spec.request.clone(),
            body_hash: spec.body_hash.clone(),
            write: self.record.write.clone(),
            holder: lease.map(|lease| lease.holder.clone()),
            until_ms: lease.map(|lease| lease.until_ms),
            epoch: lease.map_or(0, |lease| lease.epoch),
            previous_holder: String::new(),
            has_open_requests: false,
            started_at_ms: self.record.at_ms,
            ended_at_ms: None,
            end_shown: false,
            outline: String::new(),
            records: None,
            hash: None,
            expires: self.expires_at_s(),
        }
    }

    fn user_run_item(&self) -> UserRunItem {
        UserRunItem {
            run: self.key.run.clone(),
            session: self.spec.session_name(),
            request: self.spec.request.clone(),
            title: run_title(&self.spec.question),
            status: self.initial_status(),
            started_at_ms: self.record.at_ms,
            ended_at_ms: None,
            expires: self.expires_at_s(),
        }
    }

    /// Returns the result for this creation, now or by an earlier write of the same record.
    fn created(&self) -> CreateResult {
        CreateResult::Created(self.record.hash.clone())
    }

    /// Returns the existing run: our own if an earlier write lost its response.
    fn resolve_existing(&self, item: &Attributes) -> Result<CreateResult, StoreError> {
        let run = RunItem::from_item(item.clone())?;
        Ok(if run.write == self.record.write {
            self.created()
        } else {
            CreateResult::Exists(Box::new(run.into_meta()))
        })
    }
}

/// Returns the run spec in a first record.
pub(crate) fn run_spec(record: &Record) -> Result<&RunSpec, StoreError> {
    match record.inputs.as_slice() {
        [Input::Started(spec), ..] => Ok(spec),
        _ => Err(StoreError::Unreadable("the first record holds no question".to_owned())),
    }
}
