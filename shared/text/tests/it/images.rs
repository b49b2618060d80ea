//! Images of unknown addresses: no spelling of one stays an image, in whatever pieces a text comes.

use djinn_text::images::{ImageFilter, TextForm, unlink_images};
use djinn_text::urls::TextEnd;
use proptest::prelude::*;

const KNOWN: &str = "https://known.example/a.png?b=1";

fn is_known(url: &str) -> bool {
    url == KNOWN
}

fn unlinked(text: &str) -> String {
    unlink_images(text, TextForm::Message, &is_known)
}

#[test]
fn known_and_relative_images_stay() {
    for text in [
        "![a chart](chart.png)",
        "![图](./图表%201.png \"title\")",
        "![b](../b_(1).png)",
        "![a](https://known.example/a.png?b=1)",
        "[![a](chart.png)](https://other.example/x)",
        "![a][b]\n\n[b]: chart.png",
        "[b]: https://known.example/a.png?b=1\n\n![a][b]",
        "<img src=\"chart.png\" alt=\"a\" width=\"40\"/>",
        "<IMG SRC='https://known.example/a.png?b=1'>",
    ] {
        assert_eq!(unlinked(text), text);
    }
}

#[test]
fn texts_without_images_stay() {
    for text in [
        "",
        "Done! [A link](https://other.example/x?y=1) and https://other.example, <https://other.example>.",
        "if a < b && c > d, `Vec<String>` and HashMap<String, List<u8>> or <T>",
        "x <b, for (i=0; i<n; i++) x[0](y)",
        "| a | b |\n|---|---|\n| 1<br>2 | <sub>3</sub> |",
        "<details>\n<summary>More</summary>\n\ntext\n\n</details>",
        "<a href=\"https://other.example/?a=1&b=2\" title=\"t\">x</a> <p style=\"color: #fff; margin:0\">y</p>",
        "let v = vec![1, 2, 3]; assert!(v[0] == 1); vec![vec![1], vec![2]]",
        "x[^1]\n\n[^1]: Smith, 2020\n[note]: see below\nd[0]: https://other.example",
        "It costs $5. Wow!! [a] (b) ![c] (d)",
        "```html\n<img src=\"https://other.example/x.png\">\n<style>a{}</style>\n```\nand\n",
        "1. Do:\n\n   ```md\n   ![a](https://other.example/x.png)\n   ```\n\n2. `![a](https://other.example/x)` and `<script>`",
        "```\r\n![a](https://other.example/x)\r\n```\r\n",
    ] {
        assert_eq!(unlinked(text), text);
    }
}

