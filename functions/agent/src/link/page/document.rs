//! The content of a page, and its HTML.

use std::sync::LazyLock;

use minijinja::value::{Serde, Value};
use minijinja::{Environment, Error, UndefinedBehavior, escape_formatter};
use serde::Serialize;

use super::hidden::spell_hidden;

/// The template's name; the extension turns on HTML escaping.
const PAGE: &str = "page.html";

/// Escapes every text and spells out invisible characters.
static ENVIRONMENT: LazyLock<Result<Environment<'static>, Error>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() => {
            escape_formatter(out, state, &Value::from(spell_hidden(text)))
        }
        _ => escape_formatter(out, state, value),
    });
    environment.add_template(PAGE, include_str!("page.html"))?;
    Ok(environment)
});

/// A page. Empty and `None` fields are left out.
#[derive(Serialize, Default)]
pub(super) struct Document<'a> {
    /// The page's language tag in HTML.
    pub(super) tag: &'a str,
    pub(super) title: &'a str,
    pub(super) style: &'static str,
    /// The error code for programs, as in the JSON field of the same name.
    pub(super) code: Option<&'a str>,
    pub(super) problem: Option<String>,
    pub(super) paragraphs: Vec<String>,
    pub(super) interrupt: Option<InterruptPart<'a>>,
    pub(super) terms: Vec<Term<'a>>,
    pub(super) form: Option<FormPart<'a>>,
}

/// The reason a call stopped.
#[derive(Serialize)]
pub(super) struct InterruptPart<'a> {
    pub(super) message: &'a str,
    pub(super) code: &'a str,
}

/// A line of details.
#[derive(Serialize, Default)]
pub(super) struct Term<'a> {
    pub(super) name: &'a str,
    pub(super) text: String,
    /// True if white space in the text matters.
    pub(super) is_code: bool,
    /// Files in place of a text.
    pub(super) files: Vec<LinkedFile<'a>>,
    pub(super) note: Option<&'a str>,
}

/// A file, with a URL if the file can be opened.
#[derive(Serialize)]
pub(super) struct LinkedFile<'a> {
    pub(super) name: &'a str,
    pub(super) url: Option<&'a str>,
}

/// The possible responses.
#[derive(Serialize)]
pub(super) struct FormPart<'a> {
    pub(super) key: Option<KeyField<'a>>,
    pub(super) buttons: Vec<Button<'a>>,
    pub(super) areas: Vec<TextArea<'a>>,
}

/// The field for a key, always empty at first, with its button.
#[derive(Serialize)]
pub(super) struct KeyField<'a> {
    pub(super) label: String,
    pub(super) response: &'a str,
    pub(super) button: &'a str,
}

/// A button for a response.
#[derive(Serialize)]
pub(super) struct Button<'a> {
    pub(super) response: &'a str,
    pub(super) label: &'a str,
}

/// A text area with its initial text and its button.
#[derive(Serialize)]
pub(super) struct TextArea<'a> {
    pub(super) name: &'a str,
    pub(super) label: &'a str,
    pub(super) text: &'a str,
    pub(super) is_code: bool,
    pub(super) response: &'a str,
    pub(super) button: &'a str,
}

impl<'a> Term<'a> {
    /// Creates a line from a name and a text.
    pub(super) fn new(name: &'a str, text: impl Into<String>) -> Self {
        Self { name, text: text.into(), ..Self::default() }
    }
}

impl Document<'_> {
    /// Renders the page as HTML. A rendering error is a bug: the error is logged, and the page is empty.
    pub(super) fn render_html(&self) -> String {
        let page = ENVIRONMENT.as_ref().map_err(Error::kind).and_then(|environment| {
            let page = environment.get_template(PAGE);
            page.and_then(|page| page.render(Value::from(Serde(self)))).map_err(|e| e.kind())
        });
        page.unwrap_or_else(|kind| {
            tracing::error!(?kind, "page not rendered");
            String::new()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_never_markup() {
        let evil = "</textarea></title><script>alert('1')</script> \"a\" & b\u{202e}";
        let term = || Term {
            files: vec![LinkedFile { name: evil, url: Some(evil) }],
            note: Some(evil),
            ..Term::new(evil, evil)
        };
        let code = Term { is_code: true, files: Vec::new(), ..term() };
        let area = TextArea {
            name: "words",
            label: evil,
            text: evil,
            is_code: true,
            response: "say",
            button: evil,
        };
        let html = Document {
            tag: "en",
            title: evil,
            style: "",
            code: Some(evil),
            problem: Some(evil.to_owned()),
            paragraphs: vec![evil.to_owned()],
            interrupt: Some(InterruptPart { message: evil, code: evil }),
            terms: vec![term(), code],
            form: Some(FormPart {
                key: Some(KeyField { label: evil.to_owned(), response: "set_key", button: evil }),
                buttons: vec![Button { response: "stop", label: evil }],
                areas: vec![area],
            }),
        }
        .render_html();
        assert!(!html.contains("<script") && !html.contains("\"a\""), "{html}");
        for element in ["</title>", "</textarea>", "</form>", "</html>"] {
            assert_eq!(html.matches(element).count(), 1, "{element} in {html}");
        }
        // The submitted text comes back unchanged; all other texts have their invisible characters spelled out.
        assert_eq!((html.matches('\u{202e}').count(), html.matches("\\u202e").count()), (1, 19));
        let held = "&lt;&#x2f;textarea&gt;&lt;&#x2f;title&gt;&lt;script&gt;alert(&#x27;1&#x27;)";
        assert!(html.contains(&format!("spellcheck=\"false\">\n{held}")), "{html}");
    }

    #[test]
    fn what_is_not_there_leaves_nothing() {
        let html = Document { tag: "en", title: "T", ..Document::default() }.render_html();
        for absent in ["<p", "<dl", "<form", "name=\"code\""] {
            assert!(!html.contains(absent), "{absent}: {html}");
        }
        assert!(html.starts_with("<!doctype html>\n") && html.ends_with("</html>"), "{html}");
    }
}
