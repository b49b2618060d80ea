//! Reads a corpus of mutated pages: each page stays within the limits, and no script text appears.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use djinn_runtime::port::outside::{MAX_LINKS, MAX_URL_BYTES, PAGE_CHARS};
use djinn_testkit::fuzz::FuzzPlan;

use super::*;

/// The parts of generated pages.
const WORDS: &[&str] = &[
    "<p>",
    "</p>",
    "<b>",
    "</b>",
    "<i>",
    "<a href=x>",
    "</a>",
    "<div>",
    "</div>",
    "<table>",
    "<tr>",
    "<td>",
    "</table>",
    "<ul>",
    "<li>",
    "<blockquote>",
    "<pre>",
    "<code>",
    "<h1>",
    "<br>",
    "<img alt='x'>",
    "<script>",
    "</script>",
    "<script>zqmark1</script>",
    "<style>zqmark2</style>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<template>",
    "</template>",
    "<svg>",
    "</svg>",
    "<math>",
    "<foreignObject>",
    "<select>",
    "<option>",
    "<textarea>",
    "</textarea>",
    "<title>",
    "<plaintext>",
    "<noscript>",
    "<frameset>",
    "<body>",
    "</body>",
    "<html>",
    "<head>",
    "<base href='//b.example/'>",
    "<meta charset=utf-16>",
    "<meta charset=gbk>",
    "hidden",
    "style='display:none'",
    "aria-hidden=true",
    "&amp;",
    "&#x0;",
    "&lt;script&gt;",
    "](",
    "**",
    "`",
    "```",
    "\u{feff}",
    "\u{200b}",
    "\0",
    "热泵",
];

/// Timeout per page, on a machine with other work: no reader waits longer.
const MOST_TIME: Duration = Duration::from_secs(10);
/// The stack size of the reading thread.
const STACK_BYTES: usize = 16 * 1024 * 1024;
/// Maximum size of a page's text, in bytes: a link of a few letters may stand for a URL of 2 KB.
const MOST_TEXT: usize = 64 * 1024 * 1024;

/// Returns the marks in a page's scripts and styles, according to another parser. Returns no marks if a mark,
/// or a part of a mark, also occurs elsewhere.
fn find_script_marks(html: &str) -> BTreeSet<String> {
    let document = dom_query::Document::from(html);
    let silent = document.select("script, style");
    let text = silent.text();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let marks = words.filter(|word| word.starts_with("zqmark")).map(str::to_owned).collect();
    silent.remove();
    let rest = document.html();
    // Parts can be joined when the text between the parts is dropped.
    if ["zq", "qm"].iter().any(|part| rest.contains(part)) { BTreeSet::new() } else { marks }
}

fn check_page(bytes: &[u8]) -> Result<(), String> {
    let page = RawPage {
        url: Url::parse("https://example.com/pumps/report").unwrap(),
        status: 200,
        content_type: Some("text/html".to_owned()),
        disposition: None,
        body: bytes.to_vec(),
        is_cut: false,
    };
    let url = page.url.clone();
    let began = Instant::now();
    let outcome = read_page(page, &PageTarget::new("https://example.com/pumps/report"));
    if began.elapsed() > MOST_TIME {
        return Err(format!("it took {:?}", began.elapsed()));
    }
    if let PageOutcome::Page(text) = outcome {
        let links = text.links.iter().all(|link| link.url.len() <= MAX_URL_BYTES);
        let is_bounded = text.text.chars().count() as u64 <= PAGE_CHARS
            && text.title.chars().count() <= 300
            && text.links.len() <= MAX_LINKS;
        if !links || !is_bounded {
            return Err("what is told of it has no bounds".to_owned());
        }
    }
    let html = decode_text(Some("text/html"), bytes, false).text;
    let read = read_html(&html, &url);
    if read.text.len() > MOST_TEXT {
        return Err(format!("its text has {} bytes", read.text.len()));
    }
    let all = format!("{} {}", read.title, read.text);
    match find_script_marks(&html).into_iter().find(|mark| all.contains(mark.as_str())) {
        Some(mark) => Err(format!("{mark} of a script is in the text")),
        None => Ok(()),
    }
}

#[test]
fn no_page_breaks_the_reader_and_no_script_is_read() {
    let plan = FuzzPlan { corpus: "html", words: WORDS, max_bytes: 65_536, cases: 600 };
    let work = move || plan.run(|input| check_page(&input.bytes));
    let tried = thread::Builder::new().stack_size(STACK_BYTES).spawn(work).unwrap();
    println!("{}", tried.join().unwrap().unwrap());
}
