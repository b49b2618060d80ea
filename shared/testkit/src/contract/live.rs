//! Checks of the live log, which keeps items shown before they are recorded.

use djinn_runtime::port::Store;
use djinn_runtime::port::live::LiveFrom;

use super::Checked;
use super::fixture::{RunFixture, early_entry, preview_piece};

/// Reading on from the last position returns every piece once, in the order of time.
pub async fn previews_are_read_in_order_and_once(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    let (a, b, c) =
        (preview_piece(0, "go", 10), preview_piece(2, "ld 金", 20), preview_piece(8, "!", 20));
    store.write_live(&run.key, "w", 20, &[b.clone(), c.clone()]).await?;
    store.write_live(&run.key, "w", 10, std::slice::from_ref(&a)).await?;
    store.write_live(&run.key, "w", 15, &[]).await?;
    let (pieces, position) = store.read_live(&run.key, &LiveFrom::Moment(0)).await?;
    assert_eq!(pieces, [a, b.clone(), c.clone()]);
    let (pieces, from_then) = store.read_live(&run.key, &LiveFrom::Moment(20)).await?;
    assert_eq!((pieces, &from_then), (vec![b, c], &position));
    let later = LiveFrom::Moment(21);
    assert_eq!(store.read_live(&run.key, &later).await?, (Vec::new(), later));
    assert_eq!(store.read_live(&run.key, &position).await?, (Vec::new(), position.clone()));

    // One more write, repeated after a lost reply.
    let d = preview_piece(9, "?", 30);
    for _ in 0..2 {
        store.write_live(&run.key, "w", 30, std::slice::from_ref(&d)).await?;
    }
    let (pieces, next) = store.read_live(&run.key, &position).await?;
    assert_eq!(pieces, [d]);
    assert_eq!(store.read_live(&run.key, &next).await?, (Vec::new(), next));
    Ok(())
}

/// Early entries are kept beside pieces of text, even two in the same millisecond.
pub async fn entries_of_tasks_are_read_as_they_were_written(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    let (first, second) =
        (vec![early_entry(0, 5)?, preview_piece(3, "go", 5)], vec![early_entry(1, 5)?]);
    for pieces in [&first, &second] {
        store.write_live(&run.key, "w", 5, pieces).await?;
    }
    let (entries, _) = store.read_live(&run.key, &LiveFrom::Moment(0)).await?;
    assert_eq!(entries, [first, second].concat());
    Ok(())
}

/// Two writes in the same millisecond are both kept, of one or two writers.
pub async fn writers_do_not_replace_each_other(store: &impl Store) -> Checked {
    let run = RunFixture::of("s", "r")?;
    let other = RunFixture::of("s", "other")?;
    let pieces = [preview_piece(0, "a", 5), preview_piece(1, "b", 5), preview_piece(0, "c", 5)];
    for (piece, writer) in pieces.iter().zip(["w1", "w1", "w2"]) {
        store.write_live(&run.key, writer, 5, std::slice::from_ref(piece)).await?;
    }
    let (entries, position) = store.read_live(&run.key, &LiveFrom::Moment(0)).await?;
    assert_eq!(entries, pieces);
    assert!(matches!(position, LiveFrom::Position(_)));
    assert!(store.read_live(&other.key, &LiveFrom::Moment(0)).await?.0.is_empty());
    let mut stranger = run.key.clone();
    stranger.tenant = RunFixture::of_tenant("t2", "s", "r")?.key.tenant;
    assert!(store.read_live(&stranger, &LiveFrom::Moment(0)).await?.0.is_empty());
    Ok(())
}
