//! Answers as people write them.

use super::{About, Answer};
use crate::code::Failure;

/// What somebody wrote as an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The words.
    pub words: String,
    /// What they are read as, wherever words may be a command.
    pub read: Result<Answer, Failure>,
}

impl Written {
    /// The answer to all of these. To a question of the model's all is an answer that neither skips it
    /// nor stops the run: its own words, as they are.
    ///
    /// # Errors
    /// Those of [`Answer::read`].
    pub fn to<'a>(&self, asked: impl IntoIterator<Item = &'a About>) -> Result<Answer, Failure> {
        let mut asked = asked.into_iter().peekable();
        let are_questions = asked.peek().is_some() && asked.all(About::is_question);
        match &self.read {
            Ok(Answer::Skip | Answer::Stop) => self.read.clone(),
            Ok(Answer::Confirm | Answer::Modify { .. } | Answer::Say { .. }) | Err(_)
                if are_questions =>
            {
                Answer::say(&self.words).map_err(|(code, problem)| Failure::new(code, problem))
            }
            read => read.clone(),
        }
    }
}

/// Words without the marks that end a sentence: as they are compared with those we know.
#[must_use]
pub fn without_marks(words: &str) -> &str {
    words.trim().trim_end_matches(['.', '!', '。', '！', '．', '…', '~', '～']).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::ErrorCode;
    use crate::id::CallId;
    use serde_json::{Map, json};

    fn call(tool: &str) -> About {
        let (call, tool) = (CallId::new("t1.c1").unwrap(), tool.to_owned());
        About::Call { call, tool, arguments: Map::new() }
    }

    #[test]
    fn to_a_question_all_is_an_answer_but_what_skips_or_stops() {
        let (question, other) = (call(super::super::ASK_USER), call("file_tool"));
        let arguments = json!({"region": "East"}).as_object().unwrap().clone();
        let refused = || Err(Failure::new(ErrorCode::InvalidField, "needs parameters"));
        for (words, read) in [
            ("yes", Ok(Answer::Confirm)),
            ("修改", refused()),
            (r#"{"region": "East"}"#, Ok(Answer::Modify { arguments })),
            ("East.", Ok(Answer::Say { words: "East.".to_owned() })),
        ] {
            let written = Written { words: words.to_owned(), read: read.clone() };
            assert_eq!(written.to([&question]), Ok(Answer::Say { words: words.to_owned() }));
            for asked in [&[&other][..], &[&question, &other], &[]] {
                assert_eq!(written.to(asked.iter().copied()), read, "{words}");
            }
        }
        for read in [Answer::Skip, Answer::Stop] {
            let written = Written { words: "x".to_owned(), read: Ok(read.clone()) };
            assert_eq!(written.to([&question]), Ok(read));
        }
        let empty = Written { words: " ".to_owned(), read: refused() };
        assert_eq!(empty.to([&question]).unwrap_err().detail, "`feedback` is empty");
    }
}
