//! The pages behind links, without scripts and external content.
//!
//! Most of a page's text comes from models and tools. So the template engine escapes every text, and
//! invisible or misleading characters are spelled out.

mod document;
mod hidden;

use std::collections::BTreeMap;

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use djinn_core::error_code::Failure;
use djinn_core::human::{HumanRequest, NeededKey, Resolution, Subject};
use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_messages::Wording;
use djinn_protocol::refusal;
use djinn_runtime::serve::ResponseStatus;
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;

use super::form::{ResponseForm, SET_KEY, text_parameter};
use super::texts::{self, PageTexts, page_texts};
use document::{Button, Document, FormPart, InterruptPart, KeyField, LinkedFile, Term, TextArea};
use hidden::spell_hidden;

/// Maximum characters of a call's arguments in an editable form; longer arguments can be approved, not
/// changed.
const MAX_SHOWN: usize = 64 * 1024;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:44em;margin:2em auto;padding:0 1em;\
color:#222;background:#fff}h1{font-size:1.3em}dt{font-weight:600;margin-top:.8em}dd{margin:0}\
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f4f4f4;padding:.8em;max-height:24em;overflow:auto}\
textarea{width:100%;box-sizing:border-box;font:inherit}label{display:block;margin-top:1.2em}\
button{font:inherit;padding:.4em 1em;margin:.6em .6em 0 0}.problem{border-left:4px solid #b00;padding-left:.8em}";

/// A human request with its possible responses.
pub(crate) struct RequestPage<'a> {
    pub(crate) request: &'a HumanRequest,
    pub(crate) reasoning: &'a str,
    /// The URLs of the request's files.
    pub(crate) files: &'a BTreeMap<FileName, String>,
    /// The link's expiry, Unix milliseconds.
    pub(crate) until_ms: i64,
    pub(crate) language: Language,
}

impl RequestPage<'_> {
    /// Renders the request with an empty form.
    pub(crate) fn render(&self) -> Response {
        self.render_page(StatusCode::OK, None, &ResponseForm::default())
    }

    /// Renders the request with an error and the submitted form.
    pub(crate) fn render_with_problem(&self, problem: &Failure, form: &ResponseForm) -> Response {
        self.render_page(http_status(problem), Some(problem), form)
    }

    fn render_page(
        &self,
        status: StatusCode,
        problem: Option<&Failure>,
        form: &ResponseForm,
    ) -> Response {
        let words = page_texts(self.language);
        let about = &self.request.subject;
        let subject = subject_text(about);
        let interrupt = about.interrupt();
        let intro = match about {
            Subject::Call { .. } | Subject::StepReview { .. } => words.intro,
            Subject::ResultReview { .. } => words.result_intro,
            Subject::BudgetExtension { .. } => words.budget_intro,
            Subject::CallInterrupt { .. } | Subject::ModelInterrupt { .. } => words.interrupt_intro,
        };
        let document = Document {
            code: problem.map(|problem| problem.code.as_str()),
            problem: problem.map(|problem| problem.sentence(self.language)),
            paragraphs: vec![intro.to_owned()],
            interrupt: interrupt
                .map(|why| InterruptPart { message: &why.message, code: &why.code }),
            terms: self.terms(words, &subject),
            form: Some(response_form(about, words, &subject, form, self.language)),
            ..plain_document(words, words.title)
        };
        html_response(status, &document, self.language)
    }

    /// Returns the details of the request, one per line.
    fn terms<'t>(&'t self, words: &'t PageTexts, subject: &str) -> Vec<Term<'t>> {
        let Self { request, language, .. } = self;
        let mut terms = Vec::new();
        if !self.reasoning.is_empty() {
            terms.push(Term::new(words.reasoning, self.reasoning));
        }
        if request.child.is_some() {
            terms.push(Term::new(words.task, request.id.path().to_string()));
        }
        push_subject(&mut terms, &request.subject, words, self.files, subject);
        terms.push(Term::new(words.risk, texts::risk_text(request.risk, *language)));
        if !request.reasons.is_empty() {
            let why = request.reasons.iter().map(|why| texts::reason_text(*why, *language));
            terms.push(Term::new(words.reason, why.collect::<Vec<_>>().join(" ")));
        }
        if matches!(request.subject, Subject::Call { .. }) {
            let estimate = texts::estimate_text(&request.estimate, *language);
            terms.push(Term::new(words.estimate, estimate));
        }
        if let Some(at_ms) = request.expires_at_ms {
            terms.push(Term::new(words.decision_time, format_utc(at_ms)));
        }
        terms.push(Term::new(words.link_expiry, format_utc(self.until_ms)));
        terms
    }
}

