//! Parses users' responses in words of English or Chinese.

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::human::HumanResponse;
use djinn_core::language::Language;
use djinn_messages::Wording;
use djinn_runtime::text_response::{TextResponse, parse_response, trim_end_marks};
use serde_json::{Map, Value};

use crate::json;

/// Parses a response: a command word, changed arguments as JSON with or without a command word, or text for
/// the model. `arguments` come from a separate field of the request.
pub(crate) fn read_response(
    words: &str,
    arguments: Option<Map<String, Value>>,
    language: Language,
) -> TextResponse {
    let own = arguments.clone().map(|arguments| Value::Object(arguments).to_string());
    let words_of_it = own.unwrap_or_else(|| words.to_owned());
    TextResponse { text: words_of_it, parsed: parse_command(words, arguments, language) }
}

fn parse_command(
    words: &str,
    arguments: Option<Map<String, Value>>,
    language: Language,
) -> Result<HumanResponse, Failure> {
    if arguments.is_none()
        && let Some(arguments) = parse_arguments(words)
    {
        return Ok(HumanResponse::Modify { arguments });
    }
    let word = canonical_word(words);
    if word == Some("modify") && arguments.is_none() {
        let how = Wording::ChangeNeedsParameters.text(language);
        return Err(Failure::new(ErrorCode::InvalidField, how));
    }
    parse_response(word.unwrap_or(words), arguments)
        .map_err(|(code, problem)| Failure::new(code, problem))
}

/// Returns the API's command word for a word in English or Chinese.
fn canonical_word(words: &str) -> Option<&'static str> {
    Some(match trim_end_marks(words).to_lowercase().as_str() {
        "同意" | "确认" | "继续" | "是" | "是的" | "好" | "好的" | "可以" => {
            "confirm"
        }
        "跳过" => "skip",
        "停止" | "取消" | "终止" => "stop",
        "修改" | "modify" => "modify",
        _ => return None,
    })
}

/// Returns the JSON object in the text, with or without the word for a change before the object.
fn parse_arguments(words: &str) -> Option<Map<String, Value>> {
    let words = words.trim();
    let lower = words.to_ascii_lowercase();
    let after = ["修改", "modify"].iter().find(|word| lower.starts_with(**word));
    let rest = after.and_then(|word| words.get(word.len()..)).unwrap_or(words);
    let text = rest.trim_start_matches([':', '：']).trim();
    if !text.starts_with('{') {
        return None;
    }
    match json::parse_strict(text.as_bytes()) {
        Ok(Value::Object(arguments)) => Some(arguments),
        Ok(_) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn people_answer_in_their_own_words() {
        let arguments = json!({"a": 1}).as_object().unwrap().clone();
        let modify = || HumanResponse::Modify { arguments: arguments.clone() };
        let say = |words: &str| HumanResponse::Say { text: words.to_owned() };
        for (words, answer) in [
            ("同意", HumanResponse::Confirm),
            (" 确认。", HumanResponse::Confirm),
            ("Yes", HumanResponse::Confirm),
            ("跳过！", HumanResponse::Skip),
            ("停止", HumanResponse::Stop),
            ("取消", HumanResponse::Stop),
            ("cancel", HumanResponse::Stop),
            (r#"{"a": 1}"#, modify()),
            (r#"修改 {"a": 1}"#, modify()),
            (r#"修改：{"a": 1}"#, modify()),
            (r#"Modify {"a": 1}"#, modify()),
            ("修改一下标题", say("修改一下标题")),
            ("{not json}", say("{not json}")),
            ("不同意", say("不同意")),
        ] {
            let written = read_response(words, None, Language::Zh);
            assert_eq!((written.parsed, written.text.as_str()), (Ok(answer), words));
        }
        let written = read_response("修改", Some(arguments.clone()), Language::Zh);
        assert_eq!((written.parsed, written.text.as_str()), (Ok(modify()), r#"{"a":1}"#));
        let alone = read_response("修改", None, Language::Zh).parsed.unwrap_err();
        assert_eq!(alone.code, ErrorCode::InvalidField);
        assert!(alone.detail.contains("修改 {"), "{alone:?}");
        assert!(read_response("同意", Some(arguments), Language::Zh).parsed.is_err());
    }
}
