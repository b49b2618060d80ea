//! The place of a response in a chat of the AI SDK.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use djinn_core::id::RunId;
use djinn_protocol::ai_sdk::AiSdkOptions;

/// The header that names the place of a response, for a transport that asks for the response again.
const PLACE: HeaderName = HeaderName::from_static("x-workflow-run-id");

/// The header that tells the version of the stream.
const VERSION: HeaderName = HeaderName::from_static("x-vercel-ai-ui-message-stream");

/// A response in a chat of the AI SDK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AiStream {
    /// True if the client asks for the rest of a stream that ends without `finish`.
    pub(crate) reconnects: bool,
    /// True if the client has received a part of this response before.
    pub(crate) is_repeat: bool,
    pub(crate) message: AiMessage,
}

/// The message that a response is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AiMessage {
    /// A message of its own.
    New,
    /// A message that the client shows already, with its id if the client must be told.
    Known(Option<String>),
}

impl AiStream {
    /// Returns the headers of the response, which begins at this record.
    pub(crate) fn headers(&self, run: &RunId, record: u64) -> HeaderMap {
        let is_known = matches!(self.message, AiMessage::Known(_));
        let place = AiPlace { run: run.clone(), record, is_known }.to_text();
        let place = HeaderValue::from_str(&place).map(|place| (PLACE, place));
        place.into_iter().chain([(VERSION, HeaderValue::from_static("v1"))]).collect()
    }

    /// Returns the options of the projection for a response that begins at this record.
    pub(crate) fn into_options(self, run: &RunId, record: u64) -> AiSdkOptions {
        let Self { reconnects, is_repeat, message } = self;
        let (message, is_known) = match message {
            AiMessage::New if record == 0 => (Some(run.to_string()), false),
            AiMessage::New => (Some(format!("{run}:{record}")), false),
            AiMessage::Known(id) => (id, true),
        };
        AiSdkOptions { message, is_known, reconnects, is_repeat }
    }
}

/// The place of a response: `<run>:<record>`, or `<run>:+<record>` within a message that the client has.
pub(crate) struct AiPlace {
    pub(crate) run: RunId,
    pub(crate) record: u64,
    pub(crate) is_known: bool,
}

impl AiPlace {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (run, record) = text.split_once(':')?;
        let (record, is_known) = match record.strip_prefix('+') {
            Some(record) => (record, true),
            None => (record, false),
        };
        let is_number = record.bytes().all(|byte| byte.is_ascii_digit());
        let record = record.parse().ok().filter(|_| is_number)?;
        Some(Self { run: RunId::new(run).ok()?, record, is_known })
    }

    fn to_text(&self) -> String {
        let Self { run, record, is_known } = self;
        format!("{run}:{}{record}", if *is_known { "+" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_names_a_record_of_a_run() {
        let run = format!("run_{}", "a".repeat(32));
        for good in [format!("{run}:0"), format!("{run}:17"), format!("{run}:+9")] {
            assert_eq!(AiPlace::parse(&good).unwrap().to_text(), good);
        }
        for bad in [
            "",
            "chat",
            "chat:1",
            &run,
            &format!("{run}:"),
            &format!("{run}:-1"),
            &format!("{run}:++1"),
        ] {
            assert!(AiPlace::parse(bad).is_none(), "{bad}");
        }
    }
}
