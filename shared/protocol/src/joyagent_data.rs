//! The protocol of JoyAgent's data questions, as `POST /data/chatQuery` speaks it: small events of its
//! own, of which `READY` is always the last.
//!
//! Data questions are not answered yet, so there is only what tells its page so.

use serde_json::json;

use djinn_core::error_code::Failure;
use djinn_core::language::Language;

/// Returns the whole stream of a question that is not answered: a thought that says why, and the event that
/// unlocks the page's input. For `ERROR` the page shows a sentence of its own, which says nothing of the
/// cause. The code is for other clients.
#[must_use]
pub fn refusal_stream(failure: &Failure, language: Language) -> String {
    let thought = json!({
        "eventType": "THINK",
        "data": failure.sentence(language),
        "code": failure.code.as_str(),
    });
    let ready = json!({"eventType": "READY", "data": ""});
    format!("data:{thought}\n\ndata:{ready}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_core::error_code::ErrorCode;

    #[test]
    fn page_shows_the_reason_and_is_unlocked() {
        let stream = refusal_stream(&ErrorCode::DataUnavailable.into(), Language::En);
        let frames = "data:{\"eventType\":\"THINK\",\"data\":\"Data questions are not supported yet. \
                      Choose another product, or turn on deep thinking.\",\
                      \"code\":\"data_unavailable\"}\n\n\
                      data:{\"eventType\":\"READY\",\"data\":\"\"}\n\n";
        assert_eq!(stream, frames);
    }
}
