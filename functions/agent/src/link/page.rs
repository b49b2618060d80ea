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
use djinn_core::code::Failure;
use djinn_core::feedback::{About, Ask, Settled};
use djinn_core::id::FileName;
use djinn_core::settings::Language;
use djinn_runtime::serve::Given;
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;

use super::form::{Form, text_of};
use super::words::{self, Words, words};
use html::Html;

/// Characters of a call's arguments; longer ones can be answered, not changed.
const MAX_SHOWN: usize = 64 * 1024;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:44em;margin:2em auto;padding:0 1em;\
color:#222;background:#fff}h1{font-size:1.3em}dt{font-weight:600;margin-top:.8em}dd{margin:0}\
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f4f4f4;padding:.8em;max-height:24em;overflow:auto}\
textarea{width:100%;box-sizing:border-box;font:inherit}label{display:block;margin-top:1.2em}\
button{font:inherit;padding:.4em 1em;margin:.6em .6em 0 0}.problem{border-left:4px solid #b00;padding-left:.8em}";

/// Something that is asked, and how it may be answered.
pub(crate) struct Question<'a> {
    pub(crate) ask: &'a Ask,
    pub(crate) reasoning: &'a str,
    /// Where the files that it is about open.
    pub(crate) files: &'a BTreeMap<FileName, String>,
    /// Until when the link counts, Unix milliseconds.
    pub(crate) until_ms: i64,
    pub(crate) language: Language,
}

impl Question<'_> {
    /// The question with its form.
    pub(crate) fn page(&self) -> Response {
        self.with(StatusCode::OK, None, &Form::default())
    }

    /// The same with what was wrong with an answer, and with what was filled in.
    pub(crate) fn again(&self, problem: &Failure, form: &Form) -> Response {
        self.with(status(problem), Some(problem), form)
    }

    fn with(&self, status: StatusCode, problem: Option<&Failure>, form: &Form) -> Response {
        let words = words(self.language);
        let mut html = Html::default();
        if let Some(problem) = problem {
            told(&mut html, problem, self.language);
        }
        self.show(&mut html, words);
        self.offer(&mut html, words, form);
        let code = problem.map(|problem| problem.code.as_str());
        response(status, &document(words, words.title, code, &html), self.language)
    }

    fn show(&self, html: &mut Html, words: &Words) {
        let Self { ask, language, .. } = self;
        let interrupt = ask.about.interrupt();
        html.element("p", intro(&ask.about, words));
        if let Some(interrupt) = interrupt {
            html.raw("<p class=\"problem\">").text(&interrupt.message);
            html.text(" (").text(&interrupt.code).raw(")</p>");
        }
        html.raw("<dl>\n");
        if !self.reasoning.is_empty() {
            html.term(words.reasoning, self.reasoning);
        }
        if let Some(task) = &ask.task {
            html.term(words.task, task.as_str());
        }
        show_about(html, &ask.about, words, self.files);
        html.term(words.risk, words::risk(ask.risk, *language));
        if !ask.why.is_empty() {
            let why = ask.why.iter().map(|why| words::why(*why, *language));
            html.term(words.why, &why.collect::<Vec<_>>().join(" "));
        }
        if matches!(ask.about, About::Call { .. }) {
            html.term(words.estimate, &words::estimate(&ask.estimate, *language));
        }
        if let Some(at_ms) = ask.expires_at_ms {
            html.term(words.decided, &moment(at_ms));
        }
        html.term(words.expires, &moment(self.until_ms));
        html.raw("</dl>");
    }

    /// The form; it is sent to where the page is from.
    fn offer(&self, html: &mut Html, words: &Words, form: &Form) {
        let about = &self.ask.about;
        let is_question = about.is_question();
        let is_result = matches!(about, About::Result { .. });
        html.raw("<form method=\"post\" accept-charset=\"utf-8\">");
        if !is_question {
            html.button("confirm", confirm(about, words));
        }
        // A result that is skipped is kept, as one that is confirmed.
        if !is_result {
            let is_budget = matches!(about, About::Budget { .. });
            html.button("skip", if is_budget { words.sum_up } else { words.skip });
        }
        html.button("stop", words.stop);
        html.text_area("words", words.said, &form.words, false).button("say", words.say);
        let shown = shown(about);
        if about.interrupt().is_none() && !is_question && cut(&shown).1 {
            let is_text = text_of(about).is_some();
            let (label, button) = match is_text {
                true => (words.reworded, words.reword),
                false => (words.modified, words.modify),
            };
            let text = form.instead.as_deref().unwrap_or(&shown);
            html.text_area("instead", label, text, !is_text).button("modify", button);
        }
        html.raw("</form>");
    }
}

fn intro(about: &About, words: &Words) -> &'static str {
    match about {
        About::Call { .. } | About::Step { .. } => words.asks,
        About::Result { .. } => words.asks_of_result,
        About::Budget { .. } => words.asks_of_budget,
        About::CallInterrupted { .. } | About::ModelInterrupted { .. } => words.interrupted,
    }
}

fn confirm(about: &About, words: &Words) -> &'static str {
    match about {
        About::Call { .. } | About::Step { .. } => words.confirm,
        About::Result { .. } => words.keep,
        About::Budget { .. } => words.go_on_with_more,
        About::CallInterrupted { .. } | About::ModelInterrupted { .. } => words.go_on,
    }
}

