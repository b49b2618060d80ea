//! Extracts the text of the demo site's own pages. Foreign HTML is the gateway's job.

use std::collections::BTreeSet;

use djinn_tools::words::split_words;

/// The elements around a page's text; the first one found is used.
const MAIN: [(&str, &str); 2] = [("<article>", "</article>"), ("<body>", "</body>")];

/// Tags at the beginning or end of a text block.
const BLOCKS: [&str; 12] =
    ["dd", "dt", "h1", "h2", "h3", "li", "ol", "p", "pre", "table", "tr", "ul"];

/// A page's title and text blocks.
#[derive(Debug, PartialEq)]
pub(super) struct PageBlocks {
    pub(super) title: String,
    blocks: Vec<String>,
}

impl PageBlocks {
    pub(super) fn parse(html: &str) -> Self {
        let title = between(html, "<title>", "</title>").unwrap_or_default();
        let main = MAIN.iter().find_map(|(start, end)| between(html, start, end));
        let mut blocks = vec![String::new()];
        for piece in main.unwrap_or(html).split('<') {
            let (tag, text) = match piece.split_once('>') {
                Some((tag, text)) => (tag, text),
                None => ("", piece),
            };
            let name = tag.trim_start_matches('/').split_whitespace().next().unwrap_or_default();
            if BLOCKS.contains(&name) {
                blocks.push(String::new());
            }
            if let Some(block) = blocks.last_mut() {
                if ["td", "th"].contains(&name) {
                    block.push(' ');
                }
                block.push_str(text);
            }
        }
        let blocks = blocks.iter().map(|block| plain_text(block)).filter(|block| !block.is_empty());
        Self { title: plain_text(title), blocks: blocks.collect() }
    }

    /// Returns the whole text, one block per line.
    pub(super) fn text(&self) -> String {
        self.blocks.join("\n")
    }

    /// Returns the block with the most of these words; the first block if several are equal.
    pub(super) fn best_block(&self, words: &str) -> &str {
        let query_words: BTreeSet<String> = split_words(words).into_iter().collect();
        let count_found = |block: &String| {
            let block_words: BTreeSet<String> = split_words(block).into_iter().collect();
            block_words.intersection(&query_words).count()
        };
        let best = self.blocks.iter().rev().max_by_key(|block| count_found(block));
        best.map(String::as_str).unwrap_or_default()
    }
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end).map(|(inner, _)| inner)
}

/// Decodes the entities used in the demo pages, and collapses white space.
fn plain_text(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<html><head><title>A &amp; B</title></head><body><p>Not this.</p><article>\
        <h1>A</h1>\n<p>Heat\nis <a href=\"b.html\">moved</a>.</p><table><tr><td>Price</td><td>16,400</td></tr></table>\
        </article></body></html>";

    #[test]
    fn a_page_falls_into_blocks_without_tags() {
        let page = PageBlocks::parse(PAGE);
        assert_eq!(page.title, "A & B");
        assert_eq!(page.text(), "A\nHeat is moved.\nPrice 16,400");
    }

    #[test]
    fn the_block_with_most_words_of_a_question_is_shown() {
        let page = PageBlocks::parse(PAGE);
        assert_eq!(page.best_block("what price is it? 16400"), "Price 16,400");
        assert_eq!(page.best_block("nothing of it"), "A");
    }
}
