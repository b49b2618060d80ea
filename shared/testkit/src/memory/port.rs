//! The ports of the store; each operation is one step on the state.

use djinn_core::file::ProductFile;
use djinn_core::id::{FileName, RunId, SessionName};
use djinn_core::journal::{Record, RecordText};
use djinn_core::status::RunStatus;
use djinn_core::tool::ToolState;
use djinn_protocol::preview::Live;
use djinn_runtime::port::file::{Files, NewFile};
use djinn_runtime::port::journal::{
    AppendResult, CreateResult, Journals, Lease, NewRun, RunEnd, RunMeta, SessionView,
};
use djinn_runtime::port::lease::{LeaseAcquisition, LeaseNote, LeaseRenewal, Leases};
use djinn_runtime::port::live::{LiveFrom, LiveLog};
use djinn_runtime::port::mailbox::{Mail, Mailbox, MailboxContents};
use djinn_runtime::port::page::{Page, PageSize};
use djinn_runtime::port::{RunKey, SessionKey, StoreError, UserKey};

use super::{MemoryStore, OpKind, check_item_size};

impl Journals for MemoryStore {
    async fn create(&self, key: &RunKey, run: &NewRun) -> Result<CreateResult, StoreError> {
        let record = Some(run.record.number);
        self.perform(OpKind::Create, Some(key), record, |state| state.create(key, run)).await
    }

    async fn append(
        &self,
        key: &RunKey,
        record: &Record,
        _expires_at_s: i64,
    ) -> Result<AppendResult, StoreError> {
        let n = Some(record.number);
        self.perform(OpKind::Append, Some(key), n, |state| state.append(key, record)).await
    }

    async fn append_end(
        &self,
        key: &RunKey,
        record: &Record,
        end: &RunEnd,
        expires_at_s: i64,
    ) -> Result<AppendResult, StoreError> {
        let n = Some(record.number);
        self.perform(OpKind::End, Some(key), n, |state| state.end(key, record, end, expires_at_s))
            .await
    }

    async fn abandon_run(&self, key: &RunKey, at_ms: i64) -> Result<(), StoreError> {
        self.perform(OpKind::GiveUp, Some(key), None, |state| {
            state.give_up(key, at_ms);
            Ok(())
        })
        .await
    }

    async fn mark_end_shown(&self, key: &RunKey) -> Result<(), StoreError> {
        self.perform(OpKind::NoteEndShown, Some(key), None, |state| {
            state.note_end_shown(key);
            Ok(())
        })
        .await
    }

    async fn read_from(&self, key: &RunKey, from: u64) -> Result<Vec<Record>, StoreError> {
        let records = self
            .perform(OpKind::Read, Some(key), Some(from), |state| state.read(key, from))
            .await?;
        self.log_record_reads(key, records.iter().map(|record| record.number));
        Ok(records)
    }

    async fn read_page(&self, key: &RunKey, from: u64, size: PageSize) -> Result<Page, StoreError> {
        let page = self
            .perform(OpKind::Read, Some(key), Some(from), |state| state.read_page(key, from, size))
            .await?;
        self.log_record_reads(key, page.records.iter().map(|record| record.number));
        Ok(page)
    }

    async fn read_texts(
        &self,
        key: &RunKey,
        from: u64,
        size: PageSize,
    ) -> Result<Page<RecordText>, StoreError> {
        let page = self
            .perform(OpKind::Read, Some(key), Some(from), |state| state.read_texts(key, from, size))
            .await?;
        self.log_record_reads(key, page.records.iter().map(|text| text.number));
        Ok(page)
    }

    async fn read_newest(&self, key: &RunKey, records: usize) -> Result<Vec<Record>, StoreError> {
        let newest: Vec<Record> = self
            .perform(OpKind::Read, Some(key), None, |state| {
                let all = state.read(key, 0)?;
                Ok(all.into_iter().rev().take(records).collect())
            })
            .await?;
        self.log_record_reads(key, newest.iter().map(|record| record.number));
        Ok(newest)
    }

    async fn find_meta(&self, key: &RunKey) -> Result<Option<RunMeta>, StoreError> {
        self.perform(OpKind::Meta, Some(key), None, |state| Ok(state.meta(key))).await
    }

    async fn load_session(&self, key: &SessionKey) -> Result<SessionView, StoreError> {
        self.perform(OpKind::Session, None, None, |state| state.session(key)).await
    }

    async fn find_active_run(&self, key: &SessionKey) -> Result<Option<RunId>, StoreError> {
        self.perform(OpKind::Active, None, None, |state| Ok(state.active(key))).await
    }

    async fn find_session_name(
        &self,
        user: &UserKey,
        label: &str,
    ) -> Result<Option<SessionName>, StoreError> {
        self.perform(OpKind::SessionOf, None, None, |state| Ok(state.session_of(user, label))).await
    }
}