#[test]
fn no_spelling_of_an_unknown_image_stays() {
    for (text, shown) in [
        ("![x](https://evil.example/?d=1)", "[x](https://evil.example/?d=1)"),
        ("![](http://evil.example)", "[](http://evil.example)"),
        ("a!![x](https://evil.example)", "a! [x](https://evil.example)"),
        ("![x](<https://evil.example> \"t\")", "[x](<https://evil.example> \"t\")"),
        ("![x](<style>", "[x](&lt;style>"),
        ("![\\<img src=https://evil.example>](y)", "![\\&lt;img src=https://evil.example>] (y)"),
        ("![a \\![b](https://evil.example)", "![a \\[b] (https://evil.example)"),
        ("![x]( https://evil.example)", "[x]( https://evil.example)"),
        ("![x](\nhttps://evil.example)", "[x](\nhttps://evil.example)"),
        ("![x](//evil.example)", "[x](//evil.example)"),
        ("![x](/\\evil.example)", "[x](/\\evil.example)"),
        ("![x](https&#58;//evil.example)", "[x](https&#58;//evil.example)"),
        ("![x](%2f%2Fevil.example)", "[x](%2f%2Fevil.example)"),
        ("![x](data:image/png;base64,AA)", "[x](data:image/png;base64,AA)"),
        ("![x](HTTPS://evil.example)", "[x](HTTPS://evil.example)"),
        ("![x](https://known.example/a.png?b=12)", "[x](https://known.example/a.png?b=12)"),
        ("![x](https://known.example/a.png?b=1\\0)", "[x](https://known.example/a.png?b=1\\0)"),
        ("![x](a.png\u{1}//evil)", "[x](a.png\u{1}//evil)"),
        ("![a [b] c](https://evil.example)", "![a [b] c] (https://evil.example)"),
        (
            "![a ![b](chart.png) c](https://evil.example)",
            "![a ![b](chart.png) c] (https://evil.example)",
        ),
        ("![a\\](x) b](https://evil.example)", "![a\\] (x) b] (https://evil.example)"),
        ("![a `]` b](https://evil.example)", "![a `]` b] (https://evil.example)"),
        (
            "![a <b title=\"]\"> c](https://evil.example)",
            "![a &lt;b title=\"]\"> c] (https://evil.example)",
        ),
        ("![a\nb](https://evil.example)", "![a\nb] (https://evil.example)"),
        ("![x][y]\n\n[y]: https://evil.example", "![x][y]\n\n[y] : https://evil.example"),
        ("[y]: https://evil.example\n\n![y]", "[y] : https://evil.example\n\n![y]"),
        (
            "![y]\n\n> - [y]:\n> <https://evil.example>",
            "![y]\n\n> - [y] :\n> <https://evil.example>",
        ),
        ("![a b]\n\n[a\nb]: //evil.example", "![a b]\n\n[a\nb] : //evil.example"),
        ("[a\nb\\[]: //evil.example", "[a\nb\\[] : //evil.example"),
        (
            "<img src=\"https://evil.example/?d=1\" alt=\"a chart\">",
            "[a chart](https://evil.example/?d=1)",
        ),
        ("!<IMG\nSRC=https://evil.example>", "! [image](https://evil.example)"),
        ("<img src='https://evil.example' alt='](x) ![y'>", "[x y](https://evil.example)"),
        ("<img src=\"//evil.example\">", "&lt;img src=\"//evil.example\">"),
        ("<img src=x onerror=\"f()\">", "&lt;img src=x onerror=\"f()\">"),
        ("<img srcset=\"https://evil.example 2x\">", "&lt;img srcset=\"https://evil.example 2x\">"),
        ("<img/src=https://evil.example/>", "[image](https://evil.example/)"),
        ("<img src=\"https://evil.example", "&lt;img src=\"https://evil.example"),
        ("<img src=\"https://evil.example\n\n\">", "&lt;img src=\"https://evil.example\n\n\">"),
        (
            "<picture><source srcset=\"//evil.example\"></picture>",
            "<picture>&lt;source srcset=\"//evil.example\"></picture>",
        ),
        ("<video poster=https://evil.example>", "&lt;video poster=https://evil.example>"),
        (
            "<svg><image href=\"https://evil.example\"/></svg>",
            "<svg>&lt;image href=\"https://evil.example\"/></svg>",
        ),
        (
            "<p style=\"background:url(//evil.example)\">",
            "&lt;p style=\"background:url(//evil.example)\">",
        ),
        (
            "<p style=\"background:u\\72l(//evil.example)\">",
            "&lt;p style=\"background:u\\72l(//evil.example)\">",
        ),
        ("<style>@import '//evil.example';</style>", "&lt;style>@import '//evil.example';</style>"),
        ("<link rel=icon href=\"//evil.example\">", "&lt;link rel=icon href=\"//evil.example\">"),
        ("<iframe>", "&lt;iframe>"),
        (
            "> <html \"'\") `a` style=\"background:url(//evil.example)\">",
            "> &lt;html \"'\") `a` style=\"background:url(//evil.example)\">",
        ),
        (
            "<div>\n<n; style=\"background:url(//evil.example)\">",
            "<div>\n&lt;n; style=\"background:url(//evil.example)\">",
        ),
    ] {
        assert_eq!(unlinked(text), shown, "{text}");
    }
}

