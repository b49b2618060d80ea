//! Files that JoyAgent's page fetches as text, whatever they are.

use std::sync::Arc;

use djinn_runtime::port::sandbox::{
    JobContext, JobEnd, JobOutput, Sandbox, SandboxAnswer, SandboxError, SandboxJob, SandboxWork,
};
use djinn_runtime::port::tool::BoxFuture;
use djinn_wiring::Djinn;
use serde_json::json;

use crate::world::{Answer, World};

const TEXT: &str = "# Sales\n```\n![](https://evil.test/x.png)\nEast grew.";

/// A sandbox that reads the same text from every document but those that it cannot read.
struct Reader;

impl Sandbox for Reader {
    fn max_bytes(&self) -> u64 {
        1_000_000
    }

    fn run_job<'a>(
        &'a self,
        _: &'a JobContext,
        job: SandboxJob,
    ) -> BoxFuture<'a, Result<SandboxAnswer, SandboxError>> {
        Box::pin(async move {
            let SandboxWork::Extract { name, .. } = &job.work else {
                return Err(SandboxError::Unavailable("no document".to_owned()));
            };
            let is_broken = name.as_str().starts_with("broken");
            let problem = is_broken.then_some("broken");
            let value = json!({"text": TEXT, "next_offset": 51, "problem": problem});
            let (end, output) = (JobEnd::Done, JobOutput::default());
            let (seconds, products, left_out, state) = (0.1, Vec::new(), Vec::new(), Vec::new());
            Ok(SandboxAnswer { end, seconds, output, value, products, left_out, state })
        })
    }
}

/// What a script of a page gets, which cannot tell the type of a file.
async fn fetch(world: &World, url: &str) -> Answer {
    let fetched = world.http.get(url).header("sec-fetch-dest", "empty").send().await.unwrap();
    Answer::of(fetched).await
}

#[tokio::test]
async fn page_that_fetches_a_file_as_text_gets_text() {
    let world = World::start_with(|options, _| {
        options.djinn = Djinn::new().with_sandbox(Arc::new(Reader));
    })
    .await;
    let link = async |name: &str, content: &str| {
        let place = world.upload("s1", name, content).await.json();
        place["domainUrl"].as_str().unwrap().to_owned()
    };
    // The text of a document stays in the block of code that the page puts it in, and loads nothing.
    for name in ["report.pdf", "report.docx", "slides.pptx"] {
        let url = link(name, "\u{1}\u{0}").await;
        let text = fetch(&world, &url).await;
        assert_eq!(text.status, 200, "{name}");
        let shown = "# Sales\n    ```\n![](https://evil.test/x.png)\nEast grew.";
        assert!(text.text.starts_with(shown), "{name}: {}", text.text);
        assert!(text.text.ends_with("[This is the beginning. Save the file to read all of it.]"));
        assert_eq!(text.header("vary"), "sec-fetch-dest");
        // Whoever looks at it gets the file itself.
        assert_eq!(world.follow(&url).await.text, "\u{1}\u{0}", "{name}");
    }
    for (name, content, shown) in [
        ("broken.pdf", "%PDF", "broken.pdf (4 bytes) cannot be shown as text. Save it to open it."),
        ("all.zip", "PK", "all.zip (2 bytes) cannot be shown as text. Save it to open it."),
        ("data.bin", "a\0b", "data.bin (3 bytes) cannot be shown as text. Save it to open it."),
    ] {
        assert_eq!(fetch(&world, &link(name, content).await).await.text, shown);
    }
    // An image stands between two blocks of code, and is loaded as one.
    let url = link("chart.png", "not really").await;
    let text = fetch(&world, &url).await.text;
    let expected = format!("chart.png\n```\n\n![]({url})\n\n```text\nchart.png (10 bytes)");
    assert_eq!(text, expected);
    let image = world.http.get(&url).header("sec-fetch-dest", "image").send().await.unwrap();
    assert_eq!(image.status(), 302);
    // Texts and tables are what they are.
    for (name, content) in [("a.md", "# A"), ("a.csv", "a,b\n1,2"), ("a.xlsx", "PK\0")] {
        let url = link(name, content).await;
        let fetched = world.http.get(&url).header("sec-fetch-dest", "empty").send().await.unwrap();
        assert_eq!(fetched.status(), 302, "{name}");
    }
    // A download is never replaced.
    let url = link("report.pdf", "%PDF").await.replacen("preview", "download", 1);
    let fetched = world.http.get(&url).header("sec-fetch-dest", "empty").send().await.unwrap();
    assert_eq!(fetched.status(), 302);
}

#[tokio::test]
async fn document_is_named_where_nothing_can_read_it() {
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_LANGUAGE", "zh".to_owned()));
    })
    .await;
    let place = world.upload("s1", "报告.pdf", "%PDF").await.json();
    let text = fetch(&world, place["domainUrl"].as_str().unwrap()).await.text;
    assert_eq!(text, "报告.pdf (4 bytes) 无法以文本显示，请下载后打开。");
}
