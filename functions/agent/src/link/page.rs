//! What somebody sees who follows a link: one page, without a script and with nothing from elsewhere.
//!
//! Models and tools wrote most of what it shows. So nothing but our own letters is written unescaped,
//! and characters that would show a text as another one are spelled out.

mod html;

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
use djinn_core::human::{HumanRequest, Resolution, Subject};
use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_runtime::serve::ResponseStatus;
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;

use super::form::{AnswerForm, text_parameter};
use super::texts::{self, PageTexts, page_texts};
use html::Html;

/// Characters of a call's arguments; longer ones can be answered, not changed.
const MAX_SHOWN: usize = 64 * 1024;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:44em;margin:2em auto;padding:0 1em;\
color:#222;background:#fff}h1{font-size:1.3em}dt{font-weight:600;margin-top:.8em}dd{margin:0}\
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f4f4f4;padding:.8em;max-height:24em;overflow:auto}\
textarea{width:100%;box-sizing:border-box;font:inherit}label{display:block;margin-top:1.2em}\
button{font:inherit;padding:.4em 1em;margin:.6em .6em 0 0}.problem{border-left:4px solid #b00;padding-left:.8em}";

/// Something that is asked, and how it may be answered.
pub(crate) struct AnswerPage<'a> {
    pub(crate) request: &'a HumanRequest,
    pub(crate) reasoning: &'a str,
    /// Where the files that it is about open.
    pub(crate) files: &'a BTreeMap<FileName, String>,
    /// Until when the link counts, Unix milliseconds.
    pub(crate) until_ms: i64,
    pub(crate) language: Language,
}

impl AnswerPage<'_> {
    /// The question with its form.
    pub(crate) fn render(&self) -> Response {
        self.render_page(StatusCode::OK, None, &AnswerForm::default())
    }

    /// The same with what was wrong with an answer, and with what was filled in.
    pub(crate) fn render_with_problem(&self, problem: &Failure, form: &AnswerForm) -> Response {
        self.render_page(http_status(problem), Some(problem), form)
    }

    fn render_page(
        &self,
        status: StatusCode,
        problem: Option<&Failure>,
        form: &AnswerForm,
    ) -> Response {
        let words = page_texts(self.language);
        let mut html = Html::default();
        if let Some(problem) = problem {
            write_problem(&mut html, problem, self.language);
        }
        self.write_request(&mut html, words);
        self.write_form(&mut html, words, form);
        let code = problem.map(|problem| problem.code.as_str());
        html_response(status, &html_document(words, words.title, code, &html), self.language)
    }

    fn write_request(&self, html: &mut Html, words: &PageTexts) {
        let Self { request, language, .. } = self;
        let interrupt = request.subject.interrupt();
        html.element("p", intro_text(&request.subject, words));
        if let Some(interrupt) = interrupt {
            html.raw("<p class=\"problem\">").text(&interrupt.message);
            html.text(" (").text(&interrupt.code).raw(")</p>");
        }
        html.raw("<dl>\n");
        if !self.reasoning.is_empty() {
            html.term(words.reasoning, self.reasoning);
        }
        if let Some(task) = &request.task {
            html.term(words.task, &task.to_string());
        }
        write_subject(html, &request.subject, words, self.files);
        html.term(words.risk, texts::risk_text(request.risk, *language));
        if !request.reasons.is_empty() {
            let why = request.reasons.iter().map(|why| texts::reason_text(*why, *language));
            html.term(words.reason, &why.collect::<Vec<_>>().join(" "));
        }
        if matches!(request.subject, Subject::Call { .. }) {
            html.term(words.estimate, &texts::estimate_text(&request.estimate, *language));
        }
        if let Some(at_ms) = request.expires_at_ms {
            html.term(words.decision_time, &format_utc(at_ms));
        }
        html.term(words.link_expiry, &format_utc(self.until_ms));
        html.raw("</dl>");
    }

    /// The form; it is sent to where the page is from.
    fn write_form(&self, html: &mut Html, words: &PageTexts, form: &AnswerForm) {
        let about = &self.request.subject;
        let is_question = about.is_question();
        let is_result = matches!(about, Subject::ResultReview { .. });
        html.raw("<form method=\"post\" accept-charset=\"utf-8\">");
        if !is_question {
            html.button("confirm", confirm_label(about, words));
        }
        // A result that is skipped is kept, as one that is confirmed.
        if !is_result {
            let is_budget = matches!(about, Subject::BudgetExtension { .. });
            html.button("skip", if is_budget { words.sum_up } else { words.skip });
        }
        html.button("stop", words.stop);
        html.text_area("words", words.message_label, &form.words, false)
            .button("say", words.send_message);
        let shown = subject_text(about);
        if about.interrupt().is_none() && !is_question && visible_part(&shown).1 {
            let is_text = text_parameter(about).is_some();
            let (words, button) = match is_text {
                true => (words.text_label, words.accept_text),
                false => (words.arguments_label, words.confirm_modified),
            };
            let text = form.replacement.as_deref().unwrap_or(&shown);
            html.text_area("instead", words, text, !is_text).button("modify", button);
        }
        html.raw("</form>");
    }
}

