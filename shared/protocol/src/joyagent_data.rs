//! The protocol of JoyAgent's data questions, as `POST /data/chatQuery` speaks it: small events of its
//! own, of which `READY` is always the last.
//!
//! Data questions are not answered yet, so there is only what tells its page so.

use serde_json::json;

use djinn_core::error_code::Failure;
use djinn_core::language::Language;

/// The whole stream of a question that is not answered: why, and what unlocks the page's input. The
/// page shows a sentence of its own; the code is for others.
#[must_use]
pub fn refusal_stream(failure: &Failure, language: Language) -> String {
    let why = json!({
        "eventType": "ERROR",
        "data": failure.sentence(language),
        "code": failure.code.as_str(),
    });
    let ready = json!({"eventType": "READY", "data": ""});
    format!("data:{why}\n\ndata:{ready}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_core::error_code::ErrorCode;

    #[test]
    fn the_page_is_told_why_and_then_unlocked() {
        let stream = refusal_stream(&ErrorCode::DataUnavailable.into(), Language::En);
        let frames = "data:{\"eventType\":\"ERROR\",\"data\":\"Data questions cannot be answered here \
                      yet. Choose another product, or switch deep thinking on.\",\
                      \"code\":\"data_unavailable\"}\n\n\
                      data:{\"eventType\":\"READY\",\"data\":\"\"}\n\n";
        assert_eq!(stream, frames);
    }
}
