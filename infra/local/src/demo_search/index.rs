//! An index over the pages of a folder.

use std::fs;
use std::io;
use std::path::Path;

use bm25::{Document, SearchEngine, SearchEngineBuilder, Tokenizer};
use djinn_tools::words::split_words;

use super::page_text::PageBlocks;

/// The table of contents, which is not indexed.
const CONTENTS: &str = "index.html";

/// The weight of a word in a title.
const TITLE_WEIGHT: usize = 3;

/// Maximum length of a snippet, in characters.
const SNIPPET: usize = 300;

/// A full-text index over the pages of a site.
pub(super) struct SiteIndex {
    pages: Vec<IndexedPage>,
    engine: SearchEngine<u32, u32, SiteWords>,
}

/// The words of pages and queries.
struct SiteWords;

impl Tokenizer for SiteWords {
    fn tokenize(&self, text: &str) -> Vec<String> {
        split_words(text)
    }
}

struct IndexedPage {
    file: String,
    blocks: PageBlocks,
}

/// A page in the search results.
pub(super) struct SiteHit<'a> {
    /// The path of the page below the site's folder.
    pub(super) file: &'a str,
    pub(super) title: &'a str,
    /// The block of the page with the most words of the query.
    pub(super) snippet: String,
    pub(super) score: f32,
}

impl SiteIndex {
    /// Reads all pages directly in the folder, except the table of contents.
    pub(super) fn read(folder: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let is_page = Path::new(&name).extension().is_some_and(|ending| ending == "html");
            if is_page && name != CONTENTS {
                files.push(name);
            }
        }
        files.sort();
        if files.is_empty() {
            let reason = format!("{} has no pages", folder.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, reason));
        }
        let mut pages = Vec::new();
        for file in files {
            let blocks = PageBlocks::parse(&fs::read_to_string(folder.join(&file))?);
            pages.push(IndexedPage { file, blocks });
        }
        let text = |page: &IndexedPage| {
            let title = format!("{}\n", page.blocks.title).repeat(TITLE_WEIGHT);
            title + &page.blocks.text()
        };
        let documents = (0..).zip(&pages).map(|(id, page)| Document::new(id, text(page)));
        let documents: Vec<Document<u32>> = documents.collect();
        let engine =
            SearchEngineBuilder::with_tokenizer_and_documents(SiteWords, documents).build();
        Ok(Self { pages, engine })
    }

    /// Returns the pages with at least 1 word of the query, best first. Pages of equal rank are sorted by
    /// name.
    pub(super) fn search_pages(&self, query: &str, at_most: usize) -> Vec<SiteHit<'_>> {
        let mut matches = self.engine.search(query, None);
        matches.sort_by(|a, b| {
            b.score.total_cmp(&a.score).then_with(|| a.document.id.cmp(&b.document.id))
        });
        let hits = matches.into_iter().filter_map(|item| {
            let place = usize::try_from(item.document.id).ok()?;
            let IndexedPage { file, blocks } = self.pages.get(place)?;
            let snippet = blocks.best_block(query).chars().take(SNIPPET).collect();
            Some(SiteHit { file, title: &blocks.title, snippet, score: item.score })
        });
        hits.take(at_most).collect()
    }
}