/// Returns the form, which is submitted to the page's own URL.
fn response_form<'a>(
    about: &Subject,
    words: &'a PageTexts,
    subject: &'a str,
    form: &'a ResponseForm,
    language: Language,
) -> FormPart<'a> {
    let needed = about.interrupt().and_then(|interrupt| interrupt.key.as_ref());
    let key = needed.map(|NeededKey { name, origin }| KeyField {
        label: Wording::PageKeyLabel.fill(language, &[("key", name.as_str()), ("origin", origin)]),
        response: SET_KEY,
        button: words.set_key,
    });
    let is_question = about.is_question();
    let mut buttons = Vec::new();
    if !is_question {
        let label = match about {
            Subject::Call { .. } | Subject::StepReview { .. } => words.confirm,
            Subject::ResultReview { .. } => words.accept_result,
            Subject::BudgetExtension { .. } => words.extend_budget,
            Subject::CallInterrupt { .. } | Subject::ModelInterrupt { .. } => words.resume,
        };
        buttons.push(Button { response: "confirm", label });
    }
    // Skipping a result keeps the result, as confirming does.
    if !matches!(about, Subject::ResultReview { .. }) {
        let is_budget = matches!(about, Subject::BudgetExtension { .. });
        let label = if is_budget { words.sum_up } else { words.skip };
        buttons.push(Button { response: "skip", label });
    }
    buttons.push(Button { response: "stop", label: words.stop });
    let mut areas = vec![TextArea {
        name: "words",
        label: words.message_label,
        text: &form.words,
        is_code: false,
        response: "say",
        button: words.send_message,
    }];
    if key.is_some() {
        // The page has one field, so that nobody sends a key as a message.
        areas.clear();
    }
    if about.interrupt().is_none() && !is_question && visible_part(subject).1 {
        let is_text = text_parameter(about).is_some();
        let (label, button) = if is_text {
            (words.text_label, words.accept_text)
        } else {
            (words.arguments_label, words.confirm_modified)
        };
        areas.push(TextArea {
            name: "instead",
            label,
            text: form.replacement.as_deref().unwrap_or(subject),
            is_code: !is_text,
            response: "modify",
            button,
        });
    }
    FormPart { key, buttons, areas }
}

fn push_subject<'a>(
    terms: &mut Vec<Term<'a>>,
    about: &'a Subject,
    words: &'a PageTexts,
    urls: &'a BTreeMap<FileName, String>,
    subject: &str,
) {
    let name = match about {
        Subject::Call { tool, .. } | Subject::CallInterrupt { tool, .. } => {
            terms.push(Term::new(words.tool, tool));
            words.arguments
        }
        Subject::ModelInterrupt { .. } => return,
        Subject::BudgetExtension { used_up, .. } => {
            terms.push(Term::new(words.budget, &used_up.detail));
            words.more
        }
        Subject::StepReview { step, .. } => {
            terms.push(Term::new(words.step, step.to_string()));
            words.details
        }
        Subject::ResultReview { step, details, files, .. } => {
            terms.push(Term::new(words.step, step.to_string()));
            terms.push(Term::new(words.details, details));
            if !files.is_empty() {
                let link = |file: &'a FileName| LinkedFile {
                    name: file.as_str(),
                    url: urls.get(file).map(String::as_str),
                };
                let files = files.iter().map(link).collect();
                terms.push(Term { files, ..Term::new(words.files, "") });
            }
            words.result
        }
    };
    let (text, is_whole) = visible_part(subject);
    let note = (!is_whole).then_some(words.truncated_note);
    terms.push(Term { is_code: true, note, ..Term::new(name, text) });
}

/// Renders the reason for having nothing to respond to.
pub(crate) fn problem_page(problem: &Failure, language: Language) -> Response {
    let document = Document {
        code: Some(problem.code.as_str()),
        paragraphs: vec![problem.sentence(language)],
        ..plain_document(page_texts(language), "Djinn")
    };
    html_response(http_status(problem), &document, language)
}

