//! Checks of writing, finding and reading a session's files.

use djinn_core::file::ProductFile;
use djinn_core::id::{FileName, TenantId, UserId};
use djinn_runtime::port::file::NewFile;
use djinn_runtime::port::{SessionKey, Store, StoreError};

use super::Checked;
use super::fixture::{new_file, session_of, text_of};

/// A file of any name is found by name and read byte by byte.
pub async fn a_file_is_found_and_read_as_it_was_written(store: &impl Store) -> Checked {
    let session = session_of("s")?;
    let bytes = text_of(300_000).into_bytes();
    for name in ["growth.md", "金价 报告 (1)#2.html", "100%.csv", "-rf"] {
        let new = new_file(name)?;
        assert_eq!(store.find_file(&session, &new.name).await?, None);
        let entry = store.write_file(&session, &new, &bytes).await?;
        assert_eq!((&entry.name, &entry.description), (&new.name, &new.description));
        assert_eq!((entry.size, entry.internal), (bytes.len() as u64, new.internal));
        assert_eq!(entry.media_type, new.media_type);
        assert_eq!(store.find_file(&session, &new.name).await?.as_ref(), Some(&entry));
        assert!(store.read_file(&session, &entry, u64::MAX).await? == bytes);
        // A repeated write changes nothing.
        assert_eq!(store.write_file(&session, &new, &bytes).await?, entry);
    }
    let empty = store.write_file(&session, &new_file("empty")?, b"").await?;
    assert_eq!(empty.size, 0);
    assert!(store.read_file(&session, &empty, 10).await?.is_empty());
    Ok(())
}

/// The newest content is found; older content stays readable by the earlier `ProductFile`.
pub async fn a_file_is_replaced_by_one_of_its_name(store: &impl Store) -> Checked {
    let session = session_of("s")?;
    let old = store.write_file(&session, &new_file("a.md")?, b"old").await?;
    let mut new = new_file("a.md")?;
    new.internal = true;
    let new = store.write_file(&session, &new, b"newer").await?;
    assert_ne!(old.object, new.object);
    assert_eq!(store.find_file(&session, &old.name).await?.as_ref(), Some(&new));
    assert_eq!(store.read_file(&session, &new, 99).await?, b"newer");
    assert_eq!(store.read_file(&session, &old, 99).await?, b"old");
    assert_eq!(store.load_session(&session).await?.files, [new]);
    Ok(())
}

/// The owner and each guest replace only their own files, in any order.
pub async fn a_file_of_another_writer_is_kept(store: &impl Store) -> Checked {
    let session = session_of("s")?;
    let by = |writer: &str| -> Result<_, Box<dyn std::error::Error + Send + Sync>> {
        Ok(NewFile { writer: UserId::new(writer)?, ..new_file("a.md")? })
    };
    let bob = by("bob")?;
    let carl = by("carl")?;
    let owner = by(session.owner.as_str())?;
    let mut contents = Vec::new();
    for (file, name) in
        [(&owner, "a.md"), (&bob, "a (2).md"), (&carl, "a (3).md"), (&bob, "a (2).md")]
    {
        let bytes = format!("by {}, {}", file.writer, contents.len());
        let entry = store.write_file(&session, file, bytes.as_bytes()).await?;
        assert_eq!(entry.name.as_str(), name);
        assert_eq!(store.find_file(&session, &entry.name).await?.as_ref(), Some(&entry));
        contents.retain(|(earlier, _)| earlier != name);
        contents.push((name.to_owned(), bytes));
    }
    let bob = NewFile { name: FileName::new("b.md")?, ..bob };
    let first = store.write_file(&session, &bob, b"b").await?;
    contents.push((first.name.to_string(), "b".to_owned()));
    let owner = NewFile { name: FileName::new("b.md")?, ..owner };
    for bytes in ["o", "owner"] {
        let own = store.write_file(&session, &owner, bytes.as_bytes()).await?;
        assert_eq!(own.name.as_str(), "b (2).md");
    }
    contents.push(("b (2).md".to_owned(), "owner".to_owned()));
    let mut files = Vec::new();
    for file in store.list_files(&session).await? {
        let bytes = store.read_file(&session, &file, u64::MAX).await?;
        files.push((file.name.to_string(), String::from_utf8(bytes)?));
    }
    files.sort();
    contents.sort();
    assert_eq!(files, contents);
    Ok(())
}

/// A read with a limit returns the beginning of the file.
pub async fn a_file_is_read_up_to_a_limit(store: &impl Store) -> Checked {
    let session = session_of("s")?;
    let file = store.write_file(&session, &new_file("a.md")?, b"0123456789").await?;
    for (limit, content) in [(0, ""), (1, "0"), (4, "0123"), (10, "0123456789"), (11, "0123456789")]
    {
        assert_eq!(store.read_file(&session, &file, limit).await?, content.as_bytes(), "{limit}");
    }
    Ok(())
}

/// The file written last is listed last.
pub async fn files_are_listed_in_the_order_they_were_written(store: &impl Store) -> Checked {
    let session = session_of("s")?;
    for name in ["b.md", "c.md", "a.md"] {
        store.write_file(&session, &new_file(name)?, name.as_bytes()).await?;
        // The order has a resolution of one millisecond.
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    store.write_file(&session, &new_file("c.md")?, b"again").await?;
    let files = store.load_session(&session).await?.files;
    let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["b.md", "a.md", "c.md"]);
    assert_eq!(store.list_files(&session).await?, files);
    Ok(())
}

/// Files are separate for each session, owner and tenant.
pub async fn files_belong_to_their_session_its_owner_and_tenant(store: &impl Store) -> Checked {
    let ours = session_of("s")?;
    let theirs = SessionKey { tenant: TenantId::new("t2")?, ..ours.clone() };
    let file = store.write_file(&ours, &new_file("a.md")?, b"secret").await?;
    let bobs = SessionKey { owner: UserId::new("bob")?, ..ours.clone() };
    for other in [session_of("..")?, theirs, bobs] {
        assert_eq!(store.find_file(&other, &file.name).await?, None);
        assert!(store.load_session(&other).await?.files.is_empty());
        assert!(store.list_files(&other).await?.is_empty());
        let outcome = store.read_file(&other, &file, 9).await;
        assert!(matches!(outcome, Err(StoreError::Unreadable(_))), "{outcome:?}");
    }
    for object in ["", "files/../x", "files/", "x", file.object.trim_start_matches("files/")] {
        let forgery = ProductFile { object: object.to_owned(), ..file.clone() };
        let outcome = store.read_file(&ours, &forgery, 9).await;
        assert!(matches!(outcome, Err(StoreError::Unreadable(_))), "{object}: {outcome:?}");
    }
    Ok(())
}

/// The files shown to a new run are limited.
pub async fn a_view_holds_the_newest_two_hundred_files(store: &impl Store) -> Checked {
    let session = session_of("s")?;
    for n in 0..203 {
        store.write_file(&session, &new_file(&format!("{n:03}.md"))?, b"x").await?;
    }
    let files = store.load_session(&session).await?.files;
    assert_eq!(files.len(), 200);
    let last = files.last().ok_or("no files")?;
    assert_eq!(last.name.as_str(), "202.md");
    assert_eq!(store.list_files(&session).await?.len(), 203);
    Ok(())
}
