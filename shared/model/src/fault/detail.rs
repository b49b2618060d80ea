//! A provider's own words, fit to be shown.

use djinn_runtime::port::model::ModelRequest;
use djinn_runtime::port::secret::Secret;
use serde_json::Value;

/// Maximum characters of a detail.
const MAX_DETAIL: usize = 300;
/// Maximum characters of user or tool text quoted in a provider message; longer quotes are removed.
const MAX_QUOTED: usize = 24;
/// Prefixes of the keys of known providers.
const KEY_STARTS: &[&str] = &[
    "sk-",
    "sk_",
    "pk-",
    "gsk_",
    "xai-",
    "AIza",
    "AKIA",
    "ASIA",
    "hf_",
    "r8_",
    "nvapi-",
    "tgp_",
    "ABSK",
    "ghp_",
    "github_pat_",
];
/// Minimum characters of a provider's key.
const MIN_KEY: usize = 8;

/// The parts of a provider's error.
#[derive(Debug, Default)]
pub(super) struct ProviderFailure {
    pub(super) message: String,
    /// The HTTP status in the error's body.
    pub(super) status: Option<u16>,
    /// Code, type and message in lower case.
    search_text: String,
    /// The codes alone, in lower case.
    codes: Vec<String>,
    /// The message without quotes, in lower case.
    own_text: String,
}

/// Maximum characters of a message searched for the provider's own phrases.
const MAX_OWN_TEXT: usize = 2_000;
/// Phrases followed by unquoted model output.
const QUOTING: &[&str] = &["failed to parse", "error parsing", "cannot parse", "could not parse"];
/// Pairs of quotation marks.
const MARKS: &[(char, char)] =
    &[('\'', '\''), ('"', '"'), ('`', '`'), ('“', '”'), ('‘', '’'), ('「', '」')];

impl ProviderFailure {
    /// Reads the body of a response.
    pub(super) fn from_body(json: &Value, body: &str) -> Self {
        // Gemini wraps the error into a list.
        let error = json.get(0).unwrap_or(json);
        let error = match error.get("error") {
            Some(error) if !error.is_null() => error,
            Some(_) | None => error,
        };
        let mut failure = Self::from_error(error);
        let is_markup = body.trim_start().starts_with('<');
        if failure.message.is_empty() && !json.is_object() && !json.is_array() && !is_markup {
            body.clone_into(&mut failure.message);
            failure.search_text.push_str(&body.to_lowercase());
            failure.own_text = strip_quotes(body);
        }
        failure
    }

    /// Reads an error object, or a string in place of the object.
    pub(super) fn from_error(error: &Value) -> Self {
        let inner = error.get("error").filter(|inner| inner.is_object());
        let error = inner.unwrap_or(error);
        let message = error.as_str().map_or_else(|| find_message(error), ToOwned::to_owned);
        let paths = ["code", "type", "status", "error_code", "status_code", "__type"];
        let code = |path: &str| {
            let code = error.get(path).filter(|code| !code.is_null())?;
            Some(code.as_str().map_or_else(|| code.to_string(), str::to_owned).to_lowercase())
        };
        let codes: Vec<String> = paths.into_iter().filter_map(code).collect();
        let search_text = format!("{} {}", codes.join(" "), message.to_lowercase());
        let own_text = strip_quotes(&message);
        let status = ["code", "status", "status_code"]
            .iter()
            .filter_map(|path| {
                let status = error.get(path)?;
                status.as_u64().or_else(|| status.as_str()?.parse().ok())
            })
            .find(|status| (400..600).contains(status));
        let status = status.and_then(|status| u16::try_from(status).ok());
        Self { message, status, search_text, codes, own_text }
    }

    /// Returns true if the error's code equals any of the given codes, in lower case.
    pub(super) fn has_code(&self, codes: &[&str]) -> bool {
        self.codes.iter().any(|code| codes.contains(&code.as_str()))
    }

    /// Returns true if a code contains any of the given parts, in lower case.
    pub(super) fn has_code_part(&self, parts: &[&str]) -> bool {
        self.codes.iter().any(|code| parts.iter().any(|part| code.contains(part)))
    }

    /// Returns the provider's own text in lower case. Quoted names, replies and other repeated input are
    /// removed as far as recognized.
    pub(super) fn own_text(&self) -> &str {
        &self.own_text
    }

    /// Returns true if the own text contains any of the given phrases, in lower case.
    pub(super) fn has_phrase(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.search_text.contains(word))
    }
}