/// Like [`problem_page`] in place of a file, and allowed in a frame of another page.
pub(crate) fn file_problem_page(failure: &Failure, language: Language) -> Response {
    let mut response = problem_page(failure, language);
    let headers = response.headers_mut();
    headers.remove(X_FRAME_OPTIONS);
    let policy = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    response
}

/// Renders the resolution of a request, for a late response or a later visit.
pub(crate) fn resolution_page(
    settled: &Resolution,
    late: Option<&Failure>,
    language: Language,
) -> Response {
    let words = page_texts(language);
    let response = texts::response_text(&settled.response, language);
    let outcome = match settled.by {
        Some(_) => format!("{}: {response}", words.resolved_title),
        None => format!("{}; {}: {response}", words.unanswered_note, words.by_policy),
    };
    let note = late.map(|_| words.unchanged_note.to_owned());
    let document = Document {
        code: late.map(|late| late.code.as_str()),
        paragraphs: std::iter::once(outcome).chain(note).collect(),
        ..plain_document(words, words.resolved_title)
    };
    html_response(late.map_or(StatusCode::OK, http_status), &document, language)
}

/// Renders the status of a response.
pub(crate) fn receipt_page(
    response_status: ResponseStatus,
    response: &str,
    language: Language,
) -> Response {
    let words = page_texts(language);
    let (status, sentence) = match response_status {
        ResponseStatus::Accepted => (StatusCode::OK, words.accepted_note),
        ResponseStatus::Pending => (StatusCode::ACCEPTED, words.pending_note),
    };
    let paragraphs = [texts::response_text(response, language), sentence];
    let document = Document {
        paragraphs: paragraphs.map(str::to_owned).to_vec(),
        ..plain_document(words, words.resolved_title)
    };
    html_response(status, &document, language)
}

/// Returns the subject's text: arguments as JSON with invisible characters spelled out, or plain text.
fn subject_text(about: &Subject) -> String {
    match about {
        Subject::Call { .. } | Subject::CallInterrupt { .. } | Subject::BudgetExtension { .. } => {
            let parameters = about.parameters().unwrap_or_default();
            spell_hidden(&serde_json::to_string_pretty(&parameters).unwrap_or_default())
        }
        Subject::ModelInterrupt { .. } => String::new(),
        Subject::StepReview { details, .. } => details.clone(),
        Subject::ResultReview { text, .. } => text.clone(),
    }
}

/// Returns the visible part of a text, and true if the part is the whole text.
fn visible_part(text: &str) -> (&str, bool) {
    let end = text.floor_char_boundary(MAX_SHOWN);
    (text.get(..end).unwrap_or_default(), end == text.len())
}

fn format_utc(at_ms: i64) -> String {
    OffsetDateTime::from_unix_timestamp(at_ms.div_euclid(1_000)).map_or_else(
        |_| String::new(),
        |at| {
            let year = at.year();
            let month = u8::from(at.month());
            let day = at.day();
            format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", at.hour(), at.minute())
        },
    )
}

fn http_status(problem: &Failure) -> StatusCode {
    StatusCode::from_u16(refusal::http_status(problem.code))
        .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Returns a page with only a title.
fn plain_document<'a>(words: &'a PageTexts, title: &'a str) -> Document<'a> {
    Document { tag: words.tag, title, style: STYLE, ..Document::default() }
}

fn html_response(status: StatusCode, document: &Document<'_>, language: Language) -> Response {
    let style = STANDARD.encode(Sha256::digest(STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'"
    );
    let text = |text| HeaderValue::from_static(text);
    let headers = [
        (CONTENT_TYPE, text("text/html; charset=utf-8")),
        (CACHE_CONTROL, text("no-store")),
        (REFERRER_POLICY, text("no-referrer")),
        (X_CONTENT_TYPE_OPTIONS, text("nosniff")),
        (X_FRAME_OPTIONS, text("DENY")),
        (HeaderName::from_static("x-robots-tag"), text("noindex")),
        (VARY, text("accept-language")),
        (axum::http::header::CONTENT_LANGUAGE, text(page_texts(language).tag)),
    ];
    let policy = HeaderValue::from_str(&policy).ok();
    let policy: HeaderMap =
        policy.map(|value| (CONTENT_SECURITY_POLICY, value)).into_iter().collect();
    (status, policy, headers, document.render_html()).into_response()
}