#[test]
fn only_plain_code_is_left_alone() {
    const IMAGE: &str = "![x](https://evil.example)";
    for text in [
        // A fence within another one, or behind what holds fences.
        " ~~~\n```\n~~~\nIMAGE\n```\n",
        "~~~~\n```\n~~~~\n\nIMAGE",
        "$$\n```\n$$\n\nIMAGE\n```\n",
        "<!--\n\n```\n-->\nIMAGE\n```\n",
        "<pre>\n\n```\n</pre>\nIMAGE\n```\n",
        "<div>\n```\n</div>\n\nIMAGE\n```\n",
        "- ```\n  code\n  ```\nIMAGE\n  ```\n",
        "````\n```\nIMAGE2\n````\nIMAGE\n```\n",
        // A fence that its list ends.
        "- a\n  ```\nIMAGE\n",
        "1. a\n\n   ```\n   code\n\nIMAGE\n   ```\n",
        "- a\n  ```\ntext\n```\nIMAGE\n```\n",
        // Four spaces in a paragraph begin no fence.
        "text\n    ```\n    IMAGE\n",
        "``` a`b\nIMAGE\n```\n",
        // Ends that only some renderers see.
        "```\n```~\nIMAGE\n```\n",
        "```\n```\u{a0}\nIMAGE\n```\n",
        "```\n ```\nIMAGE\n```\n",
        "```\ncode\r```\rIMAGE\n```\n",
        "text\r```\n",
        // Code within a line that is none.
        "`a\n`IMAGE`",
        "\\`IMAGE`",
        "a ``` b\n\n`IMAGE`",
        "| `a | IMAGE | b` |",
        "| `a\\| IMAGE` |",
        "$`$IMAGE`",
        "https://a.example/`IMAGE`",
        "[a](b`c) IMAGE `",
        "[a](b \"`\") IMAGE `",
        "<b title=\"`\"> IMAGE `",
        "`a` ` b\nIMAGE`",
    ] {
        let (code, _) = text.split_once("IMAGE2").unwrap_or((text, ""));
        let text = text.replace("IMAGE2", "code").replace("IMAGE", IMAGE);
        if code.contains("IMAGE") || text.contains("evil") {
            assert!(!unlinked(&text).contains(IMAGE), "{text}");
        }
    }
}

#[test]
fn sources_keep_their_elements() {
    let page = "<style>a{background:url(//x)}</style><img src=\"https://other.example/x\">";
    let source = |text: &str| unlink_images(text, TextForm::Source, &is_known);
    assert_eq!(source(page), page);
    assert_eq!(source("<p>\n![x](https://evil.example)"), "<p>\n[x](https://evil.example)");
    // A fence around all of it may be taken off.
    let fenced = source("```markdown\n![x](https://evil.example)\n```");
    assert_eq!(fenced, "```markdown\n[x](https://evil.example)\n```");
    let hidden = "<style>\n\n```\n</style>\n![x](https://evil.example)\n```\n";
    assert!(!source(hidden).contains('!'));
}

#[test]
fn texts_that_continue_others_are_read_with_them() {
    for (before, behind, shown) in [
        ("Well!", "[x](https://evil.example)", "Well! [x] (https://evil.example)"),
        ("![x", "](https://evil.example)", "![x] (https://evil.example)"),
        ("![x", "\n](https://evil.example)", "![x\n] (https://evil.example)"),
        ("![x]", "(https://evil.example)", "![x] (https://evil.example)"),
        ("![x](https://", "evil.example)", "[x](https://evil.example)"),
        ("![x](chart.png", "/../..//evil)", "[x](chart.png/../..//evil)"),
        ("![y]\n\n[y", "]: https://evil.example", "![y]\n\n[y] : https://evil.example"),
        ("![y]\n\n[y]", ": https://evil.example", "![y]\n\n[y] : https://evil.example"),
        ("![y]\n\n[y]:", "https://evil.example", "![y]\n\n[y] :https://evil.example"),
        ("<", "img src=https://evil.example>", "&lt;img src=https://evil.example>"),
        ("<img src=", "https://evil.example>", "&lt;img src=https://evil.example>"),
        (
            "```\ncode\n",
            "```\n![x](https://evil.example)\n",
            "```\ncode\n```\n[x] (https://evil.example)\n",
        ),
        ("`a", "`![x](https://evil.example)`", "`a`[x] (https://evil.example)`"),
        (
            "One ",
            "two.\n\n[x](https://a.example) ![y](b.png)",
            "One two.\n\n[x](https://a.example) ![y](b.png)",
        ),
    ] {
        let first =
            ImageFilter::new(TextForm::Message, &is_known).filter_text(before, TextEnd::Cut);
        let second = ImageFilter::continuing(TextForm::Message, &is_known)
            .filter_text(behind, TextEnd::Whole);
        assert_eq!(first + &second, shown, "{before} | {behind}");
    }
}

