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
    /// the order they were last written, oldest first.
    pub(crate) async fn settled_files(
        &self,
        session: &SessionKey,
        items: Vec<Attributes>,
    ) -> Result<Vec<ProductFile>, StoreError> {
        let (mut files, mut expected) = (Vec::new(), Vec::new());
        for item in items {
            match Item::from_item(item)? {
                Some(Item::File(file)) => files.push(file),
                Some(Item::ExpectedFile(file)) => expected.push(file),
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
