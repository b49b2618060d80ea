//! Text responses of users to human requests.

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::human::{HumanResponse, MAX_RESPONSE_BYTES, Subject};
use serde_json::{Map, Value};

/// A user's text as a response.
#[derive(Debug, Clone, PartialEq)]
pub struct TextResponse {
    /// The text, unchanged.
    pub text: String,
    /// The parsed text, for requests that accept commands.
    pub parsed: Result<HumanResponse, Failure>,
}

impl TextResponse {
    /// Returns the response to all of these requests. If all are clarifications, every text except skip and
    /// stop is an answer in the user's own words.
    ///
    /// # Errors
    /// Returns the errors of [`parse_response`].
    pub fn response_to<'a>(
        &self,
        subjects: impl IntoIterator<Item = &'a Subject>,
    ) -> Result<HumanResponse, Failure> {
        let mut subjects = subjects.into_iter().peekable();
        let are_questions = subjects.peek().is_some() && subjects.all(Subject::is_question);
        match &self.parsed {
            Ok(HumanResponse::Skip | HumanResponse::Stop) => self.parsed.clone(),
            Ok(
                HumanResponse::Confirm | HumanResponse::Modify { .. } | HumanResponse::Say { .. },
            )
            | Err(_)
                if are_questions =>
            {
                say_words(&self.text).map_err(|(code, problem)| Failure::new(code, problem))
            }
            meaning => meaning.clone(),
        }
    }
}

/// Parses a client's text: a few words are commands, any other text is for the model. Only `modify` takes
/// `arguments`. Commands in users' languages are parsed earlier, by the protocol.
///
/// # Errors
/// Returns `invalid_field` for `modify` without arguments, for arguments with another command, and for an
/// empty text. Returns `too_long` for a text above the limit.
pub fn parse_response(
    words: &str,
    arguments: Option<Map<String, Value>>,
) -> Result<HumanResponse, (ErrorCode, &'static str)> {
    let word = words.trim().to_lowercase();
    Ok(match (word.as_str(), arguments) {
        ("confirm" | "yes" | "y" | "proceed" | "continue", None) => HumanResponse::Confirm,
        ("skip", None) => HumanResponse::Skip,
        ("stop" | "cancel" | "abort", None) => HumanResponse::Stop,
        ("modify", None) => {
            return Err((
                ErrorCode::InvalidField,
                "modify requires `parameters` with the arguments",
            ));
        }
        ("modify", Some(arguments)) => HumanResponse::Modify { arguments },
        (_, Some(_)) => {
            return Err((ErrorCode::InvalidField, "`parameters` are only allowed with modify"));
        }
        (_, None) => return say_words(words),
    })
}

/// Returns the text unchanged if its length is valid.
fn say_words(words: &str) -> Result<HumanResponse, (ErrorCode, &'static str)> {
    match words.len() {
        _ if words.trim().is_empty() => Err((ErrorCode::InvalidField, "`response` is empty")),
        0..=MAX_RESPONSE_BYTES => Ok(HumanResponse::Say { text: words.to_owned() }),
        _ => Err((ErrorCode::TooLong, "`response`, at most 16384 bytes")),
    }
}

/// Trims white space and the punctuation at the end, for comparison with commands.
#[must_use]
pub fn trim_end_marks(words: &str) -> &str {
    words.trim().trim_end_matches(['.', '!', '。', '！', '．', '…', '~', '～']).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_core::human::ASK_USER;
    use djinn_core::id::CallId;
    use serde_json::json;

    fn call(tool: &str) -> Subject {
        let call = CallId::new("t1.c1").unwrap();
        let tool = tool.to_owned();
        Subject::Call { call, tool, arguments: Map::new() }
    }

    #[test]
    fn every_text_answers_a_question_but_those_that_skip_or_stop() {
        let question = call(ASK_USER);
        let other = call("file_tool");
        let arguments = json!({"region": "East"}).as_object().unwrap().clone();
        let refused = || Err(Failure::new(ErrorCode::InvalidField, "needs parameters"));
        for (words, read) in [
            ("yes", Ok(HumanResponse::Confirm)),
            ("修改", refused()),
            (r#"{"region": "East"}"#, Ok(HumanResponse::Modify { arguments })),
            ("East.", Ok(HumanResponse::Say { text: "East.".to_owned() })),
        ] {
            let written = TextResponse { text: words.to_owned(), parsed: read.clone() };
            assert_eq!(
                written.response_to([&question]),
                Ok(HumanResponse::Say { text: words.to_owned() })
            );
            for asked in [&[&other][..], &[&question, &other], &[]] {
                assert_eq!(written.response_to(asked.iter().copied()), read, "{words}");
            }
        }
        for read in [HumanResponse::Skip, HumanResponse::Stop] {
            let written = TextResponse { text: "x".to_owned(), parsed: Ok(read.clone()) };
            assert_eq!(written.response_to([&question]), Ok(read));
        }
        let empty = TextResponse { text: " ".to_owned(), parsed: refused() };
        assert_eq!(empty.response_to([&question]).unwrap_err().detail, "`response` is empty");
    }

    #[test]
    fn answers_are_read_as_people_write_them() {
        let parameters = json!({"a": 1}).as_object().unwrap().clone();
        let cases = [
            ("confirm", None, Ok("confirm")),
            (" YES ", None, Ok("confirm")),
            ("proceed", None, Ok("confirm")),
            ("继续", None, Ok("say")),
            ("cancel", None, Ok("stop")),
            ("Abort", None, Ok("stop")),
            ("skip", None, Ok("skip")),
            ("modify", Some(parameters.clone()), Ok("modify")),
            ("confirm", Some(parameters.clone()), Err(())),
            ("no, don't", Some(parameters), Err(())),
            ("modify", None, Err(())),
            ("  ", None, Err(())),
            ("Use the other file.", None, Ok("say")),
        ];
        for (words, arguments, expected) in cases {
            let read = parse_response(words, arguments);
            assert_eq!(
                read.as_ref().map(HumanResponse::as_str).map_err(|_| ()),
                expected,
                "{words:?}"
            );
        }
        assert!(parse_response(&"x".repeat(20_000), None).is_err());
    }
}
