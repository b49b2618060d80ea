//! A provider's own words, fit to be shown.

use djinn_runtime::port::model::ModelRequest;
use djinn_runtime::port::secret::Secret;
use serde_json::Value;

/// Characters of a detail.
const MAX_DETAIL: usize = 300;
/// Characters of what users and tools wrote that a provider may quote before they are left out.
const MAX_QUOTED: usize = 24;
/// How the keys of known providers start.
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
/// Characters that the key of a provider has at least.
const MIN_KEY: usize = 8;

/// What a provider says about a failure.
#[derive(Debug, Default)]
pub(super) struct ProviderFailure {
    pub(super) message: String,
    /// An HTTP status that it names itself.
    pub(super) status: Option<u16>,
    /// Code, type and message in lower case.
    search_text: String,
    /// The codes alone, in lower case.
    codes: Vec<String>,
    /// The message without what it quotes, in lower case.
    own_text: String,
}

/// Characters of a message among which its own words are looked for.
const MAX_OWN_TEXT: usize = 2_000;
/// Behind these a message quotes what a model wrote, without marks.
const QUOTING: &[&str] = &["failed to parse", "error parsing", "cannot parse", "could not parse"];
/// Marks between which something is quoted.
const MARKS: &[(char, char)] =
    &[('\'', '\''), ('"', '"'), ('`', '`'), ('“', '”'), ('‘', '’'), ('「', '」')];

impl ProviderFailure {
    /// Of the body of an answer.
    pub(super) fn from_body(json: &Value, body: &str) -> Self {
        // Gemini wraps it into a list.
        let error = json.get(0).unwrap_or(json);
        let error = match error.get("error") {
            Some(error) if !error.is_null() => error,
            Some(_) | None => error,
        };
        let mut said = Self::from_error(error);
        let is_markup = body.trim_start().starts_with('<');
        if said.message.is_empty() && !json.is_object() && !json.is_array() && !is_markup {
            body.clone_into(&mut said.message);
            said.search_text.push_str(&body.to_lowercase());
            said.own_text = strip_quotes(body);
        }
        said
    }

    /// Of an error object, or of a text in its place.
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

    /// Whether its code is one of these, given in lower case.
    pub(super) fn has_code(&self, codes: &[&str]) -> bool {
        self.codes.iter().any(|code| codes.contains(&code.as_str()))
    }

    /// Whether a code of its holds one of these, given in lower case.
    pub(super) fn has_code_part(&self, parts: &[&str]) -> bool {
        self.codes.iter().any(|code| parts.iter().any(|part| code.contains(part)))
    }

    /// What the provider says itself, in lower case: of a name, of a reply and of other words that it
    /// repeats nothing is left, as far as that can be told.
    pub(super) fn own_text(&self) -> &str {
        &self.own_text
    }

    /// Whether it says any of these, given in lower case.
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
        // FastAPI: only its words, since it repeats the input beside them.
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| item.get("msg").and_then(Value::as_str))
            .collect::<Vec<_>>()
            .join("; "),
        Some(detail @ Value::Object(_)) => find_message(detail),
        _ => String::new(),
    }
}

/// The beginning of a message in lower case, without what it quotes.
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

/// Where behind a quotation mark its quote ends, mark included. An apostrophe within a word begins and
/// ends none.
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

/// What must not be shown: the key of the call, and what users and tools wrote. Our own words may be: what
/// agents said may hold the reason of an earlier failure, and the next one is worded alike.
#[derive(Debug, Default)]
pub(crate) struct Mask<'a> {
    key: Option<&'a Secret>,
    external: &'a [String],
}

impl<'a> Mask<'a> {
    pub(crate) fn new(key: Option<&'a Secret>, request: &'a ModelRequest) -> Self {
        Self { key, external: &request.external_texts }
    }

    /// At most 300 characters without control characters, keys, or long quotes of what users and
    /// tools wrote.
    pub(crate) fn sanitize_message(&self, message: &str) -> String {
        // Enough to fill the detail even if most of it is left out.
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
        let mut is_quoted = vec![false; characters.len()];
        for (start, window) in characters.windows(MAX_QUOTED).enumerate() {
            let window: String = window.iter().collect();
            if self.external.iter().any(|text| text.contains(&window)) {
                is_quoted.iter_mut().skip(start).take(MAX_QUOTED).for_each(|quoted| *quoted = true);
            }
        }
        let mut shown = String::with_capacity(text.len());
        let mut in_quote = false;
        for (character, quoted) in characters.into_iter().zip(is_quoted) {
            match (quoted, in_quote) {
                (true, false) => shown.push('…'),
                (true, true) => {}
                (false, _) => shown.push(character),
            }
            in_quote = quoted;
        }
        shown
    }
}

/// Masks every word that looks like a provider's key, partly masked ones included.
fn mask_keys(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*');
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let start = KEY_STARTS.iter().find(|start| word.starts_with(**start));
        match start {
            Some(start) if word.len() >= start.len() + MIN_KEY => {
                shown.push_str(start);
                shown.push_str("***");
            }
            Some(_) | None => shown.push_str(word),
        }
        let next = behind.find(is_part).unwrap_or(behind.len());
        let (between, behind) = behind.split_at(next);
        shown.push_str(between);
        rest = behind;
    }
    shown
}
