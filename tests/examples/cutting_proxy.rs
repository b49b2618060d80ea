//! A proxy between a client and the system that cuts streams in the middle.

use std::collections::VecDeque;
use std::io::{Read, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What the proxy has still to do, and what it was sent.
#[derive(Clone)]
struct Traffic {
    marks: Arc<Mutex<VecDeque<&'static str>>>,
    requests: Arc<Mutex<String>>,
}

/// A proxy that cuts a connection right behind each of its marks, one after the other, in what the
/// server answers.
pub(crate) struct CuttingProxy {
    /// Where clients find the system behind it.
    pub(crate) url: String,
    traffic: Traffic,
}

impl CuttingProxy {
    /// Listens in front of a system. Its threads end with the process.
    pub(crate) fn start(system: SocketAddr, marks: impl IntoIterator<Item = &'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let traffic = Traffic {
            marks: Arc::new(Mutex::new(marks.into_iter().collect())),
            requests: Arc::default(),
        };
        let shared = traffic.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(system).unwrap();
                shared.clone().connect_both(&client, &server);
            }
        });
        Self { url, traffic }
    }

    /// The marks that nothing was cut at, and all that clients have sent, in small letters.
    pub(crate) fn into_traffic(self) -> (Vec<&'static str>, String) {
        let marks = self.traffic.marks.lock().unwrap().iter().copied().collect();
        (marks, self.traffic.requests.lock().unwrap().clone())
    }
}

impl Traffic {
    fn connect_both(self, client: &TcpStream, server: &TcpStream) {
        let requests = Arc::clone(&self.requests);
        pass_on(client, server, move |bytes| {
            let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
            requests.lock().unwrap().push_str(&text);
            bytes.len()
        });
        let mut answered = Vec::new();
        pass_on(server, client, move |bytes| {
            let before = answered.len();
            answered.extend_from_slice(bytes);
            let mut marks = self.marks.lock().unwrap();
            let end = marks.front().and_then(|mark| find_end(&answered, mark.as_bytes()));
            let Some(end) = end else { return bytes.len() };
            marks.pop_front();
            end.saturating_sub(before)
        });
    }
}

/// Where a mark ends in an answer.
fn find_end(answer: &[u8], mark: &[u8]) -> Option<usize> {
    answer.windows(mark.len()).position(|part| part == mark).map(|at| at + mark.len())
}

/// Passes bytes on, as many of each piece as `allow` says; less than all is the end of both ways.
fn pass_on(
    from: &TcpStream,
    to: &TcpStream,
    mut allow: impl FnMut(&[u8]) -> usize + Send + 'static,
) {
    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
    thread::spawn(move || {
        let mut buffer = [0; 16 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let allowed = allow(&buffer[..length]);
            if to.write_all(&buffer[..allowed]).is_err() || allowed < length {
                break;
            }
        }
        // Who has left may have left already.
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    });
}
