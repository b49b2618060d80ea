//! Parses HTML into a tree without invisible elements, within limits on size and time.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use djinn_runtime::port::outside::{MAX_URL_BYTES, PageLink};
use dom_query::{Document, Element, NodeData, NodeRef};
use html5ever::tendril::{StrTendril, TendrilSink as _};
use html5ever::tokenizer::TokenizerOpts;
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};
use url::Url;

use crate::words::join_words;

/// Bytes parsed between two checks of size and time. Unclosed formatting is repeated in each paragraph, so a
/// short text can become a huge tree.
const PIECE: usize = 1024;
/// Maximum number of nodes. A page of 5 MB has about half as many.
const MAX_NODES: usize = 400_000;
/// Maximum number of open elements: the parser compares each new element with all of them.
const MAX_OPEN: usize = 2_000;
/// Maximum time for parsing. A page of 5 MB takes a tenth.
const MAX_PARSING: Duration = Duration::from_secs(2);
/// Maximum length of an image's alternative text, in characters.
const MAX_ALT: usize = 200;
/// Maximum number of links examined per page, and maximum length of a link's text in characters.
const MAX_KNOWN_LINKS: usize = 5_000;
const MAX_LINK_WORDS: usize = 300;
/// Limits on reading a link's text, in bytes and nodes: hundreds of links may be nested around the same text.
const MAX_LINK_TEXT: usize = 4 * 1024;
const MAX_LINK_NODES: usize = 1_000;
/// Maximum bytes of all URLs of a page. A long base would be repeated in each URL.
const MAX_URLS_BYTES: usize = 8 * 1024 * 1024;

/// Bytes copied, and bytes searched, in about one step.
const COPY_BYTES: usize = 64;
const ESCAPE_BYTES: usize = 4096;

/// Elements without text for readers.
const SILENT: [&str; 14] = [
    "script", "style", "template", "iframe", "object", "embed", "svg", "canvas", "audio", "video",
    "link", "map", "frameset", "datalist",
];

/// A page as a tree.
pub(crate) struct PageTree {
    pub document: Document,
    /// The page's links in document order, each URL once.
    pub links: Vec<PageLink>,
    /// The nesting depth of the elements.
    pub depth: usize,
    /// The estimated number of steps for converting the tree to Markdown.
    pub steps: usize,
    /// True if the end of the page was not parsed.
    pub is_cut: bool,
}

/// Parses HTML, removes invisible elements, and makes links absolute.
pub(crate) fn parse_tree(html: &str, url: &Url) -> PageTree {
    let (document, is_cut) = parse_bounded(html);
    // A long base is ignored, because every link would copy the base.
    let is_short = |base: &str| base.len() <= MAX_URL_BYTES;
    let base = document.base_uri().filter(|base| is_short(base));
    let base = base.and_then(|base| url.join(&base).ok()).filter(|base| is_short(base.as_str()));
    let base = base.as_ref().unwrap_or(url);
    let mut deepest = 0;
    let mut steps: usize = 0;
    let mut anchors = Vec::new();
    let mut room = MAX_URLS_BYTES;
    let mut open = vec![(document.root(), 0)];
    while let Some((node, depth)) = open.pop() {
        deepest = deepest.max(depth);
        match judge_node(&node) {
            Verdict::Remove => node.remove_from_parent(),
            Verdict::Replace(words) => node.replace_with(&document.tree.new_text(words)),
            Verdict::Keep => {
                steps = steps.saturating_add(estimate_steps(&node, depth));
                if node.has_name("a")
                    && let Some(url) = complete_link(&node, base, &mut room)
                {
                    anchors.push((node, url));
                }
                open.extend(node.children_it(true).map(|child| (child, depth + 1)));
            }
        }
    }
    // The links' texts are final only now, after removing invisible elements.
    let mut known_urls = BTreeSet::new();
    let mut links = Vec::new();
    for (anchor, url) in anchors.into_iter().take(MAX_KNOWN_LINKS) {
        let text = join_words(&begin_text(&anchor), MAX_LINK_WORDS);
        if !text.is_empty() && known_urls.insert(url.clone()) {
            links.push(PageLink { text, url });
        }
    }
    PageTree { document, links, depth: deepest, steps, is_cut }
}

fn parse_bounded(html: &str) -> (Document, bool) {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let opts = ParseOpts { tokenizer: TokenizerOpts::default(), tree_builder };
    let mut parser = parse_document(Document::default(), opts);
    let start = Instant::now();
    let mut rest = html;
    while !rest.is_empty() {
        // A piece ends before a tag, so no tag is split.
        let end = rest.floor_char_boundary(PIECE);
        let before_tag = rest.get(..end).and_then(|piece| piece.rfind('<'));
        let end = before_tag.filter(|at| *at > 0 && end < rest.len()).unwrap_or(end);
        let (piece, after) = rest.split_at(end);
        parser.process(StrTendril::from(piece));
        rest = after;
        let document = &parser.tokenizer.sink.sink;
        // The elements around the newest node.
        let open = std::iter::successors(Some(document.root()), NodeRef::last_child);
        let is_too_much = document.tree.len() > MAX_NODES || open.count() > MAX_OPEN;
        if is_too_much || start.elapsed() > MAX_PARSING {
            break;
        }
    }
    (parser.finish(), !rest.is_empty())
}