fn intro_text(about: &Subject, words: &PageTexts) -> &'static str {
    match about {
        Subject::Call { .. } | Subject::StepReview { .. } => words.intro,
        Subject::ResultReview { .. } => words.result_intro,
        Subject::BudgetExtension { .. } => words.budget_intro,
        Subject::CallInterrupt { .. } | Subject::ModelInterrupt { .. } => words.interrupt_intro,
    }
}

fn confirm_label(about: &Subject, words: &PageTexts) -> &'static str {
    match about {
        Subject::Call { .. } | Subject::StepReview { .. } => words.confirm,
        Subject::ResultReview { .. } => words.accept_result,
        Subject::BudgetExtension { .. } => words.extend_budget,
        Subject::CallInterrupt { .. } | Subject::ModelInterrupt { .. } => words.resume,
    }
}

fn write_subject(
    html: &mut Html,
    about: &Subject,
    words: &PageTexts,
    urls: &BTreeMap<FileName, String>,
) {
    let name = match about {
        Subject::Call { tool, .. } | Subject::CallInterrupt { tool, .. } => {
            html.term(words.tool, tool);
            words.arguments
        }
        Subject::ModelInterrupt { .. } => return,
        Subject::BudgetExtension { used_up, .. } => {
            html.term(words.budget, &used_up.detail);
            words.more
        }
        Subject::StepReview { step, .. } => {
            html.term(words.step, &step.to_string());
            words.details
        }
        Subject::ResultReview { step, details, files, .. } => {
            html.term(words.step, &step.to_string()).term(words.details, details);
            if !files.is_empty() {
                let files = files.iter().map(|file| (file.as_str(), urls.get(file)));
                let files: Vec<_> =
                    files.map(|(name, url)| (name, url.map(String::as_str))).collect();
                html.linked_term(words.files, &files);
            }
            words.result
        }
    };
    let shown = subject_text(about);
    let (text, is_whole) = visible_part(&shown);
    html.element("dt", name).raw("<dd><pre>").text(text).raw("</pre>\n");
    if !is_whole {
        html.element("p", words.truncated_note);
    }
    html.raw("</dd>");
}

/// Why there is nothing to answer.
pub(crate) fn problem_page(problem: &Failure, language: Language) -> Response {
    let mut html = Html::default();
    html.element("p", &problem.sentence(language));
    let document = html_document(page_texts(language), "Djinn", Some(problem.code.as_str()), &html);
    html_response(http_status(problem), &document, language)
}

