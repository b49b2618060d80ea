//! A document of the web: the gateway fetches it, and the sandbox reads it.

use djinn_local::Djinn;
use serde_json::json;
use tempfile::TempDir;

use super::{completed, open_sandbox};
use crate::agents::at;
use crate::world::{Frame, Protocol, Question, Site, World};

/// A PDF of one page with this line of text.
fn write_pdf(line: &str) -> String {
    let drawing = format!("BT /F1 18 Tf 72 720 Td ({line}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R \
         /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{drawing}\nendstream", drawing.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let (mut pdf, mut places) = ("%PDF-1.4\n".to_owned(), String::new());
    for (nth, object) in (1..).zip(&objects) {
        places.push_str(&format!("{:010} 00000 n \n", pdf.len()));
        pdf.push_str(&format!("{nth} 0 obj\n{object}\nendobj\n"));
    }
    let (table, count) = (pdf.len(), objects.len() + 1);
    pdf.push_str(&format!("xref\n0 {count}\n0000000000 65535 f \n{places}"));
    pdf.push_str(&format!("trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n"));
    pdf
}

fn text_of(frames: &[Frame], call: &str) -> String {
    let result = completed(frames, &format!("{call}.result"))[0].json()["result"].clone();
    let text = result["text"].as_str().or(result["detail"].as_str());
    text.unwrap_or_else(|| panic!("{result}")).to_owned()
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn a_pdf_of_the_web_is_read_by_a_fetch_and_by_a_search() {
    let site = Site::start().await;
    // Whatever the server says that it is.
    site.put("/report.pdf", "application/pdf", &write_pdf("Gold is warm at 4 degrees"));
    site.put("/other", "text/html", &write_pdf("Iron is warm at 9 degrees"));
    site.put("/broken.pdf", "application/pdf", "%PDF-1.4\nThere is no gold.");
    let scratch = TempDir::new().unwrap();
    let (sandbox, origin, engine) =
        (open_sandbox(&scratch), site.url.clone(), site.engine("searxng"));
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_AGENTS__OFFERED", "all".to_owned()));
        options.vars.push(("DJINN_SEARCH__ENGINES", engine));
        options.vars.push(("DJINN_EGRESS_ORIGINS", origin));
        options.vars.push(("ENGINE_KEY", "engine-key-1".to_owned()));
        options.djinn = Djinn::new().with_sandbox(sandbox);
    })
    .await;
    let urls = ["/report.pdf", "/other", "/broken.pdf"].map(|path| site.page_url(path));
    let fetches = urls.iter().map(|url| ("web_fetch", json!({ "url": url })));
    at(&world.model, "")
        .calls(fetches)
        .then()
        .call("deep_search", json!({"query": "How warm is it?"}))
        .then()
        .reply("Warm.");
    at(&world.model, "t2.c1")
        .call("search_round", json!({"queries": ["gold"]}))
        .then()
        .reply("Gold is at 4 degrees [1].");
    let question = format!("What do these say: {}?", urls.join(" , "));
    let frames = world.ask(Protocol::Native, &Question::of(&question, "s1")).await.rest().await;
    assert_eq!(frames.last().unwrap().json()["status"], "finished");
    for (call, words) in [
        ("t1.c1", "Gold is warm at 4 degrees"),
        ("t1.c1", "report.pdf"),
        ("t1.c2", "Iron is warm at 9 degrees"),
        ("t1.c3", "broken"),
        ("t2.c1.t1.c1", "Gold is warm at 4 degrees"),
        ("t2.c1", "## Sources"),
    ] {
        let told = text_of(&frames, call);
        assert!(told.contains(words), "{call}: {told}");
    }
}
