//! Checks of the mailboxes, which keep mail until it is deleted.

use djinn_core::file::ProductFile;
use djinn_core::id::{FileName, UserId};
use djinn_runtime::port::Store;
use djinn_runtime::port::mailbox::{Mail, MailboxContents};

use super::Checked;
use super::fixture::{EXPIRY, RunFixture, read_written};

fn file_added(id: &str) -> Result<Mail, djinn_core::id::BadId> {
    let file = ProductFile {
        name: FileName::new("金价 报告.html")?,
        description: "gold".to_owned(),
        size: 3,
        internal: false,
        media_type: "text/html".to_owned(),
        object: "files/x".to_owned(),
        has_rows: None,
        uploaded: false,
    };
    Ok(Mail::FileAdded { id: id.to_owned(), file })
}

/// Putting and deleting mail are idempotent.
pub async fn a_message_is_there_until_it_is_deleted(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    store.create(&run.key, &run.created_by("w", None)?).await?;
    let stop = Mail::Stop { by: UserId::new("ann")? };
    let first = file_added("1")?;
    let second = file_added("2")?;
    for mail in [&first, &stop, &second, &first, &stop] {
        store.put_mail(&run.key, mail, EXPIRY).await?;
    }
    let mut mail = store.list_mail(&run.key).await?;
    mail.sort_by_key(Mail::id);
    assert_eq!(mail, [first.clone(), second.clone(), stop.clone()]);

    // Mail with the same id replaces the earlier mail.
    let stop = Mail::Stop { by: UserId::new("bob")? };
    store.put_mail(&run.key, &stop, EXPIRY).await?;
    store.delete_mail(&run.key, &[first.id(), "file#none".to_owned()]).await?;
    store.delete_mail(&run.key, &[first.id()]).await?;
    store.delete_mail(&run.key, &[]).await?;
    let mut mail = store.list_mail(&run.key).await?;
    mail.sort_by_key(Mail::id);
    assert_eq!(mail, [second.clone(), stop.clone()]);
    store.delete_mail(&run.key, &[stop.id(), second.id()]).await?;
    assert!(store.list_mail(&run.key).await?.is_empty());
    Ok(())
}

/// Mail is separate from the journal and from other runs.
pub async fn mail_is_the_runs_own(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    let other = RunFixture::of_tenant("t2", "s", "r")?;
    let new = run.created_by("w", None)?;
    store.create(&run.key, &new).await?;
    store.put_mail(&run.key, &file_added("1")?, EXPIRY).await?;
    assert_eq!(read_written(store, &run.key, 0).await?, [new.record]);
    let mut stranger = run.key.clone();
    stranger.tenant = other.key.tenant.clone();
    for key in [&other.key, &stranger] {
        assert!(store.list_mail(key).await?.is_empty());
        store.delete_mail(key, &[file_added("1")?.id()]).await?;
    }
    assert_eq!(store.list_mail(&run.key).await?, [file_added("1")?]);
    Ok(())
}

/// The note of viewers is in the mailbox beside the mail; the latest time counts.
pub async fn a_mailbox_names_the_moment_until_which_its_run_is_watched(
    store: &impl Store,
) -> Checked {
    let run = RunFixture::of("s", "r")?;
    let other = RunFixture::of_tenant("t2", "s", "r")?;
    store.create(&run.key, &run.created_by("w", None)?).await?;
    assert_eq!(store.read_mailbox(&run.key).await?, MailboxContents::default());
    store.put_mail(&run.key, &file_added("1")?, EXPIRY).await?;
    for (until_ms, watched_until_ms) in [(5_000, 5_000), (7_000, 7_000), (6_000, 7_000)] {
        store.mark_watched(&run.key, until_ms).await?;
        let mail = vec![file_added("1")?];
        let contents = MailboxContents { mail, watched_until_ms };
        assert_eq!(store.read_mailbox(&run.key).await?, contents);
    }
    assert_eq!(store.read_mailbox(&other.key).await?, MailboxContents::default());
    // The note is no mail, and stays when mail is deleted.
    assert_eq!(store.list_mail(&run.key).await?, [file_added("1")?]);
    store.delete_mail(&run.key, &[file_added("1")?.id()]).await?;
    let contents = MailboxContents { mail: Vec::new(), watched_until_ms: 7_000 };
    assert_eq!(store.read_mailbox(&run.key).await?, contents);
    Ok(())
}