/// The same in the place of a file, which may stand in a frame of another page.
pub(crate) fn file_problem_page(failure: &Failure, language: Language) -> Response {
    let mut response = problem_page(failure, language);
    let headers = response.headers_mut();
    headers.remove(X_FRAME_OPTIONS);
    let policy = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    response
}

/// How it was answered: what a late answer is told, and whoever looks then.
pub(crate) fn resolution_page(
    settled: &Resolution,
    late: Option<&Failure>,
    language: Language,
) -> Response {
    let words = page_texts(language);
    let answer = texts::answer_text(&settled.response, language);
    let mut html = Html::default();
    html.raw("<p>");
    match settled.by {
        Some(_) => html.text(words.resolved_title).text(": ").text(answer),
        None => html
            .text(words.unanswered_note)
            .text("; ")
            .text(words.by_policy)
            .text(": ")
            .text(answer),
    };
    html.raw("</p>");
    if late.is_some() {
        html.element("p", words.unchanged_note);
    }
    let code = late.map(|late| late.code.as_str());
    let status = late.map_or(StatusCode::OK, http_status);
    html_response(status, &html_document(words, words.resolved_title, code, &html), language)
}

/// What became of an answer.
pub(crate) fn receipt_page(given: ResponseStatus, answer: &str, language: Language) -> Response {
    let words = page_texts(language);
    let (status, sentence) = match given {
        ResponseStatus::Accepted => (StatusCode::OK, words.accepted_note),
        ResponseStatus::Pending => (StatusCode::ACCEPTED, words.pending_note),
    };
    let mut html = Html::default();
    html.element("p", texts::answer_text(answer, language)).element("p", sentence);
    html_response(status, &html_document(words, words.resolved_title, None, &html), language)
}

/// What is asked about: arguments as JSON in which nothing is hidden, or a text as it is.
fn subject_text(about: &Subject) -> String {
    match about {
        Subject::Call { .. } | Subject::CallInterrupt { .. } | Subject::BudgetExtension { .. } => {
            let parameters = about.parameters().unwrap_or_default();
            html::spell_hidden(&serde_json::to_string_pretty(&parameters).unwrap_or_default())
        }
        Subject::ModelInterrupt { .. } => String::new(),
        Subject::StepReview { details, .. } => details.clone(),
        Subject::ResultReview { text, .. } => text.clone(),
    }
}

/// As much of a text as is shown, and whether that is all.
fn visible_part(text: &str) -> (&str, bool) {
    let end = text.floor_char_boundary(MAX_SHOWN);
    (text.get(..end).unwrap_or_default(), end == text.len())
}

fn format_utc(at_ms: i64) -> String {
    OffsetDateTime::from_unix_timestamp(at_ms.div_euclid(1_000)).map_or_else(
        |_| String::new(),
        |at| {
            let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
            format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", at.hour(), at.minute())
        },
    )
}

fn write_problem(html: &mut Html, problem: &Failure, language: Language) {
    html.raw("<p class=\"problem\">").text(&problem.sentence(language)).raw("</p>");
}

fn http_status(problem: &Failure) -> StatusCode {
    StatusCode::from_u16(problem.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

fn html_document(words: &PageTexts, title: &str, code: Option<&str>, body: &Html) -> String {
    let mut html = Html::default();
    html.raw("<!doctype html>\n<html lang=\"").text(words.tag).raw("\">\n<head>");
    html.raw("<meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">");
    html.raw("<meta name=\"robots\" content=\"noindex\">");
    if let Some(code) = code {
        // For programs, as the same member of a JSON answer.
        html.raw("<meta name=\"code\" content=\"").text(code).raw("\">");
    }
    html.element("title", title).raw("<style>").raw(STYLE).raw("</style></head>\n<body>");
    html.element("h1", title).append(body).raw("</body>\n</html>\n");
    html.into_text()
}

fn html_response(status: StatusCode, document: &str, language: Language) -> Response {
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
    (status, policy, headers, document.to_owned()).into_response()
}
