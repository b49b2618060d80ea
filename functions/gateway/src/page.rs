//! Converts a page from bytes to text. Scripts never run, and linked resources are never loaded.

mod article;
mod charset;
mod document_name;
mod kind;
mod part;
mod plain;
mod reader;
mod tree;

use std::collections::BTreeSet;

use djinn_runtime::port::outside::{
    ForeignDocument, MAX_PAGE_CHARS, PageNote, PageOutcome, PageProblem, PageProblemCode,
    PageTarget, PageText,
};
use url::Url;

use article::{HtmlText, read_html};
use charset::decode_text;
use document_name::name_document;
use kind::{PageKind, sniff_kind};
use part::cut_part;

use crate::words::strip_invisible;

pub(crate) use reader::PageReader;

/// A page as fetched.
pub(crate) struct RawPage {
    /// The final URL, after redirects.
    pub url: Url,
    pub status: u16,
    pub content_type: Option<String>,
    pub disposition: Option<String>,
    pub body: Vec<u8>,
    /// True if the body is incomplete.
    pub is_cut: bool,
}

/// Returns the requested part of a page, or the reason for returning none.
pub(crate) fn read_page(page: RawPage, target: &PageTarget) -> PageOutcome {
    if !(200..300).contains(&page.status) {
        return PageOutcome::Refused(explain_status(page.status));
    }
    let content_type = page.content_type.as_deref();
    let detection = sniff_kind(content_type, &page.body);
    let mut page_text = match detection.kind {
        PageKind::Document(media_type, ending) => {
            return pass_document(page, media_type, ending);
        }
        PageKind::Binary(what) => {
            let sentence = format!("The page is {what}, and no text can be read of it.");
            return refuse(PageProblemCode::Unsupported, sentence);
        }
        PageKind::Html => {
            let source = decode_text(content_type, &page.body, page.is_cut);
            let mut html = read_html(&source.text, &page.url);
            html.notes.extend(source.is_broken.then_some(PageNote::BrokenCharacters));
            html
        }
        PageKind::Text => {
            let source = decode_text(content_type, &page.body, page.is_cut);
            let notes = source.is_broken.then_some(PageNote::BrokenCharacters);
            let text = strip_invisible(&source.text).trim_end().to_owned();
            HtmlText { text, notes: BTreeSet::from_iter(notes), ..HtmlText::default() }
        }
    };
    if page_text.text.is_empty() {
        let sentence = match (page.body.is_empty(), &detection.kind) {
            (true, _) => "The page is empty.",
            (false, PageKind::Html) => "There is no text on the page: it may need scripts to run.",
            (false, _) => "There is no text on the page.",
        };
        return refuse(PageProblemCode::NoText, sentence.to_owned());
    }
    page_text.notes.extend(page.is_cut.then_some(PageNote::Cut));
    page_text.notes.extend(detection.is_other.then_some(PageNote::OtherType));
    let part = cut_part(&page_text.text, target.offset, target.limit.clamp(1, MAX_PAGE_CHARS));
    PageOutcome::Page(PageText {
        url: page.url.into(),
        title: page_text.title,
        text: part.text,
        total_chars: part.total_chars,
        next_offset: part.next_offset,
        links: page_text.links,
        notes: page_text.notes.into_iter().collect(),
    })
}

fn pass_document(page: RawPage, media_type: &str, ending: &str) -> PageOutcome {
    if page.is_cut {
        let sentence = "The document is larger than what is fetched, or ended before it was whole.";
        return refuse(PageProblemCode::TooLarge, sentence.to_owned());
    }
    let name = name_document(page.disposition.as_deref(), &page.url, ending);
    PageOutcome::Document(ForeignDocument {
        url: page.url.into(),
        media_type: media_type.to_owned(),
        name,
        content: page.body,
    })
}

pub(crate) fn refuse(code: PageProblemCode, sentence: String) -> PageOutcome {
    PageOutcome::Refused(PageProblem { code, sentence, status: None })
}

fn explain_status(status: u16) -> PageProblem {
    let sentence = match status {
        401 | 407 => format!("The page asks who reads it (status {status}), and nobody logs in."),
        402 => "The page costs money (status 402).".to_owned(),
        403 | 451 => format!("The server lets nobody like this read the page (status {status})."),
        404 | 410 => format!("There is no such page (status {status})."),
        429 => "The server is asked too often (status 429): try again later.".to_owned(),
        500..=599 => format!("The server has a fault (status {status}): try again later."),
        _ => format!("The server answered with status {status} and no page."),
    };
    PageProblem { code: PageProblemCode::Status, sentence, status: Some(status) }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
