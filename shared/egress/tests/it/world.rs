//! Names whose addresses tests decide, a listener that counts who connects, and clients.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use djinn_egress::{Egress, EgressLimits, EgressRequest, EgressSettings, Lookup};
use futures::future::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// An address that is public by all rules, and that nobody has been given.
pub(crate) const NOBODY: &str = "2d00::1";

/// Answers each name with what is next in its list, and its last answer again and again.
#[derive(Default)]
pub(crate) struct ScriptedLookup {
    answers: Mutex<BTreeMap<String, Vec<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl ScriptedLookup {
    pub(crate) fn with_answers(self, name: &str, answers: &[&[&str]]) -> Self {
        let parse = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        let answers = answers.iter().rev().map(parse).collect();
        self.answers.lock().unwrap().insert(name.to_owned(), answers);
        self
    }

    /// The names that were asked for, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn next_answer(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.lock().unwrap().push(name.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let none = || io::Error::new(io::ErrorKind::NotFound, "no such name");
        let answers = answers.get_mut(name).ok_or_else(none)?;
        if answers.len() > 1 {
            return Ok(answers.pop().unwrap());
        }
        answers.last().cloned().ok_or_else(none)
    }
}

impl Lookup for ScriptedLookup {
    fn lookup_addresses(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let answer = self.next_answer(&name);
        Box::pin(async move { answer })
    }
}

/// Never answers, whatever is asked.
pub(crate) struct SilentLookup;

impl Lookup for SilentLookup {
    fn lookup_addresses(&self, _: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(std::future::pending())
    }
}

/// A socket at all addresses of this machine, over IPv4 and IPv6, which counts who connects.
pub(crate) struct Watch {
    pub(crate) port: u16,
    connects: mpsc::UnboundedReceiver<()>,
}

impl Watch {
    pub(crate) async fn start() -> Self {
        let listener = match TcpListener::bind("[::]:0").await {
            Ok(listener) => listener,
            Err(_) => TcpListener::bind("0.0.0.0:0").await.unwrap(),
        };
        let port = listener.local_addr().unwrap().port();
        let (sender, connects) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                sender.send(()).ok();
                tokio::spawn(async move {
                    stream.read_buf(&mut Vec::new()).await.ok();
                    stream.write_all(b"HTTP/1.1 204 No\r\nconnection: close\r\n\r\n").await.ok();
                });
            }
        });
        Self { port, connects }
    }

    /// How many have connected, which is seen by connecting once more: connections are taken in the
    /// order in which they came.
    pub(crate) async fn count_connects(mut self) -> usize {
        let origin = format!("http://127.0.0.1:{}", self.port);
        let client = local_client(&[&origin], EgressLimits::default());
        assert_eq!(client.send(EgressRequest::get(&origin)).await.unwrap().status, 204);
        let mut count = 0;
        while self.connects.try_recv().is_ok() {
            count += 1;
        }
        assert!(count > 0, "the watch sees nobody at all");
        count - 1
    }
}

/// A client that may reach these servers of the test's.
pub(crate) fn local_client(origins: &[&str], limits: EgressLimits) -> Egress {
    Egress::with_lookup(local_settings(origins, limits), Arc::new(ScriptedLookup::default()))
        .unwrap()
}

/// Settings with these servers of the test's.
pub(crate) fn local_settings(origins: &[&str], limits: EgressLimits) -> EgressSettings {
    let origins: Vec<_> = origins.iter().map(|&origin| origin.to_owned()).collect();
    EgressSettings::new([].into(), &origins, true).unwrap().with_limits(limits)
}

/// Bounds of time that a test can wait for.
pub(crate) fn quick_limits() -> EgressLimits {
    EgressLimits {
        total_time: Duration::from_millis(300),
        connect_time: Duration::from_millis(100),
        ..EgressLimits::default()
    }
}
