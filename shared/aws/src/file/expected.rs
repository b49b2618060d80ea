//! Expected files: they become files once their bytes are there.

use djinn_core::file::ProductFile;
use djinn_runtime::port::StoreError;
use djinn_runtime::port::journal::SessionKey;
use futures::{StreamExt, TryStreamExt, stream};

use super::object_key;
use crate::change::{Change, text, values};
use crate::item::expected_file::ExpectedFileItem;
use crate::item::file::FileItem;
use crate::store::AwsStore;
use crate::table::{Attributes, Item};
use crate::transaction::Transacted;

/// Expected files that one listing looks for, the newest of them. An upload URL that nobody uses
/// costs every listing a request until it expires.
const LOOKED_FOR: usize = 50;

/// Objects that are looked for at once.
const AT_ONCE: usize = 10;

impl AwsStore {
    /// The files among these items of a session, and the expected ones whose bytes have arrived, in
    /// the order they were last written, oldest first. Those that have expired are none.
    pub(crate) async fn settled_files(
        &self,
        session: &SessionKey,
        items: Vec<Attributes>,
    ) -> Result<Vec<ProductFile>, StoreError> {
        let now_s = self.now_ms().div_euclid(1000);
        let (mut files, mut expected) = (Vec::new(), Vec::new());
        for item in items {
            match Item::from_item(item)? {
                Some(Item::File(file)) if file.expires > now_s => files.push(file),
                Some(Item::ExpectedFile(file)) if file.expires > now_s => expected.push(file),
                _ => {}
            }
        }
        expected.sort_by_key(|file| std::cmp::Reverse(file.file.written_at_ms));
        let looked_for =
            expected.into_iter().take(LOOKED_FOR).map(|file| self.arrived(session, file));
        let arrived: Vec<_> = stream::iter(looked_for).buffered(AT_ONCE).try_collect().await?;
        for file in arrived.into_iter().flatten() {
            files.retain(|known| known.name != file.name);
            files.push(file);
        }
        files.sort_by(|a, b| (a.written_at_ms, &a.name).cmp(&(b.written_at_ms, &b.name)));
        Ok(files.into_iter().map(FileItem::into_file).collect())
    }

    /// The file, if its bytes are there; it is an ordinary one from then on.
    async fn arrived(
        &self,
        session: &SessionKey,
        expected: ExpectedFileItem,
    ) -> Result<Option<FileItem>, StoreError> {
        let mut file = expected.file;
        let head = match self.head_object(&object_key(session, &file.object)?).await? {
            Some(head) if head.size == file.size => head,
            _ => return Ok(None),
        };
        file.written_at_ms = file.written_at_ms.max(head.written_at_ms);
        file.expires = self.file_expiry(head.written_at_ms);
        let forget = Change {
            key: ExpectedFileItem::key(session, &file.name),
            expression: "",
            condition: "#file.#object = :object",
            values: values([(":object", text(&file.object))]),
        };
        let items = vec![self.delete(forget)?, self.put_any(file.to_item(session)?)?];
        match self.transact(items).await? {
            Transacted::Done => Ok(Some(file)),
            // Somebody else saw it arrive, or it was announced anew.
            Transacted::Refused(_) => {
                let stored = self.get(FileItem::key(session, &file.name)).await?;
                stored.map(FileItem::from_item).transpose()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::tests::{made, over};
    use crate::item::sample;
    use crate::replay::{Replay, response};
    use crate::settings::Settings;
    use djinn_core::id::{FileName, sha256};

    const DAY_S: i64 = 24 * 60 * 60;

    /// A file of the year 2100 that has so many days left.
    fn file(name: &str, days_left: i64, store: &AwsStore) -> FileItem {
        FileItem {
            name: FileName::new(name).unwrap(),
            description: String::new(),
            size: 3,
            internal: false,
            media_type: "text/plain".into(),
            object: format!("uploads/{}", sha256(name.as_bytes())),
            has_rows: None,
            written_at_ms: 4_102_444_800_000,
            expires: store.now_ms() / 1000 + days_left * DAY_S,
        }
    }

    fn store(http: &Replay) -> AwsStore {
        AwsStore::new(over(Settings::new("t", "b"), http.clone()))
    }

    #[tokio::test]
    async fn a_file_whose_bytes_may_be_gone_is_none() {
        let http = Replay::new([]);
        let (store, session) = (store(&http), sample::session());
        let late = ExpectedFileItem { expires: 1, file: file("late.md", 1, &store) };
        let items = vec![
            file("old.md", -1, &store).to_item(&session).unwrap(),
            file("new.md", 1, &store).to_item(&session).unwrap(),
            late.to_item(&session).unwrap(),
        ];
        let files = store.settled_files(&session, items).await.unwrap();
        let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["new.md"]);
    }

    #[tokio::test]
    async fn an_uploaded_file_expires_a_day_before_its_bytes() {
        let mut head = response(200, "");
        head.headers_mut().insert("content-length", "3");
        head.headers_mut().insert("last-modified", "Thu, 01 Jan 1970 00:00:00 GMT");
        let http = Replay::new([head, response(200, "{}")]);
        let (store, session) = (store(&http), sample::session());
        let expected = ExpectedFileItem { expires: i64::MAX, file: file("a.md", 9_999, &store) };
        let items = vec![expected.to_item(&session).unwrap()];
        assert_eq!(store.settled_files(&session, items).await.unwrap().len(), 1);
        let put = made(&http).pop().unwrap();
        let expires = format!("\"expires\":{{\"N\":\"{}\"}}", 799 * DAY_S);
        assert!(put.contains(&expires), "{put}");
    }
}
