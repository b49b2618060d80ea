//! Answers as people write them.

use super::{HumanResponse, Subject};
use crate::error_code::Failure;

/// What somebody wrote as an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct TextResponse {
    /// The answer word for word.
    pub text: String,
    /// What they are read as, wherever words may be a command.
    pub parsed: Result<HumanResponse, Failure>,
}

impl TextResponse {
    /// The answer to all of these. To a question of the model's all is an answer that neither skips it
    /// nor stops the run: its own words, as they are.
    ///
    /// # Errors
    /// Those of [`HumanResponse::parse`].
    pub fn response_to<'a>(
        &self,
        asked: impl IntoIterator<Item = &'a Subject>,
    ) -> Result<HumanResponse, Failure> {
        let mut asked = asked.into_iter().peekable();
        let are_questions = asked.peek().is_some() && asked.all(Subject::is_question);
        match &self.parsed {
            Ok(HumanResponse::Skip | HumanResponse::Stop) => self.parsed.clone(),
            Ok(
                HumanResponse::Confirm | HumanResponse::Modify { .. } | HumanResponse::Say { .. },
            )
            | Err(_)
                if are_questions =>
            {
                HumanResponse::from_text(&self.text)
                    .map_err(|(code, problem)| Failure::new(code, problem))
            }
            read => read.clone(),
        }
    }
}

/// Words without the marks that end a sentence: as they are compared with those we know.
#[must_use]
pub fn trim_end_marks(words: &str) -> &str {
    words.trim().trim_end_matches(['.', '!', '。', '！', '．', '…', '~', '～']).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_code::ErrorCode;
    use crate::id::CallId;
    use serde_json::{Map, json};

    fn call(tool: &str) -> Subject {
        let (call, tool) = (CallId::new("t1.c1").unwrap(), tool.to_owned());
        Subject::Call { call, tool, arguments: Map::new() }
    }

    #[test]
    fn every_text_answers_a_question_but_those_that_skip_or_stop() {
        let (question, other) = (call(super::super::ASK_USER), call("file_tool"));
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
        assert_eq!(empty.response_to([&question]).unwrap_err().detail, "`feedback` is empty");
    }
}
