use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Reads pieces until no more are accepted, and decodes them.
async fn read(
    coding: ContentCoding,
    max_bytes: usize,
    pieces: &[&[u8]],
) -> Result<(Vec<u8>, bool), DecodeError> {
    let mut body = RawBody::new(max_bytes);
    let _is_open = pieces.iter().all(|piece| body.append_piece(piece));
    let decoded = body.decode(coding).await?;
    Ok((decoded.bytes, decoded.is_whole))
}

#[tokio::test]
async fn a_body_is_whole_up_to_its_bound() {
    use ContentCoding::{Gzip, Identity};
    let text = b"0123456789".as_slice();
    let packed = gzip(text);
    let (head, tail) = packed.split_at(7);
    for (coding, pieces) in [(Identity, vec![&text[..4], &text[4..]]), (Gzip, vec![head, tail])] {
        assert_eq!(read(coding, packed.len(), &pieces).await, Ok((text.to_vec(), true)));
    }
    assert_eq!(read(Identity, 10, &[text]).await, Ok((text.to_vec(), true)));
    assert_eq!(read(Identity, 9, &[text]).await, Ok((b"012345678".to_vec(), false)));
    assert_eq!(read(Identity, 9, &[text, text]).await, Ok((b"012345678".to_vec(), false)));
    assert_eq!(read(Identity, 0, &[text]).await, Ok((Vec::new(), false)));
    assert_eq!(read(Identity, 0, &[]).await, Ok((Vec::new(), true)));
    assert_eq!(read(Gzip, 0, &[]).await, Ok((Vec::new(), true)));
    let (decoded, is_whole) = read(Gzip, packed.len() - 1, &[&packed]).await.unwrap();
    assert!(!is_whole && text.starts_with(&decoded), "{decoded:?}");
}

#[tokio::test]
async fn a_bomb_is_decoded_up_to_the_bound() {
    let bomb = gzip(&vec![0; 3_000_000]);
    assert!(bomb.len() < 20_000, "{}", bomb.len());
    let (bytes, is_whole) = read(ContentCoding::Gzip, 100_000, &[&bomb]).await.unwrap();
    assert_eq!((bytes.len(), is_whole), (100_000, false));
    assert!(bytes.capacity() <= 100_000, "{}", bytes.capacity());
}

#[tokio::test]
async fn members_follow_each_other() {
    let twice = [gzip(b"one "), gzip(b"two")].concat();
    let read = read(ContentCoding::Gzip, 1000, &[&twice]).await;
    assert_eq!(read, Ok((b"one two".to_vec(), true)));
}

#[test]
fn what_is_longer_than_the_bound_is_not_read() {
    let mut body = RawBody::new(1000);
    let pieces = (0..10_000).take_while(|_| body.append_piece(b"0123456")).count();
    assert_eq!((pieces, body.bytes.len(), body.has_more), (1000 / 7, 1000, true));
    assert!(body.bytes.capacity() <= 1000);
}

#[tokio::test]
async fn a_page_of_empty_members_is_an_error_and_not_an_empty_page() {
    let empty = gzip(b"");
    let members = empty.repeat(4_000_000 / empty.len());
    let read = read(ContentCoding::Gzip, 5_000_000, &[&members]).await;
    assert_eq!(read, Err(DecodeError::TooManyBlocks));
}

#[tokio::test]
async fn others_do_not_wait_for_a_body_to_be_decoded() {
    let mut body = RawBody::new(5_000_000);
    assert!(body.append_piece(&gzip(&vec![0; 4_000_000])));
    let decoding = body.decode(ContentCoding::Gzip);
    tokio::select! {
        biased;
        _ = decoding => panic!("it is decoded before others go on"),
        () = std::future::ready(()) => {}
    }
}

#[tokio::test]
async fn a_body_that_is_not_what_it_says_is_told_from_one_that_broke_off() {
    let whole = gzip(b"a page that breaks off somewhere");
    let broken_off = read(ContentCoding::Gzip, 1000, &[&whole[..whole.len() - 9]]).await;
    let (bytes, is_whole) = broken_off.unwrap();
    assert!(!is_whole && b"a page that breaks off somewhere".starts_with(&bytes), "{bytes:?}");
    let other = read(ContentCoding::Gzip, 1000, &[b"<html>no gzip</html>"]).await;
    assert_eq!(other, Err(DecodeError::Invalid));
    assert_eq!(ContentCoding::parse(Some(" GZIP ")), Some(ContentCoding::Gzip));
    assert_eq!(ContentCoding::parse(Some("br")), None);
    assert_eq!(ContentCoding::parse(Some("gzip, gzip")), None);
}
