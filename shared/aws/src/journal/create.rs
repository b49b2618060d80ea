//! Creating a run: one transaction.

use aws_sdk_dynamodb::types::TransactWriteItem;
use djinn_core::id::RunId;
use djinn_core::input::{Asked, Input};
use djinn_core::journal::Record;
use djinn_core::status::RunStatus;
use djinn_runtime::port::admission::{Admission, TooMany};
use djinn_runtime::port::catalog::{UserKey, title_of};
use djinn_runtime::port::journal::{Created, Journals, NewRun, SessionKey};
use djinn_runtime::port::{RunKey, StoreError};

use super::meta_expiry;
use crate::change::{Change, number, text, values};
use crate::item::record::RecordItem;
use crate::item::request::RequestItem;
use crate::item::run::RunItem;
use crate::item::session::SessionItem;
use crate::item::user_run::UserRunItem;
use crate::item::user_session::UserSessionItem;
use crate::store::AwsStore;
use crate::table::Attributes;
use crate::transaction::{Refusals, Transacted};

/// How many ended runs in a row may turn out to hold the session. One more than ever should.
const STALE_RETRIES: usize = 3;

/// The places in the transaction of the items whose refusal tells something.
const META: usize = 0;
const RECORD: usize = 1;
const ACTIVE: usize = 2;
/// How many items there are before those that count the run.
const UNCOUNTED: usize = 6;

/// A run that is being created.
struct Creation<'a> {
    key: &'a RunKey,
    run: &'a NewRun,
    asked: &'a Asked,
    session: SessionKey,
    record: RecordItem,
}

impl AwsStore {
    pub(super) async fn create_run(
        &self,
        key: &RunKey,
        run: &NewRun,
    ) -> Result<Created, StoreError> {
        let asked = asked(&run.record)?;
        let record = self.record_item(key, &run.record, run.expires_at_s).await?;
        let session = SessionKey::of(asked);
        let creation = Creation { key, run, asked, session, record };
        let mut stale = None;
        for _ in 0..STALE_RETRIES {
            let items = self.creation_items(&creation, stale.as_ref())?;
            let refusals = match self.transact(items).await? {
                Transacted::Done => return Ok(Created::New),
                Transacted::Refused(refusals) => refusals,
            };
            match self.why_refused(&creation, &refusals).await? {
                Refused::As(created) => return Ok(created),
                Refused::ByEndedRun(run) => stale = Some(run),
                Refused::ForLackOfRoomThatIsThere => {}
            }
        }
        Err(StoreError::Unavailable(format!("{} keeps changing its active run", asked.session)))
    }

    fn creation_items(
        &self,
        creation: &Creation<'_>,
        stale: Option<&RunId>,
    ) -> Result<Vec<TransactWriteItem>, StoreError> {
        let Creation { key, asked, session, record, .. } = creation;
        if key.task.is_some() {
            // Its run holds the session, and is what its user's lists show.
            return Ok(vec![
                self.put_new(creation.run_item().to_item(key)?)?,
                self.put_new(record.to_item(key)?)?,
            ]);
        }
        let (tenant, user) = (&key.tenant, &asked.user);
        let expires = creation.expires();
        let request = RequestItem { session: asked.session_name(), expires };
        let counted =
            self.counted(&creation.user(), &key.run, &creation.run.admission, record.at_ms)?;
        let uncounted = [
            self.put_new(creation.run_item().to_item(key)?)?,
            self.put_new(record.to_item(key)?)?,
            self.update(Change {
                key: SessionItem::key(session),
                expression: "SET #active = :run, #expires = :expires",
                condition: "attribute_not_exists(#active) OR #active IN (:run, :stale)",
                values: values([
                    (":run", text(&key.run)),
                    (":stale", text(stale.unwrap_or(&key.run))),
                    (":expires", number(&expires)),
                ]),
            })?,
            self.put_any(request.to_item(&creation.user(), &asked.request)?)?,
            self.put_any(creation.user_run_item().to_item(tenant, user)?)?,
            self.update(Change {
                key: UserSessionItem::key(tenant, asked.owner(), &asked.session),
                expression: "SET #session = :session, #title = if_not_exists(#title, :title), \
                    #started_at_ms = if_not_exists(#started_at_ms, :now), \
                    #newest_at_ms = :now, #expires = :expires",
                condition: "",
                values: values([
                    (":session", text(&asked.session)),
                    (":title", text(&title_of(&asked.question))),
                    (":now", number(&record.at_ms)),
                    (":expires", number(&expires)),
                ]),
            })?,
        ];
        Ok(uncounted.into_iter().chain(counted.minute).chain(counted.active).collect())
    }

