//! The form of a link's page, as submitted by a browser.

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::human::{HumanResponse, Subject};
use djinn_core::language::Language;
use djinn_runtime::port::secret::Secret;
use djinn_runtime::texts::MAX_COMMENT;
use serde_json::{Map, Value};

use crate::body::read_bytes_up_to;
use crate::json;
use crate::response_parser;

/// Maximum size of a form in bytes: the longest arguments shown, with every letter encoded, and the comment.
const MAX_FORM: usize = 512 * 1024;

/// The button that stores a key and continues.
pub(super) const SET_KEY: &str = "set_key";

/// A submitted form.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ResponseForm {
    /// The button: `confirm`, `skip`, `stop`, `say`, `modify`, `set_key`.
    button: String,
    /// The form's field `words`; empty if absent.
    pub(super) words: String,
    /// The replacement of the request's subject: arguments as JSON, or a text.
    pub(super) replacement: Option<String>,
    /// The key that an interrupted call needs; never shown again.
    key: Option<Secret>,
}

impl ResponseForm {
    /// Reads a form of at most [`MAX_FORM`] bytes, with the content type of a form.
    pub(crate) async fn from_body(headers: &HeaderMap, body: Body) -> Result<Self, Failure> {
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(is_form) {
            let sentence = "send the form, with `Content-Type: application/x-www-form-urlencoded`";
            return Err(Failure::new(ErrorCode::UnsupportedBody, sentence));
        }
        let body =
            read_bytes_up_to(headers, body, MAX_FORM).await.map_err(|refusal| refusal.failure)?;
        Self::of(&body)
    }

    fn of(body: &[u8]) -> Result<Self, Failure> {
        let mut button = None;
        let mut words = None;
        let mut instead = None;
        let mut key = None;
        for (name, value) in form_urlencoded::parse(body) {
            let place = match &*name {
                "response" => &mut button,
                "words" => &mut words,
                "instead" => &mut instead,
                "key" => &mut key,
                _ => continue,
            };
            // Browsers end lines with CR LF.
            if place.replace(value.replace("\r\n", "\n")).is_some() {
                return Err(form_error(format!("`{name}` occurs twice")));
            }
        }
        let button = button.unwrap_or_default();
        let key = key.map(|key| Secret::new(&key));
        Ok(Self { button, words: words.unwrap_or_default(), replacement: instead, key })
    }

    /// Returns the key of a form that was sent by the button `set_key`. The response is then to continue.
    pub(crate) fn key(&self) -> Option<Secret> {
        (self.button == SET_KEY).then(|| self.key.clone().unwrap_or_else(|| Secret::new("")))
    }

    /// Returns the response to this subject, and a comment.
    pub(crate) fn to_response(
        &self,
        about: &Subject,
        language: Language,
    ) -> Result<(HumanResponse, String), Failure> {
        let parse =
            |words: &str, arguments| response_parser::read_response(words, arguments, language);
        let response = match self.button.as_str() {
            "say" if self.words.trim().is_empty() => {
                return Err(form_error("`words` is empty".to_owned()));
            }
            "say" => return Ok((parse(&self.words, None).response_to([about])?, String::new())),
            "modify" => {
                parse("modify", Some(self.parse_parameters(about)?)).response_to([about])?
            }
            SET_KEY => HumanResponse::Confirm,
            "confirm" | "skip" | "stop" => parse(&self.button, None).parsed?,
            _ => {
                let problem = "`response` must be confirm, skip, stop, say or modify";
                return Err(form_error(problem.to_owned()));
            }
        };
        let comment = self.words.trim();
        if comment.len() > MAX_COMMENT {
            let problem = format!("`words` beside a response, at most {MAX_COMMENT} bytes");
            return Err(Failure::new(ErrorCode::TooLong, problem));
        }
        Ok((response, comment.to_owned()))
    }

    fn parse_parameters(&self, about: &Subject) -> Result<Map<String, Value>, Failure> {
        let text = self.replacement.as_deref().unwrap_or_default();
        if let Some(name) = text_parameter(about) {
            return Ok(Map::from_iter([(name.to_owned(), text.into())]));
        }
        let parameters = json::parse_strict(text.as_bytes())
            .map_err(|error| form_error(format!("the arguments are not valid JSON: {error}")))?;
        let Value::Object(parameters) = parameters else {
            return Err(form_error("the arguments must be a JSON object".to_owned()));
        };
        Ok(parameters)
    }
}

