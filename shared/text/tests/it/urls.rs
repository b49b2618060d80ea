//! Long URLs and their placeholders in texts.

use djinn_text::shorten::shorten_text;
use djinn_text::urls::{
    MAX_GROWTH, MAX_URL_BYTES, MAX_URLS, MIN_URL_BYTES, TextEnd, UrlExpander, Urls,
    trim_partial_placeholder,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A URL of 135 characters.
fn long(nth: usize) -> String {
    let url = format!("https://cdn.example.com/design/{nth:04}.jpg?auth_key=");
    format!("{url}{}", "a1".repeat(68).get(..135 - url.len()).unwrap())
}

fn learnt(texts: &[&str]) -> Urls {
    let mut urls = Urls::default();
    texts.iter().for_each(|text| urls.register_urls(text, TextEnd::Whole));
    urls
}

/// What a model sees of a text, when that is all there is.
fn seen(text: &str) -> String {
    let urls = learnt(&[text]);
    let seen = urls.compress_text(text).into_owned();
    assert_eq!(urls.expand_text(&seen, TextEnd::Whole), text);
    seen
}

#[test]
fn a_url_is_found_whatever_stands_around_it() {
    let url = long(1);
    assert_eq!((url.len(), seen(&url).len()), (135, 9));
    let around = [
        ("", ""),
        ("See ", "."),
        ("See ", "?!"),
        ("See ", "..."),
        ("(see ", ")"),
        ("(see ", "), and"),
        ("[a picture](", ")"),
        ("![](", " \"title\")"),
        ("<", ">"),
        ("<a href=\"", "\">here</a>"),
        ("<a href='", "'>here</a>"),
        ("**", "**"),
        ("`", "`"),
        ("| ", "| 12 |"),
        ("{\"url\":\"", "\",\"n\":1}"),
        ("[\"", "\"]"),
        ("{'url': '", "'}"),
        ("7,", ",red"),
        ("url=", " "),
        ("url:", "; next"),
        ("https://short.example/,", ""),
        ("图片见", "。"),
        ("图片见", "，另一张"),
        ("（", "）"),
        ("《", "》"),
        ("网址：", "的说明"),
        ("line\n", "\nline"),
        ("escaped \\\"", "\\\" text"),
        ("", "$$$growth.md"),
    ];
    for (before, after) in around {
        assert_eq!(seen(&format!("{before}{url}{after}")), format!("{before}https://0{after}"));
    }
}

#[test]
fn a_url_may_hold_brackets_and_escapes() {
    let path = "x".repeat(MIN_URL_BYTES);
    for url in [
        format!("https://en.example.org/wiki/Rust_({path})"),
        format!(
            "http://example.org/{path}%E4%B8%AD%20(1)/a;b=c?q=1&amp;r=https://other.example/x#f"
        ),
        format!("https://user:secret@example.org:8443/~{path}/!/a*b+c=@d/"),
    ] {
        assert_eq!(seen(&url), "https://0", "{url}");
        assert_eq!(seen(&format!("[it]({url}).")), "[it](https://0).", "{url}");
    }
}

#[test]
fn what_is_short_or_no_url_stays_as_it_is() {
    let tail = "x".repeat(MAX_URL_BYTES);
    for text in [
        "https://example.com/a/short/one?with=query".to_owned(),
        format!("https://{}", "x".repeat(MIN_URL_BYTES - 9)),
        format!("https://example.com/{tail}"),
        format!("data:image/png;base64,{tail}"),
        format!("ftp://example.com/{}", "x".repeat(MIN_URL_BYTES)),
        format!("xhttps://example.com/{}", "x".repeat(MIN_URL_BYTES)),
        "https:// http http:/ https".to_owned(),
    ] {
        assert_eq!(seen(&text), text);
    }
    assert_eq!(seen(&format!("https://{}", "x".repeat(MIN_URL_BYTES - 8))), "https://0");
}

#[test]
fn one_url_has_one_placeholder_and_the_next_another() {
    let (a, b) = (long(1), long(2));
    let urls = learnt(&[&format!("{b} {a}"), &a]);
    assert_eq!(urls.compress_text(&format!("{a} {b} {a}")), "https://1 https://0 https://1");
    assert_eq!(urls.len(), 2);
}

#[test]
fn a_url_that_looks_like_a_placeholder_has_one_of_its_own() {
    let text = format!("Open https://0 and {}, not https://1.", long(1));
    assert_eq!(seen(&text), "Open https://0 and https://1, not https://2.");
    let mut urls = learnt(&[&long(1)]);
    urls.register_urls("Open https://0 now", TextEnd::Whole);
    assert_eq!(urls.compress_text("Open https://0 now"), "Open https://1 now");
    assert_eq!(
        urls.expand_text("https://1 https://0", TextEnd::Whole),
        format!("https://0 {}", long(1))
    );
}

#[test]
fn what_is_no_placeholder_is_left_as_it_is() {
    let urls = learnt(&[&long(0), &long(1)]);
    for text in [
        "https://2",
        "https://00",
        "https://0/x",
        "https://0?x=1",
        "https://0#x",
        "https://0.5/",
        "https://0a",
        "https://0-1",
        "http://0",
        "xhttps://0",
        "https://r.example/?u=https://0",
        "https://0.example.com",
        "https:// 0",
        "HTTPS://0",
        "https://(0)",
        "https://99999999999999999999",
    ] {
        assert_eq!(urls.expand_text(text, TextEnd::Whole), text);
    }
    for (text, before, after) in [
        ("https://0", "", ""),
        ("See https://0, or", "See ", ", or"),
        ("(https://0)", "(", ")"),
        ("见https://0。", "见", "。"),
        ("**https://0**", "**", "**"),
        ("https://0?", "", "?"),
        ("https://0$$$growth.md", "", "$$$growth.md"),
    ] {
        assert_eq!(urls.expand_text(text, TextEnd::Whole), format!("{before}{}{after}", long(0)));
    }
}

#[test]
fn half_a_url_and_half_a_placeholder_stand_for_nothing() {
    let mut urls = Urls::default();
    urls.register_urls(&format!("Read {}", long(1)), TextEnd::Cut);
    urls.register_urls(&format!("Read {}…[cut]", long(1)), TextEnd::Whole);
    assert!(urls.is_empty());
    urls.register_urls(&format!("Read {}.", long(1)), TextEnd::Cut);
    assert_eq!(urls.expand_text("Read https://0", TextEnd::Cut), "Read https://0");
    assert_eq!(urls.expand_text("Read https://0.", TextEnd::Cut), format!("Read {}.", long(1)));
}

#[test]
fn a_text_is_not_shortened_in_the_middle_of_a_placeholder() {
    let text = "see https://12, ".repeat(50);
    for tokens in 0..200 {
        let short = shorten_text(&text, tokens, |text| text.len() as u64).unwrap();
        assert!(!short.head.ends_with(|last: char| last.is_ascii_digit()), "{}", short.head);
        let shown = (short.head.len() + short.tail.len()) as u64;
        assert_eq!(shown + short.omitted, short.characters);
    }
    for whole in ["12", "see 12", "http://1", "https://", "https://1/2", "https://12."] {
        assert_eq!(trim_partial_placeholder(whole), whole);
    }
}

#[test]
fn arguments_are_expanded_at_any_depth() {
    let urls = learnt(&[&long(0)]);
    let Value::Object(members) = json!({"url": "https://0", "n": 1, "deep": [{"https://0": ["see https://0.", null]}], "own": "https://7"})
    else {
        unreachable!("an object")
    };
    let expanded = urls.expand_members(&members);
    let said = json!({"url": long(0), "n": 1, "deep": [{long(0): [format!("see {}.", long(0)), null]}], "own": "https://7"});
    assert_eq!(Value::Object(expanded.clone()), said);
    assert_eq!(urls.compress_members(&expanded), members);
}

#[test]
fn a_placeholder_repeated_without_end_stops_growing() {
    let urls = learnt(&[&long(0)]);
    let repeated = "https://0 ".repeat(20_000);
    let text = urls.expand_text(&repeated, TextEnd::Whole);
    assert!((MAX_GROWTH..=repeated.len() + MAX_GROWTH).contains(&text.len()), "{}", text.len());
    let members: Map<String, Value> =
        (0..20_000).map(|nth| (nth.to_string(), json!("https://0"))).collect();
    let bytes = json!(urls.expand_members(&members)).to_string().len();
    assert!(bytes < json!(members).to_string().len() + MAX_GROWTH, "{bytes}");
}

#[test]
fn ten_thousand_urls_are_compressed_and_come_back() {
    let text: String = (0..10_000).map(|nth| format!("{nth}: {}\n", long(nth))).collect();
    let urls = learnt(&[&text]);
    let seen = urls.compress_text(&text).into_owned();
    let same =
        seen.lines().zip(text.lines()).all(|(s, t)| urls.expand_text(s, TextEnd::Whole) == t);
    assert!(same && seen.len() < text.len() / 6, "{}", seen.len());
    assert_eq!((urls.len(), urls.compress_text(&long(9_999)).as_ref()), (10_000, "https://9999"));
    // One endless word of beginnings, for which a look back at each would take hours.
    let mut expander = UrlExpander::new(urls);
    let word = "https://0((((".repeat(50_000);
    let shown: String = word.chars().map(|c| expander.push(c.encode_utf8(&mut [0; 4]))).collect();
    assert_eq!(shown + &expander.finish(TextEnd::Whole), word);
}

#[test]
fn a_run_gives_out_only_so_many() {
    let text: String = (0..=MAX_URLS).map(|nth| format!("{}{nth}\n", long(nth))).collect();
    let mut urls = learnt(&[&text]);
    assert_eq!(urls.len(), MAX_URLS);
    assert_eq!(urls.compress_text(&long(MAX_URLS)), long(MAX_URLS));
    // What looks like a placeholder must not pass for one nevertheless.
    urls.register_urls("https://5", TextEnd::Whole);
    assert_eq!(urls.compress_text("https://5"), format!("https://{MAX_URLS}"));
}

/// Texts in which URLs, placeholders and what may stand around them meet.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => (0usize..4).prop_map(long),
        4 => (0usize..9).prop_map(|nth| format!("https://{nth}")),
        1 => Just("https://".to_owned()),
        1 => Just("http://".to_owned()),
        1 => Just("http".to_owned()),
        1 => Just("/long/path".repeat(9)),
        6 => "[ .,:;!?*()\\[\\]<>\"'$/=&a0h。见\n]{0,3}",
        1 => ".{0,8}",
        1 => Just("!".repeat(12)),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn what_is_compressed_comes_back(text in any_text(), before in any_text()) {
        let urls = learnt(&[&before, &text]);
        prop_assert_eq!(urls.expand_text(&urls.compress_text(&text), TextEnd::Whole), text);
        prop_assert_eq!(urls.expand_text(&urls.compress_text(&before), TextEnd::Whole), before);
    }

    #[test]
    fn the_pieces_that_a_text_comes_in_do_not_matter(
        known in any_text(),
        text in any_text(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..30),
        is_cut in any::<bool>(),
    ) {
        let urls = learnt(&[&long(0), &known]);
        let end = if is_cut { TextEnd::Cut } else { TextEnd::Whole };
        let mut places: Vec<usize> = cuts
            .iter()
            .map(|cut| text.floor_char_boundary(cut.index(text.len() + 1)))
            .chain([0, text.len()])
            .collect();
        places.sort_unstable();
        let mut expander = UrlExpander::new(urls.clone());
        let shown: String =
            places.windows(2).map(|cut| expander.push(&text[cut[0]..cut[1]])).collect();
        prop_assert_eq!(shown + &expander.finish(end), urls.expand_text(&text, end));
    }

    #[test]
    fn little_is_held_back(text in any_text()) {
        let urls = learnt(&[&long(0), &long(1)]);
        let mut expander = UrlExpander::new(urls.clone());
        let shown = expander.push(&text);
        let whole = urls.expand_text(&text, TextEnd::Whole);
        prop_assert!(whole.starts_with(&shown));
        // What was held back may be a placeholder, which is long once it is expanded.
        let held = expander.finish(TextEnd::Cut);
        prop_assert!(urls.compress_text(&held).len() <= 32, "{held:?}");
    }
}