#[test]
fn long_signs_are_taken_for_unknown() {
    for (before, behind) in
        [("![", "](chart.png)"), ("![a](", ")"), ("[a]: ", "\n"), ("[a]:", "a://evil\n")]
    {
        let long = format!("{before}{}{behind}", " ".repeat(10_000));
        let shown = unlinked(&long);
        assert!(!shown.contains("](") || !shown.contains("!["), "{before}");
        assert!(!shown.contains("]: ") || before.starts_with('!'), "{before}");
    }
    // Unknown addresses are looked for up to a limit.
    let count = std::sync::atomic::AtomicUsize::new(0);
    let counting = |_: &str| {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        true
    };
    let many: String = (0..1_000).map(|nth| format!("![x](https://a.example/{nth}) ")).collect();
    let shown = unlink_images(&(many.clone() + &many), TextForm::Message, &counting);
    assert_eq!(count.into_inner(), 64);
    assert_eq!(shown.matches('!').count(), 128);
}

/// Pieces of hostile texts.
fn hostile_text() -> impl Strategy<Value = String> {
    let parts = proptest::sample::select(vec![
        "!",
        "[",
        "]",
        "(",
        ")",
        "![",
        "](",
        "]:",
        "![x](",
        "https://evil.example/",
        KNOWN,
        "chart.png",
        "//",
        "<",
        ">",
        "<img ",
        "src=",
        "\"",
        "'",
        "alt=",
        "<p ",
        "style=",
        "url(",
        "</p>",
        "<!--",
        "-->",
        "<pre>",
        "`",
        "``",
        "```",
        "````",
        "~~~",
        "\n",
        "\n\n",
        "\r",
        "\r\n",
        " ",
        "   ",
        "    ",
        "\\",
        "|",
        "$",
        "$$",
        ">",
        "- ",
        "1. ",
        "&#58;",
        ":",
        "x",
        "é",
        "图",
        "[x]: ",
        "\u{a0}",
        "\t",
        "#",
    ]);
    let long =
        (proptest::sample::select(vec![" ", "`", "~", "x", "\n", "(", "]"]), 396_usize..4_110)
            .prop_map(|(part, count)| part.repeat(count));
    let part = prop_oneof![60 => parts.prop_map(str::to_owned), 1 => long];
    proptest::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn pieces_change_nothing(text in hostile_text(), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let whole = unlinked(&text);
        let mut places: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
        places.sort_unstable();
        let mut filter = ImageFilter::new(TextForm::Message, &is_known);
        let (mut shown, mut at) = (String::new(), 0);
        for place in places {
            shown += &filter.push(&text[at..place]);
            at = place;
        }
        shown += &filter.push(&text[at..]);
        shown += &filter.finish(TextEnd::Whole);
        prop_assert_eq!(shown, whole);
    }

    #[test]
    fn nothing_is_left_to_do(text in hostile_text()) {
        let once = unlinked(&text);
        prop_assert!(!once.contains("![x](https://evil") || once.contains('`') || once.contains('\\'));
    }
}
