//! The words of a source file: its tokens in a row, without comments and documentation.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::source::Source;

/// One token, or the start or end of a group of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    Name(String),
    /// A string or number, as it is written.
    Literal(String),
    Sign(char),
}

/// Every word outside tests, and the line it stands in.
pub(super) fn words(source: &Source) -> Vec<(Word, usize)> {
    let mut found = all_words(source);
    found.retain(|(_, line)| !source.is_test(*line));
    found
}

/// Every word, and the line it stands in.
pub(super) fn all_words(source: &Source) -> Vec<(Word, usize)> {
    let stream: TokenStream = source.text.parse().unwrap_or_default();
    let mut found = Vec::new();
    collect(stream, &mut found);
    found
}

fn collect(stream: TokenStream, found: &mut Vec<(Word, usize)>) {
    for token in stream {
        let line = token.span().start().line;
        match token {
            TokenTree::Ident(name) => found.push((Word::Name(name.to_string()), line)),
            TokenTree::Literal(literal) => found.push((Word::Literal(literal.to_string()), line)),
            TokenTree::Punct(sign) => found.push((Word::Sign(sign.as_char()), line)),
            TokenTree::Group(group) if is_documentation(&group.stream()) => {}
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Brace => ('{', '}'),
                    Delimiter::Bracket => ('[', ']'),
                    Delimiter::Parenthesis | Delimiter::None => ('(', ')'),
                };
                found.push((Word::Sign(open), line));
                collect(group.stream(), found);
                found.push((Word::Sign(close), group.span_close().start().line));
            }
        }
    }
}

/// Whether these are the words within `#[doc = "…"]`, which a comment with three slashes becomes.
fn is_documentation(stream: &TokenStream) -> bool {
    let mut words = stream.clone().into_iter();
    matches!(words.next(), Some(TokenTree::Ident(word)) if word == "doc")
        && matches!(words.next(), Some(TokenTree::Punct(sign)) if sign.as_char() == '=')
}

#[test]
fn comments_documentation_and_tests_are_left_out() {
    let source = Source::parse(
        "a.rs",
        "//! One.\n/// Two.\nfn f() { // three\n    g(\"four\");\n}\n#[cfg(test)]\nfn five() {}\n",
    );
    let words = words(&source);
    let names: Vec<_> = words.iter().filter(|(word, _)| matches!(word, Word::Name(_))).collect();
    let name = |name: &str, line| (Word::Name(name.to_owned()), line);
    assert_eq!(names, [&name("fn", 3), &name("f", 3), &name("g", 4)]);
    assert!(words.contains(&(Word::Literal("\"four\"".to_owned()), 4)));
}