fn find_message(error: &Value) -> String {
    let plain = ["message", "Message", "msg", "error_msg", "status_msg", "error"];
    for path in plain {
        if let Some(Value::String(text)) = error.get(path)
            && !text.trim().is_empty()
        {
            return text.clone();
        }
    }
    match error.get("detail") {
        Some(Value::String(text)) => text.clone(),
        // FastAPI: only the message, because the body repeats the input.
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| item.get("msg").and_then(Value::as_str))
            .collect::<Vec<_>>()
            .join("; "),
        Some(detail @ Value::Object(_)) => find_message(detail),
        _ => String::new(),
    }
}

/// Returns the start of a message in lower case, without quotes.
fn strip_quotes(message: &str) -> String {
    let message: String = message.chars().take(MAX_OWN_TEXT).collect::<String>().to_lowercase();
    let quoting = QUOTING.iter().filter_map(|words| message.find(words)).min();
    let mut rest = message.get(..quoting.unwrap_or(message.len())).unwrap_or_default();
    let mut own = String::with_capacity(rest.len());
    while let Some(first) = rest.chars().next() {
        let (_, behind) = rest.split_at(first.len_utf8());
        rest = match quote_end(first, own.chars().next_back(), behind) {
            Some(end) => behind.get(end..).unwrap_or_default(),
            None => {
                own.push(first);
                behind
            }
        };
    }
    own
}

/// Returns the end of the quote after a quotation mark, mark included. An apostrophe within a word neither
/// starts nor ends a quote.
fn quote_end(mark: char, before: Option<char>, behind: &str) -> Option<usize> {
    let (_, close) = MARKS.iter().find(|(open, _)| *open == mark)?;
    let is_apostrophe =
        |next: Option<char>| mark == '\'' && next.is_some_and(char::is_alphanumeric);
    if is_apostrophe(before) {
        return None;
    }
    let ends = behind.match_indices(*close).map(|(at, close)| at + close.len());
    let mut ends = ends
        .filter(|end| !is_apostrophe(behind.get(*end..).and_then(|after| after.chars().next())));
    ends.next()
}

/// The text to hide: the call's key and text from users and tools. Text from agents stays visible: an agent's
/// message may repeat an earlier failure, and the next failure has similar wording.
#[derive(Debug, Default)]
pub(crate) struct Mask<'a> {
    key: Option<&'a Secret>,
    external: &'a [String],
}

impl<'a> Mask<'a> {
    pub(crate) fn new(key: Option<&'a Secret>, request: &'a ModelRequest) -> Self {
        Self { key, external: &request.external_texts }
    }

    /// Returns at most 300 characters without control characters, keys, or long quotes from users and tools.
    pub(crate) fn sanitize_message(&self, message: &str) -> String {
        // Enough to fill the detail even if most of the text is removed.
        let mut text: String = message.chars().take(MAX_DETAIL * 3).collect();
        if let Some(key) = self.key.map(Secret::reveal).filter(|key| !key.is_empty()) {
            text = text.replace(key, "***");
        }
        let text = self.remove_quotes(&mask_keys(&text));
        let words: Vec<&str> = text
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|word| !word.is_empty())
            .collect();
        djinn_runtime::prompt::truncate_text(&words.join(" "), MAX_DETAIL)
    }

    /// Leaves out whatever of this length or more users or tools wrote.
    fn remove_quotes(&self, text: &str) -> String {
        let characters: Vec<char> = text.chars().collect();
        let mut quote_flags = vec![false; characters.len()];
        for (start, window) in characters.windows(MAX_QUOTED).enumerate() {
            let window: String = window.iter().collect();
            if self.external.iter().any(|text| text.contains(&window)) {
                quote_flags.iter_mut().skip(start).take(MAX_QUOTED).for_each(|flag| *flag = true);
            }
        }
        let mut output = String::with_capacity(text.len());
        let mut in_quote = false;
        for (character, is_quoted) in characters.into_iter().zip(quote_flags) {
            match (is_quoted, in_quote) {
                (true, false) => output.push('…'),
                (true, true) => {}
                (false, _) => output.push(character),
            }
            in_quote = is_quoted;
        }
        output
    }
}

/// Masks every word with the form of a provider's key, partly masked keys included.
fn mask_keys(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*');
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let start = KEY_STARTS.iter().find(|start| word.starts_with(**start));
        match start {
            Some(start) if word.len() >= start.len() + MIN_KEY => {
                output.push_str(start);
                output.push_str("***");
            }
            Some(_) | None => output.push_str(word),
        }
        let next = behind.find(is_part).unwrap_or(behind.len());
        let (between, behind) = behind.split_at(next);
        output.push_str(between);
        rest = behind;
    }
    output
}
