//! Collects all text of a tree of any depth.

use dom_query::{Document, NodeData, NodeRef};

/// Block elements, placed on separate lines.
const BLOCKS: [&str; 33] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "br",
    "caption",
    "dd",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "tr",
    "ul",
    "option",
];

enum Step<'a> {
    Node(NodeRef<'a>),
    Break,
}

/// Returns the texts of a tree in document order, with each block on separate lines.
pub(crate) fn collect_text(document: &Document) -> String {
    let mut text = String::new();
    let root = document.body().unwrap_or_else(|| document.root());
    let mut steps = vec![Step::Node(root)];
    while let Some(step) = steps.pop() {
        let node = match step {
            Step::Break => {
                break_line(&mut text);
                continue;
            }
            Step::Node(node) => node,
        };
        let is_block = node.query_or(false, |node| match &node.data {
            NodeData::Text { contents } => {
                push_words(&mut text, contents);
                false
            }
            NodeData::Element(element) => BLOCKS.contains(&&*element.name.local),
            _ => false,
        });
        if is_block {
            break_line(&mut text);
            steps.push(Step::Break);
        }
        steps.extend(node.children_it(true).map(Step::Node));
    }
    text.truncate(text.trim_end().len());
    text
}

fn break_line(text: &mut String) {
    text.truncate(text.trim_end_matches(' ').len());
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Appends words and collapses white space to a single space.
fn push_words(text: &mut String, words: &str) {
    let is_start = |text: &str| text.is_empty() || text.ends_with([' ', '\n']);
    for c in words.chars() {
        if !c.is_whitespace() {
            text.push(c);
        } else if !is_start(text) {
            text.push(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_stand_on_lines_of_their_own() {
        let html = "<title>T</title><h1>A</h1><p>b <b>c</b>d\n e</p>f<ul><li>g<li> h </ul><br>i ";
        assert_eq!(collect_text(&Document::from(html)), "A\nb cd e\nf\ng\nh\ni");
        assert_eq!(collect_text(&Document::from("")), "");
    }
}