    async fn why_refused(
        &self,
        creation: &Creation<'_>,
        refusals: &Refusals,
    ) -> Result<Refused, StoreError> {
        if let Some(stored) = refusals.of(META) {
            return creation.existing(stored).map(Refused::As);
        }
        if let Some(stored) = refusals.of(ACTIVE) {
            let stored = SessionItem::from_item(stored.clone())?;
            let Some(active) = stored.active else {
                return Err(StoreError::Unreadable("a session is busy with no run".to_owned()));
            };
            let key = RunKey::new(creation.key.tenant.clone(), active);
            // It should be free then; whatever kept it, the session must not be locked for ever.
            let is_over = self.meta(&key).await?.is_none_or(|meta| meta.status.has_ended());
            return Ok(match is_over {
                true => Refused::ByEndedRun(key.run),
                false => Refused::As(Created::SessionBusy(key.run)),
            });
        }
        if let Some((too_many, full)) = creation.too_many(refusals) {
            // Its own repeat is refused for nothing else, whatever else is full.
            if let Some(stored) = self.get(RunItem::key(creation.key)).await? {
                return creation.existing(&stored).map(Refused::As);
            }
            let room = match full {
                Some(stored) => self.room_among(&creation.user(), stored).await?,
                None => false,
            };
            return Ok(match room {
                true => Refused::ForLackOfRoomThatIsThere,
                false => Refused::As(Created::TooMany(too_many)),
            });
        }
        let what = if refusals.of(RECORD).is_some() { "a journal without a run" } else { "a run" };
        Err(StoreError::Unreadable(format!("{} meets {what}", creation.key)))
    }
}

/// Why a run was not created.
enum Refused {
    /// It exists, or the session answers another one.
    As(Created),
    /// The session says that it answers this run, which has ended or does not exist.
    ByEndedRun(RunId),
    /// The user's runs at work were too many, and some of them are over.
    ForLackOfRoomThatIsThere,
}

impl Creation<'_> {
    fn expires(&self) -> i64 {
        meta_expiry(self.run.expires_at_s)
    }

    fn user(&self) -> UserKey {
        UserKey::of(self.asked)
    }

    /// What there is too much of, and what is stored of the runs at work if it is these.
    fn too_many<'r>(&self, refusals: &'r Refusals) -> Option<(TooMany, Option<&'r Attributes>)> {
        let Admission { runs_per_minute, runs_at_once } = self.run.admission;
        let minute = runs_per_minute.and_then(|_| refusals.of(UNCOUNTED));
        let place = UNCOUNTED + usize::from(runs_per_minute.is_some());
        match (minute, runs_at_once, refusals.of(place)) {
            (Some(_), _, _) => Some((TooMany::started(self.record.at_ms), None)),
            (None, Some(most), Some(stored)) => Some((TooMany::AtWork(most), Some(stored))),
            (None, _, _) => None,
        }
    }

    fn status(&self) -> RunStatus {
        if self.run.lease.is_some() { RunStatus::Running } else { RunStatus::Queued }
    }

    fn run_item(&self) -> RunItem {
        let (asked, lease) = (self.asked, self.run.lease.as_ref());
        RunItem {
            status: self.status(),
            mode: asked.settings.mode,
            session: asked.session.clone(),
            shared: asked.shared.clone(),
            user: asked.user.clone(),
            request: asked.request.clone(),
            body_hash: asked.body_hash.clone(),
            write: self.record.write.clone(),
            holder: lease.map(|lease| lease.holder.clone()),
            until_ms: lease.map(|lease| lease.until_ms),
            epoch: lease.map_or(0, |lease| lease.epoch),
            taken_from: String::new(),
            watched_until_ms: 0,
            started_at_ms: self.record.at_ms,
            ended_at_ms: None,
            end_shown: false,
            outline: String::new(),
            expires: self.expires(),
        }
    }

    fn user_run_item(&self) -> UserRunItem {
        UserRunItem {
            run: self.key.run.clone(),
            session: self.asked.session_name(),
            request: self.asked.request.clone(),
            title: title_of(&self.asked.question),
            status: self.status(),
            started_at_ms: self.record.at_ms,
            ended_at_ms: None,
            expires: self.expires(),
        }
    }

    /// The run that is there: ours, if an earlier write of it lost its reply.
    fn existing(&self, stored: &Attributes) -> Result<Created, StoreError> {
        let stored = RunItem::from_item(stored.clone())?;
        Ok(match stored.write == self.record.write {
            true => Created::New,
            false => Created::Exists(Box::new(stored.into_meta())),
        })
    }
}

/// The question of a first record.
pub(crate) fn asked(record: &Record) -> Result<&Asked, StoreError> {
    match record.inputs.as_slice() {
        [Input::Asked(asked), ..] => Ok(asked),
        _ => Err(StoreError::Unreadable("the first record holds no question".to_owned())),
    }
}