fn show_about(html: &mut Html, about: &About, words: &Words, urls: &BTreeMap<FileName, String>) {
    let name = match about {
        About::Call { tool, .. } | About::CallInterrupted { tool, .. } => {
            html.term(words.tool, tool);
            words.arguments
        }
        About::ModelInterrupted { .. } => return,
        About::Budget { used_up, .. } => {
            html.term(words.budget, &used_up.detail);
            words.more
        }
        About::Step { step, .. } => {
            html.term(words.step, &step.to_string());
            words.details
        }
        About::Result { step, details, files, .. } => {
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
    let shown = shown(about);
    let (text, is_whole) = cut(&shown);
    html.element("dt", name).raw("<dd><pre>").text(text).raw("</pre>\n");
    if !is_whole {
        html.element("p", words.cut);
    }
    html.raw("</dd>");
}

/// Why there is nothing to answer.
pub(crate) fn problem(problem: &Failure, language: Language) -> Response {
    let mut html = Html::default();
    html.element("p", &problem.sentence(language));
    let document = document(words(language), "Djinn", Some(problem.code.as_str()), &html);
    response(status(problem), &document, language)
}

/// The same in the place of a file, which may stand in a frame of another page.
pub(crate) fn file_problem(failure: &Failure, language: Language) -> Response {
    let mut response = problem(failure, language);
    let headers = response.headers_mut();
    headers.remove(X_FRAME_OPTIONS);
    let policy = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    response
}

/// How it was answered: what a late answer is told, and whoever looks then.
pub(crate) fn settled(settled: &Settled, late: Option<&Failure>, language: Language) -> Response {
    let words = words(language);
    let answer = words::answered(&settled.answer, language);
    let mut html = Html::default();
    html.raw("<p>");
    match settled.by {
        Some(_) => html.text(words.settled).text(": ").text(answer),
        None => html.text(words.nobody).text("; ").text(words.by_default).text(": ").text(answer),
    };
    html.raw("</p>");
    if late.is_some() {
        html.element("p", words.unchanged);
    }
    let code = late.map(|late| late.code.as_str());
    let status = late.map_or(StatusCode::OK, status);
    response(status, &document(words, words.settled, code, &html), language)
}

/// What became of an answer.
pub(crate) fn given(given: Given, answer: &str, language: Language) -> Response {
    let words = words(language);
    let (status, sentence) = match given {
        Given::Taken => (StatusCode::OK, words.taken),
        Given::Waiting => (StatusCode::ACCEPTED, words.waiting),
    };
    let mut html = Html::default();
    html.element("p", words::answered(answer, language)).element("p", sentence);
    response(status, &document(words, words.settled, None, &html), language)
}

/// What is asked about: arguments as JSON in which nothing is hidden, or a text as it is.
fn shown(about: &About) -> String {
    match about {
        About::Call { .. } | About::CallInterrupted { .. } | About::Budget { .. } => {
            let parameters = about.parameters().unwrap_or_default();
            html::spelled(&serde_json::to_string_pretty(&parameters).unwrap_or_default())
        }
        About::ModelInterrupted { .. } => String::new(),
        About::Step { details, .. } => details.clone(),
        About::Result { text, .. } => text.clone(),
    }
}

/// As much of a text as is shown, and whether that is all.
fn cut(text: &str) -> (&str, bool) {
    let end = text.floor_char_boundary(MAX_SHOWN);
    (text.get(..end).unwrap_or_default(), end == text.len())
}

fn moment(at_ms: i64) -> String {
    OffsetDateTime::from_unix_timestamp(at_ms.div_euclid(1_000)).map_or_else(
        |_| String::new(),
        |at| {
            let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
            format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", at.hour(), at.minute())
        },
    )
}

fn told(html: &mut Html, problem: &Failure, language: Language) {
    html.raw("<p class=\"problem\">").text(&problem.sentence(language)).raw("</p>");
}

fn status(problem: &Failure) -> StatusCode {
    StatusCode::from_u16(problem.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

fn document(words: &Words, title: &str, code: Option<&str>, body: &Html) -> String {
    let mut html = Html::default();
    html.raw("<!doctype html>\n<html lang=\"").text(words.tag).raw("\">\n<head>");
    html.raw("<meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">");
    html.raw("<meta name=\"robots\" content=\"noindex\">");
    if let Some(code) = code {
        // For programs, as the same member of a JSON answer.
        html.raw("<meta name=\"code\" content=\"").text(code).raw("\">");
    }
    html.element("title", title).raw("<style>").raw(STYLE).raw("</style></head>\n<body>");
    html.element("h1", title).add(body).raw("</body>\n</html>\n");
    html.into_text()
}

fn response(status: StatusCode, document: &str, language: Language) -> Response {
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
        (axum::http::header::CONTENT_LANGUAGE, text(words(language).tag)),
    ];
    let policy = HeaderValue::from_str(&policy).ok();
    let policy: HeaderMap =
        policy.map(|value| (CONTENT_SECURITY_POLICY, value)).into_iter().collect();
    (status, policy, headers, document.to_owned()).into_response()
}
