//! Expected files, promoted to files after the upload.

use std::collections::BTreeMap;

use djinn_core::file::ProductFile;
use djinn_runtime::port::file::numbered_names;
use djinn_runtime::port::file_url::{Folder, MAX_ANNOUNCED};
use djinn_runtime::port::{SessionKey, StoreError};
use futures::{StreamExt, TryStreamExt, stream};

use super::folder::{kind_prefix, object_key};
use super::{UPLOADED, no_free_name};
use crate::change::{ItemChange, text, values};
use crate::item::expected_file::ExpectedFileItem;
use crate::item::file::FileItem;
use crate::item::permits::uploads_key;
use crate::key::{Attributes, EXPECTED, session_partition};
use crate::object::ObjectHead;
use crate::query::Query;
use crate::store::AwsStore;
use crate::table::TableItem;
use crate::transaction::TransactionResult;

/// Maximum number of concurrent promotions.
const PROMOTED_AT_ONCE: usize = 10;

impl AwsStore {
    /// Returns the files among a session's items, and the expected files with complete uploads. Sorted by
    /// time of the last write, oldest first; expired files are left out.
    pub(crate) async fn resolve_files(
        &self,
        session: &SessionKey,
        items: Vec<Attributes>,
    ) -> Result<Vec<ProductFile>, StoreError> {
        let now_s = self.now_ms().div_euclid(1000);
        let mut files = Vec::new();
        let mut expected_files = Vec::new();
        for item in items {
            match TableItem::from_item(item)? {
                Some(TableItem::File(file)) if file.expires > now_s => files.push(file),
                Some(TableItem::ExpectedFile(file)) if file.expires > now_s => {
                    expected_files.push(file);
                }
                _ => {}
            }
        }
        let objects: Vec<&str> =
            expected_files.iter().map(|file| file.file.object.as_str()).collect();
        let heads = self.find_uploaded(session, &objects).await?;
        let uploads = expected_files.into_iter().filter_map(|file| {
            let head = heads.get(&file.file.object).filter(|head| head.size == file.file.size);
            head.map(|head| self.promote_upload(session, file, *head))
        });
        let uploads: Vec<_> =
            stream::iter(uploads).buffered(PROMOTED_AT_ONCE).try_collect().await?;
        for file in uploads.into_iter().flatten() {
            files.retain(|other| other.name != file.name);
            files.push(file);
        }
        files.sort_by(|a, b| (a.written_at_ms, &a.name).cmp(&(b.written_at_ms, &b.name)));
        Ok(files.into_iter().map(FileItem::into_file).collect())
    }

    /// Returns the existing objects of a session among `objects`, with their heads. A single object is looked
    /// up directly. Several are found by listing all objects since the first announcement, because names sort
    /// by time.
    pub(super) async fn find_uploaded(
        &self,
        session: &SessionKey,
        objects: &[&str],
    ) -> Result<BTreeMap<String, ObjectHead>, StoreError> {
        let Some(first) = objects.iter().min() else { return Ok(BTreeMap::new()) };
        let folder = Folder::from(session);
        let key = object_key(&folder, first)?;
        if objects.len() == 1 {
            let head = self.head_object(&key).await?;
            return Ok(head.map(|head| ((*first).to_owned(), head)).into_iter().collect());
        }
        // The listing is exclusive, so the start is the key without its last character.
        let before = key.get(..key.len() - 1);
        let prefix = kind_prefix(&folder, UPLOADED);
        let stored_objects = self.list_objects(&prefix, before).await?.into_iter();
        let uploads = stored_objects.filter_map(|(key, head)| {
            let object = format!("{UPLOADED}{}", key.strip_prefix(&prefix)?);
            objects.contains(&object.as_str()).then_some((object, head))
        });
        Ok(uploads.collect())
    }

    /// Expects an upload under the first available name. Returns false if the session has the maximum number
    /// of expected uploads.
    pub(super) async fn expect_upload(
        &self,
        session: &SessionKey,
        file_item: &mut ExpectedFileItem,
    ) -> Result<bool, StoreError> {
        let (uploads, permit, until_s) =
            (uploads_key(session), file_item.permit_name(), file_item.expires);
        let take = || self.acquire_permit(&uploads, &permit, MAX_ANNOUNCED, until_s);
        if !take().await? {
            // Promotes completed uploads, so that their permits become free.
            let waiting = Query::with_prefix(session_partition(session), EXPECTED);
            self.resolve_files(session, self.query_items(waiting).await?).await?;
            if !take().await? {
                return Ok(false);
            }
        }
        let now_s = self.now_ms().div_euclid(1000);
        let guest = file_item.file.guest.clone();
        let condition = ExpectedFileItem::replace_condition(guest.as_ref(), now_s);
        for name in numbered_names(&file_item.file.name.clone()) {
            let existing_file = self.get_item(FileItem::key(session, &name)).await?;
            let existing_file = existing_file.map(FileItem::from_item).transpose()?;
            file_item.file.name = name;
            if existing_file.is_none_or(|file| file.is_replaceable_by(guest.as_ref(), now_s))
                && self.put_item_if(file_item.to_item(session)?, &condition).await?
            {
                return Ok(true);
            }
        }
        Err(no_free_name(&file_item.file.name))
    }

