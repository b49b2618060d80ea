//! Shortens an answer to the size of its transport.

use djinn_outside::{ToolProblem, ToolProblemCode};
use djinn_runtime::port::outside::wire::{OutsideAnswer, OutsideContent};
use djinn_runtime::port::outside::{
    PageAnswer, PageNote, PageOutcome, PageProblemCode, ToolAnswer,
};

use crate::page::refuse;

/// Bytes reserved for the envelope around an answer's pages.
const MARGIN: usize = 1024;

/// Returns the answer with as much content as fits in `most` bytes of JSON.
pub(super) fn fit_answer(answer: OutsideAnswer, most: usize) -> OutsideAnswer {
    let OutsideAnswer { v, content } = answer;
    let most = most.saturating_sub(MARGIN);
    let content = match content {
        OutsideContent::Read(pages) => OutsideContent::Read(fit_pages(pages, most)),
        OutsideContent::Search(mut search) => {
            // Only pages beyond the requested hits are dropped, the longest list first.
            while json_size(&search) > most {
                let longest = search.results.iter_mut().max_by_key(|result| result.others.len());
                let Some(longest) = longest.filter(|result| !result.others.is_empty()) else {
                    break;
                };
                longest.others.truncate(longest.others.len() / 2);
                longest.is_cut = true;
            }
            OutsideContent::Search(search)
        }
        OutsideContent::Call(answer) if json_size(&answer) > most => {
            let detail = format!("the answer has more than {most} bytes");
            let code = ToolProblemCode::TooLarge;
            OutsideContent::Call(ToolAnswer::Failed(ToolProblem { code, status: None, detail }))
        }
        content @ (OutsideContent::Call(_) | OutsideContent::Seal(_)) => content,
    };
    OutsideAnswer { v, content }
}

/// Drops the largest documents first, then the ends of texts.
fn fit_pages(mut pages: Vec<PageAnswer>, most: usize) -> Vec<PageAnswer> {
    let mut sizes: Vec<_> = pages.iter().map(json_size).collect();
    while sizes.iter().sum::<usize>() > most {
        let is_document = |page: &PageAnswer| matches!(page.outcome, PageOutcome::Document(_));
        // Documents are dropped first: text was requested, and a document can be fetched again alone.
        let largest = pages.iter().zip(&sizes).enumerate();
        let largest = largest.max_by_key(|(_, (page, size))| (is_document(page), **size));
        let Some((number, _)) = largest else { break };
        let Some(page) = pages.get_mut(number) else { break };
        let is_shorter = shorten_page(page);
        let size = if is_shorter { json_size(page) } else { 0 };
        if let Some(old_size) = sizes.get_mut(number) {
            *old_size = size;
        }
    }
    pages
}

/// Drops a document, or half of a text. Returns true if anything was dropped.
fn shorten_page(page: &mut PageAnswer) -> bool {
    match &mut page.outcome {
        PageOutcome::Document(document) => {
            let name = &document.name;
            let sentence = format!(
                "The document {name} is too large to be handed over with all others: read it alone."
            );
            page.outcome = refuse(PageProblemCode::TooLarge, sentence);
            true
        }
        PageOutcome::Page(text) => {
            let characters = text.text.chars().count();
            let next = text.next_offset.unwrap_or(text.total_chars);
            let start = next.saturating_sub(characters as u64);
            let half = characters / 2;
            let end = text.text.char_indices().nth(half).map_or(0, |(at, _)| at);
            text.text.truncate(end);
            text.next_offset = Some(start.saturating_add(half as u64));
            text.links.clear();
            if !text.notes.contains(&PageNote::MoreLinks) {
                text.notes.push(PageNote::MoreLinks);
            }
            half > 0
        }
        PageOutcome::Refused(_) => false,
    }
}

/// Returns the size of a value as JSON, in bytes.
pub(super) fn json_size(value: &impl serde::Serialize) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX, |json| json.len())
}
