//! Answers as people write them, in the words of their languages.

use djinn_core::code::{ErrorCode, Failure};
use djinn_core::feedback::{Answer, Written, without_marks};
use djinn_core::settings::Language;
use serde_json::{Map, Value};

use crate::json;

/// Reads what a person wrote: a word of either language, changed arguments as JSON, alone or after the
/// word for it, or words for the model. `arguments` are those that came besides.
pub(crate) fn read(
    words: &str,
    arguments: Option<Map<String, Value>>,
    language: Language,
) -> Written {
    let own = arguments.clone().map(|arguments| Value::Object(arguments).to_string());
    let words_of_it = own.unwrap_or_else(|| words.to_owned());
    Written { words: words_of_it, read: read_as_command(words, arguments, language) }
}

fn read_as_command(
    words: &str,
    arguments: Option<Map<String, Value>>,
    language: Language,
) -> Result<Answer, Failure> {
    if arguments.is_none()
        && let Some(arguments) = arguments_in(words)
    {
        return Ok(Answer::Modify { arguments });
    }
    let word = known(words);
    if word == Some("modify") && arguments.is_none() {
        let how = match language {
            Language::En => {
                r#"modify needs `parameters`: the arguments. In a chat: modify {"name": "value"}"#
            }
            Language::Zh => r#"修改需要给出参数 `parameters`。在对话中：修改 {"参数名": "值"}"#,
        };
        return Err(Failure::new(ErrorCode::InvalidField, how));
    }
    Answer::read(word.unwrap_or(words), arguments)
        .map_err(|(code, problem)| Failure::new(code, problem))
}

/// The word of the API for a word of a language.
fn known(words: &str) -> Option<&'static str> {
    Some(match without_marks(words).to_lowercase().as_str() {
        "同意" | "确认" | "继续" | "是" | "是的" | "好" | "好的" | "可以" => {
            "confirm"
        }
        "跳过" => "skip",
        "停止" | "取消" | "终止" => "stop",
        "修改" | "modify" => "modify",
        _ => return None,
    })
}

/// The JSON object that words are, or that follows the word for a change.
fn arguments_in(words: &str) -> Option<Map<String, Value>> {
    let words = words.trim();
    let lower = words.to_ascii_lowercase();
    let after = ["修改", "modify"].iter().find(|word| lower.starts_with(**word));
    let rest = after.and_then(|word| words.get(word.len()..)).unwrap_or(words);
    let text = rest.trim_start_matches([':', '：']).trim();
    if !text.starts_with('{') {
        return None;
    }
    match json::read(text.as_bytes()) {
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
        let modify = || Answer::Modify { arguments: arguments.clone() };
        let say = |words: &str| Answer::Say { words: words.to_owned() };
        for (words, answer) in [
            ("同意", Answer::Confirm),
            (" 确认。", Answer::Confirm),
            ("Yes", Answer::Confirm),
            ("跳过！", Answer::Skip),
            ("停止", Answer::Stop),
            ("取消", Answer::Stop),
            ("cancel", Answer::Stop),
            (r#"{"a": 1}"#, modify()),
            (r#"修改 {"a": 1}"#, modify()),
            (r#"修改：{"a": 1}"#, modify()),
            (r#"Modify {"a": 1}"#, modify()),
            ("修改一下标题", say("修改一下标题")),
            ("{not json}", say("{not json}")),
            ("不同意", say("不同意")),
        ] {
            let written = read(words, None, Language::Zh);
            assert_eq!((written.read, written.words.as_str()), (Ok(answer), words));
        }
        let written = read("修改", Some(arguments.clone()), Language::Zh);
        assert_eq!((written.read, written.words.as_str()), (Ok(modify()), r#"{"a":1}"#));
        let alone = read("修改", None, Language::Zh).read.unwrap_err();
        assert_eq!(alone.code, ErrorCode::InvalidField);
        assert!(alone.detail.contains("修改 {"), "{alone:?}");
        assert!(read("同意", Some(arguments), Language::Zh).read.is_err());
    }
}