    /// Promotes a completed upload to an ordinary file. If another user's file has taken the name meanwhile,
    /// the next free name is used.
    async fn promote_upload(
        &self,
        session: &SessionKey,
        file_item: ExpectedFileItem,
        head: ObjectHead,
    ) -> Result<Option<FileItem>, StoreError> {
        let permit = file_item.permit_name();
        let mut file = file_item.file;
        file.written_at_ms = file.written_at_ms.max(head.written_at_ms);
        file.expires = self.file_expiry(head.written_at_ms);
        let announced_name = file.name.clone();
        let forget = ItemChange {
            key: ExpectedFileItem::key(session, &announced_name),
            expression: "",
            condition: "#file.#object = :object",
            values: values([(":object", text(&file.object))]),
        };
        let now_s = self.now_ms().div_euclid(1000);
        let condition = FileItem::replace_condition(file.guest.as_ref(), now_s);
        let mut is_promoted = false;
        for name in numbered_names(&announced_name) {
            file.name = name;
            let put_item = self.transact_put_if(file.to_item(session)?, Some(&condition))?;
            let items = vec![self.transact_delete(forget.clone())?, put_item];
            match self.write_transaction(items).await? {
                TransactionResult::Done => is_promoted = true,
                // Another process promoted the upload, or a newer announcement replaced the old.
                TransactionResult::Refused(refusals) if refusals.of(0).is_some() => {}
                TransactionResult::Refused(_) => continue,
            }
            break;
        }
        if let Err(error) = self.release_permits(&uploads_key(session), vec![permit]).await {
            // The permit becomes free when the URL expires.
            tracing::warn!(%error, "an upload still counts that has arrived");
        }
        if is_promoted {
            return Ok(Some(file));
        }
        let existing_file = self.get_item(FileItem::key(session, &announced_name)).await?;
        existing_file.map(FileItem::from_item).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::tests::{clients_over, sent_requests};
    use crate::item::sample;
    use crate::replay::{Replay, response};
    use crate::settings::Settings;
    use djinn_core::id::{FileName, sha256_hex};

    const DAY_S: i64 = 24 * 60 * 60;

    /// A file of the year 2100 that has so many days left.
    fn file(name: &str, days_left: i64, store: &AwsStore) -> FileItem {
        FileItem {
            name: FileName::new(name).unwrap(),
            description: String::new(),
            size: 3,
            internal: false,
            media_type: "text/plain".into(),
            object: format!("uploads/{}", sha256_hex(name.as_bytes())),
            has_rows: None,
            uploaded: true,
            guest: None,
            written_at_ms: 4_102_444_800_000,
            expires: store.now_ms() / 1000 + days_left * DAY_S,
        }
    }

    fn store(http: &Replay) -> AwsStore {
        AwsStore::new(clients_over(Settings::new("t", "b"), http.clone()))
    }

    #[tokio::test]
    async fn a_file_whose_bytes_may_be_gone_is_none() {
        let http = Replay::new([]);
        let store = store(&http);
        let session = sample::session();
        let late = ExpectedFileItem { expires: 1, file: file("late.md", 1, &store) };
        let items = vec![
            file("old.md", -1, &store).to_item(&session).unwrap(),
            file("new.md", 1, &store).to_item(&session).unwrap(),
            late.to_item(&session).unwrap(),
        ];
        let files = store.resolve_files(&session, items).await.unwrap();
        let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["new.md"]);
    }

    #[tokio::test]
    async fn an_uploaded_file_expires_a_day_before_its_bytes() {
        let mut head = response(200, "");
        head.headers_mut().insert("content-length", "3");
        head.headers_mut().insert("last-modified", "Thu, 01 Jan 1970 00:00:00 GMT");
        let http = Replay::new([head, response(200, "{}"), response(200, "{}")]);
        let store = store(&http);
        let session = sample::session();
        let expected = ExpectedFileItem { expires: i64::MAX, file: file("a.md", 9_999, &store) };
        let items = vec![expected.to_item(&session).unwrap()];
        assert_eq!(store.resolve_files(&session, items).await.unwrap().len(), 1);
        let made = sent_requests(&http);
        let [_, put, _] = made.as_slice() else { panic!("{made:?}") };
        let expires = format!("\"expires\":{{\"N\":\"{}\"}}", 799 * DAY_S);
        assert!(put.contains(&expires), "{put}");
    }
}
