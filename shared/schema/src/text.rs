//! Foreign texts, without what a reader cannot see.

use djinn_text::fold::is_hidden;

/// Maximum characters of a description.
pub(crate) const MAX_DESCRIPTION: usize = 1_000;

/// Returns the description of a tool or server for models: at most 1,000 characters, without invisible ones.
#[must_use]
pub fn clean_description(text: &str) -> String {
    clean_text(text, MAX_DESCRIPTION)
}

/// Returns a text without invisible characters, with an ellipsis at the end if it is cut to the length.
pub(crate) fn clean_text(text: &str, max: usize) -> String {
    let mut visible = text.trim().chars().filter(|character| !is_hidden(*character));
    let mut clean: String = visible.by_ref().take(max).collect();
    if visible.next().is_some() {
        clean.pop();
        clean.push('…');
    }
    clean.trim().to_owned()
}