/// Returns the only parameter of a subject edited as text; `None` for a subject edited as JSON or not
/// editable.
pub(super) fn text_parameter(about: &Subject) -> Option<&'static str> {
    match about {
        Subject::StepReview { .. } => Some("details"),
        Subject::ResultReview { .. } => Some("text"),
        Subject::Call { .. }
        | Subject::CallInterrupt { .. }
        | Subject::ModelInterrupt { .. }
        | Subject::BudgetExtension { .. } => None,
    }
}

fn form_error(problem: String) -> Failure {
    Failure::new(ErrorCode::InvalidField, problem)
}

/// Returns true for the media type of a form in UTF-8.
fn is_form(media_type: &str) -> bool {
    let mut parts = media_type.split(';').map(|part| part.trim().to_ascii_lowercase());
    let is_utf8 = |parameter: String| match parameter.strip_prefix("charset=") {
        Some(charset) => matches!(charset.trim_matches('"'), "utf-8" | "utf8"),
        None => true,
    };
    parts.next().as_deref() == Some("application/x-www-form-urlencoded") && parts.all(is_utf8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_core::id::{CallId, StepId};
    use serde_json::json;

    fn parse_call_form(body: &str) -> Result<(HumanResponse, String), String> {
        let call = Subject::Call {
            call: CallId::new("t1.c1").unwrap(),
            tool: "file_tool".to_owned(),
            arguments: Map::new(),
        };
        parse_form(body, &call)
    }

    fn parse_form(body: &str, about: &Subject) -> Result<(HumanResponse, String), String> {
        let form = ResponseForm::of(body.as_bytes())
            .and_then(|form| form.to_response(about, Language::En));
        form.map_err(|failure| failure.detail)
    }

    #[test]
    fn a_button_says_what_the_rest_is_good_for() {
        let arguments = json!({"a": 1}).as_object().unwrap().clone();
        for (body, answer, comment) in [
            ("response=confirm&words=&instead=%7B%7D", HumanResponse::Confirm, ""),
            ("response=skip&words=Not+today.%0D%0A", HumanResponse::Skip, "Not today."),
            ("words=x&response=stop&more=1", HumanResponse::Stop, "x"),
            ("response=modify&instead=%7B%22a%22%3A+1%7D", HumanResponse::Modify { arguments }, ""),
            (
                "response=say&words=a%0D%0Ab%2B%E9%87%91",
                HumanResponse::Say { text: "a\nb+金".into() },
                "",
            ),
            // As in a chat.
            ("response=say&words=Skip", HumanResponse::Skip, ""),
            ("response=say&words=%E8%B7%B3%E8%BF%87", HumanResponse::Skip, ""),
        ] {
            assert_eq!(parse_call_form(body), Ok((answer, comment.to_owned())), "{body}");
        }
    }

    #[test]
    fn steps_and_results_are_changed_as_texts() {
        let step = StepId(1);
        let details = "look".to_owned();
        let result = Subject::ResultReview {
            step,
            details: details.clone(),
            text: String::new(),
            files: vec![],
        };
        for (about, name) in [(Subject::StepReview { step, details }, "details"), (result, "text")]
        {
            let arguments = json!({name: "{\n"}).as_object().unwrap().clone();
            let given = parse_form("response=modify&instead=%7B%0D%0A", &about);
            assert_eq!(given, Ok((HumanResponse::Modify { arguments }, String::new())));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let long = format!("response=skip&words={}", "x".repeat(MAX_COMMENT + 1));
        for (body, part) in [
            ("", "`response` must be"),
            ("response=", "`response` must be"),
            ("response=yes", "`response` must be"),
            ("response=confirm&response=skip", "`response` occurs twice"),
            ("response=say&words=%20", "`words` is empty"),
            ("response=modify", "are not valid JSON"),
            ("response=modify&instead=%7B%22a%22%3A1%2C%22a%22%3A2%7D", "are not valid JSON"),
            ("response=modify&instead=%5B%5D", "must be a JSON object"),
            (&long, "at most 4096 bytes"),
        ] {
            let problem = parse_call_form(body).unwrap_err();
            assert!(problem.contains(part), "{body}: {problem}");
        }
    }

    #[test]
    fn a_form_has_one_media_type() {
        for good in [
            "application/x-www-form-urlencoded",
            "Application/X-WWW-Form-Urlencoded; charset=UTF-8",
        ] {
            assert!(is_form(good), "{good}");
        }
        let latin = "application/x-www-form-urlencoded; charset=latin1";
        for bad in ["", "application/json", "multipart/form-data", "text/plain", latin] {
            assert!(!is_form(bad), "{bad}");
        }
    }
}
