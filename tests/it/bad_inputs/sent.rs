//! Requests byte by byte: no client library would send most of these.

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::links::code;
use crate::world::{SETTLED_WITHIN, check_answer};

/// An HTTP response as it came, byte by byte.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) text: String,
    /// The header `djinn-error`: a code, and a field after a space.
    error: Option<String>,
}

/// What an answer says of the refusal.
#[derive(Default)]
pub(super) struct Told {
    pub(super) code: Option<String>,
    pub(super) field: Option<String>,
}

/// Sends a request that asks for the connection to be closed, and reads until it is.
pub(super) async fn send(url: &str, request: &[u8]) -> Reply {
    let address = url.strip_prefix("http://").unwrap();
    let (mut answers, mut requests) = TcpStream::connect(address).await.unwrap().into_split();
    let sending = async {
        // A server may answer and close before it has read all of it.
        let _ = requests.write_all(request).await;
    };
    let mut bytes = Vec::new();
    let reading = async {
        let _ = answers.read_to_end(&mut bytes).await;
    };
    let both = async { tokio::join!(sending, reading) };
    // Else the server keeps the connection.
    tokio::time::timeout(SETTLED_WITHIN, both).await.unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no answer: {text:?}"));
    let line = String::from_utf8_lossy(request.get(..request.len().min(4_096)).unwrap_or_default());
    let mut words = line.split(' ');
    if let (Some(method), Some(path)) = (words.next(), words.next()) {
        check_answer(Some(method), path, status, body);
    }
    let error = head.lines().find_map(|line| line.strip_prefix("djinn-error: "));
    Reply { status, text: body.to_owned(), error: error.map(str::to_owned) }
}

impl Reply {
    /// The refusal in an answer: JSON, a page, or for JoyAgent's UI an event that unlocks its input, or is
    /// followed by one that does, and names no field.
    pub(super) fn told(&self, is_for_the_ui: bool) -> Told {
        if let Some(error) = &self.error {
            let mut words = error.splitn(2, ' ').map(str::to_owned);
            return Told { code: words.next(), field: words.next() };
        }
        let frames = self.text.strip_prefix("data:").filter(|_| is_for_the_ui);
        let (event, unlocks) = match frames.and_then(|frames| frames.split_once("\n\n")) {
            Some((event, rest)) => (Some(event), rest.contains("data:{\"eventType\":\"READY\"")),
            None => (None, false),
        };
        let json: Value = serde_json::from_str(event.unwrap_or(&self.text)).unwrap_or_default();
        let text = |name: &str| json[name].as_str().map(str::to_owned);
        match event {
            Some(_) if json["finished"] == true => Told { code: text("errorMsg"), field: None },
            Some(_) if json["eventType"] == "THINK" && unlocks => {
                Told { code: text("code"), field: None }
            }
            Some(_) => Told::default(),
            None => {
                let of_a_page = || Some(code(&self.text)).filter(|code| !code.is_empty());
                let of_a_page = of_a_page().map(str::to_owned);
                let error = |name: &str| json["error"][name].as_str().map(str::to_owned);
                // Of JSON-RPC, and of a tool of the MCP server.
                let [of_rpc, of_tool] = ["/error/data", "/result/_meta/djinn~1error"];
                let deep =
                    [json.pointer(of_rpc), json.pointer(of_tool)].into_iter().flatten().next();
                let deep = |name: &str| deep?[name].as_str().map(str::to_owned);
                Told {
                    code: text("code")
                        .or(of_a_page)
                        .or_else(|| error("code"))
                        .or_else(|| deep("code")),
                    field: text("field").or_else(|| error("param")).or_else(|| deep("field")),
                }
            }
        }
    }
}
