//! Records of runs, as stored.

use djinn_core::effect::Delivery;
use djinn_core::input::Input;
use djinn_core::journal::{FORMAT, Record, RecordText};
use djinn_runtime::port::journal::AppendResult;
use djinn_runtime::port::page::{Page, PageSize};
use djinn_runtime::port::{RunKey, StoreError};

use super::State;

impl State {
    pub(super) fn append(
        &mut self,
        key: &RunKey,
        record: &Record,
    ) -> Result<AppendResult, StoreError> {
        let records = &mut self.runs.entry(key.clone()).or_default().records;
        if let Some(entry) = records.get(&record.number) {
            return Ok(if entry.write == record.write {
                AppendResult::Appended(entry.hash.clone())
            } else {
                AppendResult::Conflict
            });
        }
        let text = encode(key, record)?;
        let hash = text.hash.clone();
        records.insert(record.number, text);
        Ok(AppendResult::Appended(hash))
    }

    pub(super) fn lose_record(&mut self, key: &RunKey, n: u64) {
        if let Some(record) = self.runs.get_mut(key).and_then(|run| run.records.get_mut(&n)) {
            record.body.clear();
        }
    }

    pub(super) fn read(&self, key: &RunKey, from: u64) -> Result<Vec<Record>, StoreError> {
        let records = self.runs.get(key).into_iter().flat_map(|run| run.records.range(from..));
        records.map(|(_, text)| decode(text)).collect()
    }

    pub(super) fn read_page(
        &self,
        key: &RunKey,
        from: u64,
        size: PageSize,
    ) -> Result<Page, StoreError> {
        let page = self.read_texts(key, from, size)?;
        let records = page.records.iter().map(decode).collect::<Result<_, _>>()?;
        Ok(Page { records, bytes: page.bytes, has_more: page.has_more })
    }

    pub(super) fn read_texts(
        &self,
        key: &RunKey,
        from: u64,
        size: PageSize,
    ) -> Result<Page<RecordText>, StoreError> {
        let mut page = Page::default();
        for (_, text) in self.runs.get(key).into_iter().flat_map(|run| run.records.range(from..)) {
            let bytes = page.bytes.saturating_add(text.total_bytes());
            let has_some = !page.records.is_empty();
            if page.records.len() >= size.records || (has_some && bytes > size.bytes) {
                page.has_more = true;
                break;
            }
            check_format(text)?;
            page.bytes = bytes;
            page.records.push(text.clone());
        }
        Ok(page)
    }

    pub(super) fn expire_records(&mut self, key: &RunKey, expired: impl Fn(u64) -> bool) {
        if let Some(run) = self.runs.get_mut(key) {
            run.records.retain(|n, _| !expired(*n));
        }
    }

    pub(super) fn add_deliveries(&mut self, key: &RunKey, count: u64) {
        let Some(run) = self.runs.get_mut(key) else { return };
        for _ in 0..count {
            let newest = run.records.values().next_back();
            let newest = newest.and_then(|text| decode(text).ok());
            let Some(mut record) = newest else { return };
            record.number += 1;
            record.previous = record.hash.take().unwrap_or_default();
            record.entries.clear();
            record.inputs = vec![Input::Delivered { delivery: Delivery::AlarmRemoval }];
            let Ok(text) = encode(key, &record) else { return };
            run.records.insert(record.number, text);
        }
    }
}

pub(super) fn encode(key: &RunKey, record: &Record) -> Result<RecordText, StoreError> {
    RecordText::encode(record, &key.to_string())
        .map_err(|error| StoreError::Unreadable(error.to_string()))
}

fn decode(text: &RecordText) -> Result<Record, StoreError> {
    check_format(text)?;
    text.decode().map_err(|error| StoreError::Unreadable(error.to_string()))
}

fn check_format(text: &RecordText) -> Result<(), StoreError> {
    if text.format > FORMAT { Err(StoreError::NewerFormat(text.format)) } else { Ok(()) }
}
