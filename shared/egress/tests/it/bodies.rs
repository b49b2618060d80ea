//! Bodies that are larger, slower or other than they say.

use std::fs;
use std::io::Write as _;

use djinn_egress::{EgressError, EgressLimits, EgressRequest, EgressResponse, MAX_BODY_BYTES};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::server::{Answer, TestServer, head, respond};
use super::world::{local_client, quick_limits};

/// Sends one request to a server that answers so.
async fn fetch(answer: Answer) -> Result<EgressResponse, EgressError> {
    fetch_within(answer, EgressLimits::default()).await
}

async fn fetch_within(answer: Answer, limits: EgressLimits) -> Result<EgressResponse, EgressError> {
    let server = TestServer::start(move |_| answer.clone()).await;
    let client = local_client(&[&server.origin], limits);
    client.send(EgressRequest::get(&server.url("/"))).await
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The most memory that this process has had, in bytes, where the system says it.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024)
}

const GZIP: (&str, &str) = ("content-encoding", "gzip");

#[tokio::test]
async fn a_page_is_decoded() {
    let text = "a page ".repeat(1000);
    let response = fetch(respond("200 OK", &[GZIP], &gzip(text.as_bytes()))).await.unwrap();
    assert_eq!((response.body, response.is_cut), (text.into_bytes(), false));
}

#[tokio::test]
async fn a_bomb_of_a_gigabyte_is_cut() {
    let before = peak_memory();
    let member = gzip(&vec![0; 10_000_000]);
    let bomb = member.repeat(100);
    assert!(bomb.len() < 2_000_000, "{}", bomb.len());
    let response = fetch(respond("200 OK", &[GZIP], &bomb)).await.unwrap();
    assert_eq!((response.body.len() as u64, response.is_cut), (MAX_BODY_BYTES, true));
    let error = response.into_whole_body().unwrap_err();
    assert_eq!(error.code(), "too_large");
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        assert!(after - before < 64_000_000, "{} bytes more", after - before);
    }
}

#[tokio::test]
async fn a_flood_of_empty_members_or_blocks_is_an_error() {
    let empty = gzip(b"");
    let members = empty.repeat(4_000_000 / empty.len());
    let letter = gzip(b"a");
    let letters = letter.repeat(4_000_000 / letter.len());
    let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255].as_slice();
    let blocks = [head, &[0, 0, 0, 0xff, 0xff].repeat(800_000)].concat();
    for flood in [members, letters, blocks] {
        let error = fetch(respond("200 OK", &[GZIP], &flood)).await.unwrap_err();
        assert_eq!(error.code(), "protocol");
        assert!(error.to_string().contains("more pieces than are decoded"), "{error}");
    }
}

#[tokio::test]
async fn an_endless_body_is_cut_and_no_longer_read() {
    let piece = vec![b'x'; 100_000];
    let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
    chunk.extend(&piece);
    chunk.extend(b"\r\n");
    let plain = head("200 OK", &[]);
    let counted = head("200 OK", &[("content-length", "1000000000")]);
    let chunked = head("200 OK", &[("transfer-encoding", "chunked")]);
    for (head, piece) in [(plain, piece.clone()), (counted, piece), (chunked, chunk)] {
        let server = TestServer::start(move |_| Answer::Endless(head.clone(), piece.clone())).await;
        let client = local_client(&[&server.origin], EgressLimits::default());
        let request = EgressRequest { max_bytes: 300_000, ..EgressRequest::get(&server.url("/")) };
        let response = client.send(request).await.unwrap();
        assert_eq!((response.body.len(), response.is_cut), (300_000, true));
        let whole = client.send(EgressRequest::get(&server.url("/"))).await.unwrap();
        assert_eq!((whole.body.len() as u64, whole.is_cut), (MAX_BODY_BYTES, true));
        // What was on its way when the connection was closed counts, too.
        assert!(server.sent_bytes().await < 50_000_000);
    }
}

#[tokio::test]
async fn nobody_gets_more_than_the_bound() {
    let limits = EgressLimits { body_bytes: 10, ..EgressLimits::default() };
    let answer = respond("200 OK", &[], b"0123456789x");
    let response = fetch_within(answer, limits.clone()).await.unwrap();
    assert_eq!((response.body.as_slice(), response.is_cut), (b"0123456789".as_slice(), true));
    let response = fetch_within(respond("200 OK", &[], b"0123456789"), limits).await.unwrap();
    assert!(!response.is_cut);
    assert_eq!(response.into_whole_body().unwrap(), b"0123456789");
}