/// Estimates the steps for converting one node to Markdown. Each line is copied and extended by all lists and
/// quotes around the line. Each text is read once for each enclosing element. Escaping `&` and some letters
/// searches the rest of the text each time.
fn estimate_steps(node: &NodeRef<'_>, depth: usize) -> usize {
    let escape_steps = |text: &str| {
        let escapes = text.bytes().filter(|byte| matches!(byte, b'&' | 0xc2)).count();
        escapes.saturating_mul(text.len()) / ESCAPE_BYTES
    };
    node.query_or(depth, |node| match &node.data {
        NodeData::Text { contents } => {
            let lines = contents.bytes().filter(|byte| *byte == b'\n').count();
            depth * (1 + lines + contents.len() / COPY_BYTES) + escape_steps(contents)
        }
        NodeData::Element(element) => {
            let values = element.attrs.iter().map(|attribute| escape_steps(&attribute.value));
            values.fold(depth, usize::saturating_add)
        }
        NodeData::Document
        | NodeData::Fragment
        | NodeData::Doctype { .. }
        | NodeData::Comment { .. }
        | NodeData::ProcessingInstruction { .. } => depth,
    })
}

/// Returns the beginning of a node's text, for use as a link's text.
fn begin_text(node: &NodeRef<'_>) -> String {
    let mut text = String::new();
    let mut open: Vec<_> = node.first_child().into_iter().collect();
    for _ in 0..MAX_LINK_NODES {
        let Some(node) = open.pop() else { break };
        node.query_or((), |node| {
            if let NodeData::Text { contents } = &node.data {
                let end = contents.floor_char_boundary(MAX_LINK_TEXT.saturating_sub(text.len()));
                text.push_str(contents.get(..end).unwrap_or_default());
            }
        });
        if text.len() + 4 > MAX_LINK_TEXT {
            break;
        }
        open.extend(node.next_sibling());
        open.extend(node.first_child());
    }
    text
}

enum Verdict {
    Keep,
    Remove,
    Replace(String),
}

fn judge_node(node: &NodeRef<'_>) -> Verdict {
    let judge = |node: &dom_query::TreeNode| match &node.data {
        NodeData::Comment { .. } | NodeData::ProcessingInstruction { .. } => Verdict::Remove,
        NodeData::Element(element) => {
            let name: &str = &element.name.local;
            if SILENT.contains(&name) || is_hidden(element, name) {
                return Verdict::Remove;
            }
            if name != "img" {
                return Verdict::Keep;
            }
            let alt = element.attr("alt").unwrap_or_default();
            let alt: String = alt.trim().chars().take(MAX_ALT).collect();
            if alt.is_empty() { Verdict::Remove } else { Verdict::Replace(alt) }
        }
        NodeData::Document
        | NodeData::Fragment
        | NodeData::Doctype { .. }
        | NodeData::Text { .. } => Verdict::Keep,
    };
    node.query_or(Verdict::Keep, judge)
}

fn is_hidden(element: &Element, name: &str) -> bool {
    // Pages may hide `html` or `body` until a script has run. Readers eventually see the content, so the
    // content counts as visible.
    if matches!(name, "html" | "body") {
        return false;
    }
    element.attrs.iter().any(|attribute| match &*attribute.name.local {
        "hidden" => &*attribute.value != "until-found",
        "aria-hidden" => attribute.value.eq_ignore_ascii_case("true"),
        "style" => is_invisible_style(&attribute.value),
        _ => false,
    }) || (name == "dialog" && !element.has_attr("open"))
}

fn is_invisible_style(style: &str) -> bool {
    style.split(';').filter_map(|declaration| declaration.split_once(':')).any(|(name, value)| {
        let value = value.trim().to_ascii_lowercase();
        let value = value.trim_end_matches("!important").trim_end();
        match name.trim().to_ascii_lowercase().as_str() {
            "display" => value == "none",
            "visibility" => matches!(value, "hidden" | "collapse"),
            "opacity" | "font-size" => {
                let number = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
                number.parse::<f32>().is_ok_and(|number| number <= 0.0)
            }
            _ => false,
        }
    })
}

