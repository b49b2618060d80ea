//! The protocol of JoyAgent's data questions, as in `POST /data/chatQuery`: small events, always ending with
//! `READY`.
//!
//! Data questions are not supported yet, so there are only events to report this.

use serde_json::json;

use djinn_core::error_code::Failure;
use djinn_core::language::Language;

/// Returns the whole stream for an unsupported question: a thought with the reason, and the event that
/// unlocks the page's input. For `ERROR` the page shows its own sentence without a cause. The code is for
/// other clients.
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