#[tokio::test]
async fn slow_servers_are_left_when_the_time_is_over() {
    let response = head("200 OK", &[("content-length", "1000")]);
    for answer in [
        // Byte by byte: the body, a header, and responses before the response.
        Answer::Drip(response.clone(), b"x".to_vec()),
        Answer::Drip(b"HTTP/1.1 200 OK\r\nx-slow: ".to_vec(), b"x".to_vec()),
        Answer::Drip(Vec::new(), b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()),
        Answer::Silence(response),
        Answer::Silence(b"HTTP/1.1 200 OK\r\n".to_vec()),
        Answer::Silence(Vec::new()),
    ] {
        let outcome = fetch_within(answer.clone(), quick_limits()).await;
        let host = "127.0.0.1".to_owned();
        assert_eq!(outcome, Err(EgressError::TooSlow { host }), "{answer:?}");
    }
}

#[tokio::test]
async fn a_wrong_length_is_noticed() {
    let broken_off =
        Answer::Bytes([&head("200 OK", &[("content-length", "100")]), b"half".as_slice()].concat());
    let response = fetch(broken_off).await.unwrap();
    assert_eq!((response.body.as_slice(), response.is_cut), (b"half".as_slice(), true));
    let nothing = Answer::Bytes(head("200 OK", &[("content-length", "100")]));
    assert_eq!(fetch(nothing).await.unwrap_err().code(), "protocol");
    let too_short = Answer::Bytes(
        [&head("200 OK", &[("content-length", "4")]), b"half and more".as_slice()].concat(),
    );
    let response = fetch(too_short).await.unwrap();
    assert_eq!((response.body.as_slice(), response.is_cut), (b"half".as_slice(), false));
    let chunk = b"5\r\nhello\r\nnot a length\r\n".as_slice();
    let chunked =
        Answer::Bytes([&head("200 OK", &[("transfer-encoding", "chunked")]), chunk].concat());
    let response = fetch(chunked).await.unwrap();
    assert_eq!((response.body.as_slice(), response.is_cut), (b"hello".as_slice(), true));
}

#[tokio::test]
async fn what_is_no_http_is_an_error() {
    let two_lengths = [("content-length", "5"), ("content-length", "6")];
    let many: Vec<_> = (0..200).map(|number| (format!("x-{number}"), "x")).collect();
    let many: Vec<_> = many.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    for answer in [
        Answer::Bytes(Vec::new()),
        Answer::Bytes(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec()),
        Answer::Bytes(b"HTTP/1.1 200 OK\r\nbroken".to_vec()),
        Answer::Bytes([head("200 OK", &two_lengths), b"hello".to_vec()].concat()),
        Answer::Bytes([head("200 OK", &many), b"hello".to_vec()].concat()),
        Answer::Endless(b"HTTP/1.1 200 OK\r\n".to_vec(), b"x-more: and more\r\n".to_vec()),
        Answer::Endless(b"HTTP/1.1 200 OK\r\nx-long: ".to_vec(), vec![b'x'; 10_000]),
        respond("200 OK", &[("content-encoding", "br")], b"hello"),
        respond("200 OK", &[("content-encoding", "gzip, gzip")], b"hello"),
        respond("200 OK", &[GZIP], b"<html>this is no gzip</html>"),
    ] {
        let error = fetch(answer.clone()).await.unwrap_err();
        assert_eq!(error.code(), "protocol", "{error}: {:.200}", format!("{answer:?}"));
    }
}

#[tokio::test]
async fn a_page_that_breaks_off_within_its_encoding_is_cut() {
    let whole = gzip(&(0..50_000_u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
    let response = fetch(respond("200 OK", &[GZIP], &whole[..whole.len() / 2])).await.unwrap();
    assert!(response.is_cut && response.body.len() > 10_000, "{}", response.body.len());
}

#[tokio::test]
async fn a_response_without_a_body_is_one() {
    for status in ["204 No Content", "304 Not Modified", "200 OK", "404 Not Found"] {
        let response = fetch(respond(status, &[GZIP, ("x-other", "y")], b"")).await.unwrap();
        assert_eq!(response.status.to_string(), status[..3]);
        assert_eq!((response.body, response.is_cut), (Vec::new(), false));
        assert_eq!(response.headers, []);
    }
}