impl Leases for MemoryStore {
    async fn take_lease(
        &self,
        key: &RunKey,
        holder: &str,
        now_ms: i64,
        until_ms: i64,
    ) -> Result<LeaseAcquisition, StoreError> {
        self.perform(OpKind::TakeLease, Some(key), None, |state| {
            check_item_size(holder.len())?;
            Ok(state.take_lease(key, holder, now_ms, until_ms))
        })
        .await
    }

    async fn renew_lease(
        &self,
        key: &RunKey,
        lease: &Lease,
        until_ms: i64,
        has_open_requests: bool,
    ) -> Result<LeaseRenewal, StoreError> {
        self.perform(OpKind::RenewLease, Some(key), None, |state| {
            Ok(state.renew_lease(key, lease, until_ms, has_open_requests))
        })
        .await
    }

    async fn release_lease(
        &self,
        key: &RunKey,
        lease: &Lease,
        status: RunStatus,
        note: Option<LeaseNote<'_>>,
    ) -> Result<(), StoreError> {
        self.perform(OpKind::ReleaseLease, Some(key), None, |state| {
            state.release_lease(key, lease, status, note);
            Ok(())
        })
        .await
    }
}

impl Mailbox for MemoryStore {
    async fn put_mail(
        &self,
        key: &RunKey,
        mail: &Mail,
        _expires_at_s: i64,
    ) -> Result<(), StoreError> {
        self.perform(OpKind::PutMail, Some(key), None, |state| state.put_mail(key, mail)).await
    }

    async fn read_mailbox(&self, key: &RunKey) -> Result<MailboxContents, StoreError> {
        self.perform(OpKind::Mail, Some(key), None, |state| state.mailbox(key)).await
    }

    async fn delete_mail(&self, key: &RunKey, ids: &[String]) -> Result<(), StoreError> {
        self.perform(OpKind::DeleteMail, Some(key), None, |state| {
            state.delete_mail(key, ids);
            Ok(())
        })
        .await
    }
}

impl LiveLog for MemoryStore {
    async fn write_live(
        &self,
        key: &RunKey,
        writer: &str,
        at_ms: i64,
        pieces: &[Live],
    ) -> Result<(), StoreError> {
        self.perform(OpKind::WriteLive, Some(key), None, |state| {
            state.write_live(key, writer, at_ms, pieces)
        })
        .await
    }

    async fn read_live(
        &self,
        key: &RunKey,
        from: &LiveFrom,
    ) -> Result<(Vec<Live>, LiveFrom), StoreError> {
        self.perform(OpKind::ReadLive, Some(key), None, |state| Ok(state.read_live(key, from)))
            .await
    }

    async fn mark_watched(&self, key: &RunKey, until_ms: i64) -> Result<(), StoreError> {
        self.perform(OpKind::Watch, Some(key), None, |state| {
            state.watch(key, until_ms);
            Ok(())
        })
        .await
    }
}

impl Files for MemoryStore {
    async fn write_file(
        &self,
        session: &SessionKey,
        file: &NewFile,
        bytes: &[u8],
    ) -> Result<ProductFile, StoreError> {
        self.perform(OpKind::WriteFile, None, None, |state| {
            check_item_size(file.description.len())?;
            state.write_file(session, file, bytes)
        })
        .await
    }

    async fn find_file(
        &self,
        session: &SessionKey,
        name: &FileName,
    ) -> Result<Option<ProductFile>, StoreError> {
        self.perform(OpKind::FindFile, None, None, |state| Ok(state.find_file(session, name))).await
    }

    async fn find_arrived(
        &self,
        session: &SessionKey,
        announced: &[ProductFile],
    ) -> Result<Vec<ProductFile>, StoreError> {
        self.perform(OpKind::Arrived, None, None, |state| {
            let is_there = |file: &&ProductFile| {
                let entry = state.find_file(session, &file.name);
                entry.is_some_and(|entry| entry.object == file.object)
            };
            Ok(announced.iter().filter(is_there).cloned().collect())
        })
        .await
    }

    async fn list_files(&self, session: &SessionKey) -> Result<Vec<ProductFile>, StoreError> {
        self.perform(OpKind::ListFiles, None, None, |state| Ok(state.list_files(session))).await
    }

    async fn read_file(
        &self,
        session: &SessionKey,
        file: &ProductFile,
        limit: u64,
    ) -> Result<Vec<u8>, StoreError> {
        let object = &file.object;
        self.perform(OpKind::ReadFile, None, None, |state| state.read_bytes(session, object, limit))
            .await
    }

    async fn write_state(
        &self,
        session: &SessionKey,
        bytes: &[u8],
    ) -> Result<ToolState, StoreError> {
        self.perform(OpKind::WriteFile, None, None, |state| Ok(state.write_state(session, bytes)))
            .await
    }

    async fn read_state(
        &self,
        session: &SessionKey,
        state: &ToolState,
    ) -> Result<Vec<u8>, StoreError> {
        let object = &state.object;
        self.perform(OpKind::ReadFile, None, None, |store| {
            store.read_bytes(session, object, u64::MAX)
        })
        .await
    }
}