/// Makes a link absolute and returns its URL. Returns `None` for a link to no web page, or if `room` is too
/// small.
fn complete_link(node: &NodeRef<'_>, base: &Url, room: &mut usize) -> Option<String> {
    let href = node.attr("href")?;
    node.remove_attr("title");
    let is_here = href.trim_start().starts_with('#');
    let absolute_url = if href.len() <= MAX_URL_BYTES { base.join(&href).ok() } else { None };
    let whole = absolute_url.filter(|url| {
        let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        is_web && !is_here && url.as_str().len() <= MAX_URL_BYTES.min(*room)
    });
    *room -= whole.as_ref().map_or(0, |url| url.as_str().len());
    match &whole {
        Some(url) => node.set_attr("href", url.as_str()),
        None => node.remove_attr("href"),
    }
    whole.map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(html: &str) -> PageTree {
        parse_tree(html, &Url::parse("https://example.com/a/b?c").unwrap())
    }

    fn body(html: &str) -> String {
        parse(html).document.select("body").inner_html().trim().to_owned()
    }

    #[test]
    fn what_nobody_sees_is_taken_out() {
        for hidden in [
            "<!-- x -->",
            "<script>x</script>",
            "<style>x</style>",
            "<template>x</template>",
            "<svg><text>x</text></svg>",
            "<p hidden>x</p>",
            "<div hidden='hidden'><p>x</div>",
            "<div aria-hidden=TRUE>x</div>",
            "<span style='color: red; Display : NONE !important'>x</span>",
            "<span style='visibility:hidden'>x</span>",
            "<span style='opacity: 0.0'>x</span>",
            "<span style='font-size:0px'>x</span>",
            "<dialog>x</dialog>",
            "<img src=x>",
        ] {
            assert_eq!(body(&format!("<b>a</b>{hidden}")), "<b>a</b>", "{hidden}");
        }
        for shown in [
            "<p style=\"opacity: 0.5; display\">x</p>",
            "<p style=\"font-size: 0.8em\">x</p>",
            "<p hidden=\"until-found\">x</p>",
            "<p aria-hidden=\"false\">x</p>",
            "<dialog open=\"\">x</dialog>",
        ] {
            assert_eq!(body(shown), shown);
        }
        assert_eq!(body("<body hidden><p>a <img alt=' a chart '>"), "<p>a a chart</p>");
    }

    #[test]
    fn links_are_whole_or_none() {
        for (href, whole) in [
            ("c", Some("https://example.com/a/c")),
            ("/c", Some("https://example.com/c")),
            ("//example.org/", Some("https://example.org/")),
            ("#part", None),
            ("javascript:alert(1)", None),
            ("data:text/html,x", None),
            ("mailto:a@example.com", None),
            ("http://", None),
        ] {
            let tree = parse(&format!("<a href='{href}'>x</a>"));
            let found = tree.document.select("a").attr("href");
            assert_eq!(found.as_deref(), whole, "{href}");
        }
        let based = parse("<base href='/x/'><a href=y>z</a>");
        let href = based.document.select("a").attr("href");
        assert_eq!(href.as_deref(), Some("https://example.com/x/y"));
        let long = format!("<a href='/{}'>x</a>", "y".repeat(MAX_URL_BYTES));
        assert_eq!(parse(&long).document.select("a").attr("href"), None);
    }

    #[test]
    fn links_in_links_are_not_read_to_their_ends_again_and_again() {
        let anchors: String = (0..600).map(|n| format!("<a href=/{n}><marquee>")).collect();
        let tree = parse(&format!("{anchors}<p>{}", "words ".repeat(20_000)));
        let innermost = tree.document.select("a[href$='/599']");
        assert!(innermost.text().len() > 50_000);
        assert!(begin_text(&innermost.nodes()[0]).len() <= MAX_LINK_TEXT);
        assert!((2..=600).contains(&tree.links.len()), "{}", tree.links.len());
        let wide = parse(&format!("<a href=/>{}words</a>", "<i></i>".repeat(50_000)));
        assert_eq!((wide.links.len(), wide.is_cut), (0, false));
        let link =
            parse("<a href=/> one<b> two<i> three</i></b> <img alt=four></a>").links.remove(0);
        assert_eq!(link.text, "one two three four");
    }

    #[test]
    fn a_long_base_is_not_repeated_without_end() {
        let base = format!("<base href='/{}/'>", "x".repeat(2_000));
        let tree = parse(&format!("{base}{}", "<a href=y>z</a>".repeat(20_000)));
        let links = tree.document.select("a[href]").length();
        assert!((4_000..4_200).contains(&links), "{links}");
    }

    #[test]
    fn a_base_that_is_longer_than_a_url_may_be_is_none() {
        for base in ["/".to_owned() + &"x".repeat(MAX_URL_BYTES), "../".repeat(1_000)] {
            let tree = parse(&format!("<base href='{base}/'><a href=y>z</a>"));
            let href = tree.document.select("a").attr("href");
            assert_eq!(href.as_deref(), Some("https://example.com/a/y"));
        }
    }

    #[test]
    fn pieces_do_not_break_texts_apart() {
        let text = "热泵 warms. ".repeat(1000);
        let tree = parse(&format!("<p>{text}</p>"));
        assert_eq!(tree.document.select("p").text().trim(), text.trim());
        assert!(!tree.is_cut);
        let paragraph = tree.document.select("p").nodes()[0];
        assert_eq!(paragraph.children().len(), 1);
    }

    #[test]
    fn a_page_that_would_grow_without_end_is_cut() {
        let formats: String = (0..2000).map(|n| format!("<p><b class=x{n}>")).collect();
        let tree = parse(&format!("{formats}{}", "<p>a".repeat(100_000)));
        assert!(tree.is_cut);
        assert!(tree.document.tree.len() < MAX_NODES * 2, "{}", tree.document.tree.len());
    }
}
